package validation

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/soak"
)

// publicRuns reads a table of public measurements.
func publicRuns(t *testing.T, file string) []measured.Run {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(shared, "groundtruth", file)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no public measurements: set DECODESIM_SHARED to the data folder (looked in %s)", shared)
	}
	f, err := formats.Read(path, shared)
	require.NoError(t, err)
	return f.Runs
}

// every is the distance of the runs that a test replays: all of them are replayed in make soak, and by make calibrate.
func every() int {
	if soak.Brief() {
		return 36
	}
	return soak.Cases(12, 1)
}

// some returns one in so many runs.
func some(runs []measured.Run) []measured.Run {
	var out []measured.Run
	for i := 0; i < len(runs); i += every() {
		out = append(out, runs[i])
	}
	return out
}

// errorsOfAll returns the errors of what the data lead with, of runs of quality A.
func errorsOfAll(t *testing.T, runs []measured.Run, m measured.Metric) Errors {
	predictions, err := Predict(context.Background(), runs, nil, nil)
	require.NoError(t, err)
	return errorsOf(predictions, m, func(r *measured.Run) bool { return r.Labels.Quality == "A" })
}

// errorsOf returns the errors of what the data lead with, of some runs.
func errorsOf(predictions []Prediction, m measured.Metric, keep func(*measured.Run) bool) Errors {
	var percents []float64
	for i := range predictions {
		p := &predictions[i]
		if p.Skip == "" && p.Value.Name == m.String() && keep(p.Run) {
			percents = append(percents, 100*p.Error())
		}
	}
	return ErrorsOf(percents)
}

// disaggregated returns the runs with a pool for prompts and one for outputs.
func disaggregated(runs []measured.Run) []measured.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r measured.Run) bool { return r.Labels.Mode != "disagg" })
}

// TestBuiltInConstantsFitPublicMeasurements guards the whole way from a table to an error, with constants that were
// fitted to most of these runs: it is no claim of accuracy, which is docs/accuracy.md, but a change of price that
// nobody refitted, or a run that is set up wrongly, is seen here.
func TestBuiltInConstantsFitPublicMeasurements(t *testing.T) {
	for _, c := range []struct {
		file        string
		metric      measured.Metric
		n           int // at least
		median, p90 float64
	}{
		{"A_aic_silicon.csv", measured.TPOT, 1000, 10, 25}, {"A_aic_silicon.csv", measured.TTFT, 1100, 22, 62},
		{"C_vllm_blis_experiments.csv", measured.TPOT, 80, 8, 20}, {"C_vllm_blis_experiments.csv", measured.E2E, 80, 8, 20},
	} {
		e := errorsOfAll(t, some(publicRuns(t, c.file)), c.metric)
		assert.GreaterOrEqual(t, e.N*every(), c.n, c.file)
		assert.Less(t, e.MedianPct, c.median, "%s of %s", c.metric, c.file)
		assert.Less(t, e.P90Pct, c.p90, "%s of %s", c.metric, c.file)
	}
}

// TestSeparatePoolsAreWithinReach: of disaggregated runs, to none of which anything was fitted, seen as above. Their
// TTFT is that of queues for the prefill pool, which a few percent of its speed make many times as long, and says less;
// see docs/accuracy.md.
func TestSeparatePoolsAreWithinReach(t *testing.T) {
	soak.TakesLong(t)
	// Decode workers with a max_num_seqs below the number of clients, as the names of their recipes say: TTFT is the wait
	// to be admitted.
	limited := func(r *measured.Run) bool { return r.Labels.Quality == "B" && r.Labels.Load == "1024/8192" }
	var runs []measured.Run
	for i, r := range disaggregated(publicRuns(t, "A_aic_silicon.csv")) {
		if limited(&r) || i%every() == 0 {
			runs = append(runs, r)
		}
	}
	predictions, err := Predict(context.Background(), runs, nil, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		metric measured.Metric
		median float64
	}{{measured.TPOT, 17}, {measured.TTFT, 70}} {
		e := errorsOf(predictions, c.metric, func(r *measured.Run) bool { return r.Labels.Quality == "B" })
		assert.GreaterOrEqual(t, e.N*every(), 142)
		assert.Less(t, e.MedianPct, c.median, c.metric)
	}
	e := errorsOf(predictions, measured.TTFT, limited)
	assert.Equal(t, 9, e.N)
	assert.Less(t, e.MedianPct, 25.0)
}

// TestReplaysKeepTheLaws: every run of the closed loops completes each request, and its mean step is above its bound.
func TestReplaysKeepTheLaws(t *testing.T) {
	runs := some(publicRuns(t, "A_aic_silicon.csv"))
	replayed := make([]bool, len(runs))
	run.Each(len(runs), func(i int) {
		if runs[i].Skip != "" || runs[i].Labels.Quality != "A" && runs[i].Labels.Mode != "disagg" {
			return
		}
		o, floorMS, skip := observe(context.Background(), &runs[i], configs.Options{}, nil)
		if !assert.Empty(t, skip, runs[i].ID) {
			return
		}
		replayed[i] = true
		assert.Zero(t, o.Incomplete(), runs[i].ID)
		assert.GreaterOrEqual(t, 1e3*o.Recorder.ITL.MeanS(), floorMS, runs[i].ID)
		assert.Less(t, o.Bound().FractionOfBound, 1.0, runs[i].ID)
	})
	n := 0
	for _, ok := range replayed {
		if ok {
			n++
		}
	}
	assert.Greater(t, n*every(), 1250)
}

// TestReplaysQueueAsTheServersDid pins the mean TTFT of traces replayed with the KV blocks that the servers had, in
// percent of the measurement. The two runs on an RTX 4090 wait a minute for the cache, and differ from each other by 13
// %; of the first, which had a smaller batch, the number of blocks is not known. Two data-parallel ranks are scheduled
// as one, so that nobody waits for the busier of them.
func TestReplaysQueueAsTheServersDid(t *testing.T) {
	runs := publicRuns(t, "D_runs.jsonl")
	predictions, err := Predict(context.Background(), runs, nil, nil)
	require.NoError(t, err)
	within := map[string]float64{
		"D-RTXPRO6000-Llama-3.1-8B": 6, "D-RTX4090-Llama-3.1-8B": 14, "D-RTX4090-Llama-3.1-8B-first": 17,
		"D-RTXPRO6000-Qwen3-30B-A3B-Instruct-2507": 25,
	}
	seen := 0
	for i := range predictions {
		if p := &predictions[i]; p.Row.Request < 0 && p.Value.Name == measured.TTFT.String() {
			require.Empty(t, p.Skip, p.Run.ID)
			assert.InDelta(t, 0, 100*p.Error(), within[p.Run.ID], p.Run.ID)
			seen++
		}
	}
	assert.Equal(t, len(within), seen)
}
