package validation

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
)

// TestServersAreAsFullAsTheirCountersSay compares the requests in the batch and in the queue, and the share of the KV
// cache in use, with what servers counted of themselves under 32 clients and more. Neither the share of memory nor the
// number of blocks is stated: the cache that the defaults leave is too large by about a sixth, and shares are too small
// by as much.
func TestServersAreAsFullAsTheirCountersSay(t *testing.T) {
	var meanPct, maxPct []float64
	runs := publicRuns(t, "A3_gptoss120b_h200_vllm022.csv")
	for i := range runs {
		run := &runs[i]
		if run.Skip != "" || run.Labels.Concurrency < 32 || run.Occupied.KVMax == 0 {
			continue
		}
		o, skip := Occupy(context.Background(), run, nil)
		require.Empty(t, skip, run.ID)
		m := run.Occupied
		assert.Equal(t, m.RunningMax, o.RunningMax, run.ID)
		assert.InDelta(t, m.WaitingMax, o.WaitingMax, 8, run.ID)
		meanPct, maxPct = append(meanPct, 100*(o.KVMean/m.KVMean-1)), append(maxPct, 100*(o.KVMax/m.KVMax-1))
	}
	require.GreaterOrEqual(t, len(meanPct), 20)
	mean, most := ErrorsOf(meanPct), ErrorsOf(maxPct)
	assert.Less(t, mean.MedianPct, 12.0)
	assert.Less(t, mean.P90Pct, 20.0)
	assert.Less(t, most.P90Pct, 17.0)
	assert.Less(t, most.P90Pct-most.MedianPct, 1.0, "one cause for all")
}

func TestOccupancyOfARunThatCannotBeSimulatedSaysWhy(t *testing.T) {
	run := &measured.Run{Skip: "unheard of"}
	_, skip := Occupy(context.Background(), run, nil)
	assert.Equal(t, "unheard of", skip)
	_, skip = Occupy(context.Background(), &measured.Run{ID: "a", Scenario: "model: none\n"}, nil)
	assert.NotEmpty(t, skip)
}

// TestOccupancyCountsTheBatchAndTheQueue: four clients of a server that takes two at once. The first prompt is
// tokenised before the others, which all wait for its step.
func TestOccupancyCountsTheBatchAndTheQueue(t *testing.T) {
	run := &measured.Run{ID: "a", Scenario: `model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 2, max_num_batched_tokens: 2048, num_gpu_blocks: 101}]
workload:
  closed_loop: {concurrency: 4}
  requests: 8
  prompt_tokens: {distribution: fixed, mean: 320}
  output_tokens: {distribution: fixed, mean: 80}
`}
	o, skip := Occupy(context.Background(), run, nil)
	require.Empty(t, skip)
	assert.Equal(t, [2]float64{2, 3}, [2]float64{o.RunningMax, o.WaitingMax})
	assert.InDelta(t, 0.5, o.KVMax, 1e-9, "of 100 blocks, 25 for each of the two at their end")
	assert.Greater(t, o.KVMean, 0.35)
	assert.Less(t, o.KVMean, 0.5)
}
