package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
