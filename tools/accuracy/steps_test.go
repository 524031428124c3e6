package main

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// TestABlockThatASequenceCompletesTakesAStepLonger: the page says of DeepSeek-V4 that steps in which a sequence, of any
// attention rank, completes a block of 128 tokens stand out in the logs, as many of them as chance has it.
func TestABlockThatASequenceCompletesTakesAStepLonger(t *testing.T) {
	path := filepath.Join(os.Getenv("DECODESIM_SHARED"), "groundtruth", "H_steps.csv")
	file, err := os.Open(path)
	if err != nil {
		t.Skip("no log of steps: set DECODESIM_SHARED to the folder that has groundtruth/")
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	number := func(row []string, name string) float64 {
		x, err := strconv.ParseFloat(column(row, name), 64)
		require.NoError(t, err)
		return x
	}
	type steps struct {
		deployment string
		sequences  float64 // of all ranks
	}
	milliseconds := map[steps][]float64{}
	for _, row := range rows[1:] {
		deployment, notes := column(row, "deployment_id"), column(row, "notes")
		decodes := number(row, "decode_requests")
		// One deployment died early, while its kernels were still compiled.
		if column(row, "model") == "DeepSeek-V4-Flash" && column(row, "gpus") != "1" && notes[:4] == "real" &&
			decodes > 0 && number(row, "prefill_tokens") == 0 {
			key := steps{deployment, decodes * number(row, "dp")}
			milliseconds[key] = append(milliseconds[key], number(row, "step_ms"))
		}
	}
	n, longer, expected := 0, 0, 0.0
	var by []float64
	for key, ms := range milliseconds {
		slices.Sort(ms)
		usual := ms[len(ms)/4]
		for _, x := range ms {
			if x > usual+4 && x < usual+9 {
				longer++
				by = append(by, x-usual)
			}
		}
		n += len(ms)
		expected += float64(float64(len(ms)) * (1 - math.Pow(127.0/128, key.sequences)))
	}
	slices.Sort(by)
	require.NotEmpty(t, by)
	assert.Equal(t, 5551, n)
	assert.InDelta(t, 0.167, float64(longer)/float64(n), 5e-4)
	assert.InDelta(t, 0.166, expected/float64(n), 5e-4)
	assert.InDelta(t, 6.1, by[len(by)/2], 0.05)
}

// TestStepsAlikeDifferByThis: the page says how far off the steps of a log are when the five of their own deployment
// that are most like them predict them. No price of a batch can be expected to do much better.
func TestStepsAlikeDifferByThis(t *testing.T) {
	path := filepath.Join(os.Getenv("DECODESIM_SHARED"), "groundtruth", "H_steps.csv")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no log of steps: set DECODESIM_SHARED to the folder that has groundtruth/")
	}
	files, err := read([]string{path})
	require.NoError(t, err)
	type kind struct{ deployment, kind string }
	all := map[kind][]*measured.Run{}
	var steps freeze.Steps
	as := func(_ *measured.Run, d *hardware.Deployment) hardware.Efficiency { return d.Efficiency }
	for i := range files[0].Runs {
		r := &files[0].Runs[i]
		if r.Skip != "" {
			continue
		}
		f, skip := steps.Step(r, configs.Options{}, as)
		require.Empty(t, skip)
		if r.Rows[0].Values[0].Measured >= f.FloorMS {
			k := kind{r.Labels.Own, r.Labels.Kind}
			all[k] = append(all[k], r)
		}
	}
	errors := map[string][]float64{}
	for k, runs := range all {
		of := amongAlike(runs)
		errors[k.kind] = append(errors[k.kind], of...)
		few := min(len(of), catalog.StepsPerKind)
		for i := range few {
			errors["few "+k.kind] = append(errors["few "+k.kind], of[(2*i+1)*len(of)/(2*few)])
		}
	}
	for _, want := range []struct {
		kind        string
		n           int
		median, p90 float64
	}{{"decode step", 25631, 0.4, 3.2}, {"mixed step", 2240, 2.6, 26.1}, {"prefill step", 628, 3.4, 20.0},
		{"few decode step", 280, 0.5, 14.6}, {"few mixed step", 280, 3.9, 41.3}, {"few prefill step", 280, 3.3, 24.3}} {
		of := errors[want.kind]
		slices.Sort(of)
		assert.Equal(t, want.n, len(of), want.kind)
		assert.InDelta(t, want.median, 100*measured.Quantile(of, 0.5), 0.05, want.kind)
		assert.InDelta(t, want.p90, 100*measured.Quantile(of, 0.9), 0.05, want.kind)
	}
}

// amongAlike returns by how much each step is off from the median of the five others that are most like it, in the
// logarithms of what is in the batch, tokens of prompts and decodes above all.
func amongAlike(runs []*measured.Run) []float64 {
	const alike = 5
	var at [][4]float64
	for _, r := range runs {
		s := r.Priced.Step
		at = append(at, [4]float64{3 * math.Log1p(float64(s.Prefills*s.ChunkTokens)), 3 * math.Log1p(float64(s.Decodes)),
			math.Log1p(float64(s.Decodes * s.DecodeContext)), math.Log1p(float64(s.Prefills*s.ChunkContext)) / 3})
	}
	type other struct{ distance, milliseconds float64 }
	var errors []float64
	for i, r := range runs {
		var nearest []other
		for j, x := range runs {
			if j == i {
				continue
			}
			farthest := math.Inf(1)
			if len(nearest) == alike {
				farthest = nearest[alike-1].distance
			}
			distance := 0.0
			for k := 0; k < len(at[i]) && distance < farthest; k++ { // most others are too far by the first of these
				distance += math.Abs(at[i][k] - at[j][k])
			}
			if distance >= farthest {
				continue
			}
			o := other{distance, x.Rows[0].Values[0].Measured}
			place, _ := slices.BinarySearchFunc(nearest, o, func(a, b other) int { return cmp.Compare(a.distance, b.distance) })
			nearest = slices.Insert(nearest, place, o)
			nearest = nearest[:min(len(nearest), alike)]
		}
		var ms []float64
		for _, o := range nearest {
			ms = append(ms, o.milliseconds)
		}
		slices.Sort(ms)
		errors = append(errors, math.Abs(measured.Quantile(ms, 0.5)/r.Rows[0].Values[0].Measured-1))
	}
	return errors
}
