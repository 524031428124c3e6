package groundtruth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func splitwiseTable(edits ...string) string {
	return measuredtest.TableOf([]string{
		"id", "f1", "model", "meta-llama/Llama-2-70b-hf", "hardware", "h100-80gb", "tp", "4", "prompt_size", "512",
		"batch_size", "16",
		"token_size", "128", "n", "5", "prompt_time_ms_mean", "900", "token_time_ms_mean", "40", "peak_power_frac_tdp", "",
	}, edits)
}

func TestABatchOfStepsIsABurst(t *testing.T) {
	f, err := measuredtest.ReadText(t, splitwiseTable())
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "prompt and token steps", f.Schema)
	assert.Equal(t, measured.Run{
		ID: "f1",
		Labels: measured.Labels{
			Source: "splitwise", Model: "llama-2-70b", Class: "dense-gqa", GPU: "h100-sxm", Engine: "eager-2023",
			Version: "2023",
			Mode:    "agg", Quality: "C", Precision: "bf16", Parallel: "tp4", Load: "512/128", Concurrency: 16,
		},
		Scenario: `model: llama-2-70b
pools:
  - gpu: h100-sxm
    tensor_parallel: 4
    efficiency: eager-2023
    version: 0.22
    max_num_seqs: 16
    max_num_batched_tokens: 8192
    block_size: 16
    num_gpu_blocks: 673
workload:
  closed_loop: {concurrency: 16}
  requests: 16
  prompt_tokens: {distribution: fixed, mean: 512}
  output_tokens: {distribution: fixed, mean: 128}
`,
		Rows: []measured.Row{{ID: "f1", Request: -1, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean,
			900), measured.Lead(measured.TPOT, measured.Mean, 40)}}},
	}, run)
}

func TestStepsBeyondTheModelSayWhy(t *testing.T) {
	for why, edits := range map[string][]string{
		"the power of the GPU is capped, which is not modelled":      {"hardware", "h100-80gb-pcap"},
		"GPU v100 is not in the catalog":                             {"hardware", "v100"},
		"prompt and output are longer than the context of the model": {"prompt_size", "4096"},
	} {
		f, err := measuredtest.ReadText(t, splitwiseTable(edits...))
		run := measuredtest.OneRun(t, f, err)
		assert.Equal(t, why, run.Skip)
		assert.Len(t, run.Rows[0].Values, 2)
	}
	f, err := measuredtest.ReadText(t, splitwiseTable("hardware", "h100-80gb-pcap"))
	assert.Equal(t, "h100-sxm-pcap", measuredtest.OneRun(t, f, err).Labels.GPU,
		"not one deployment with those at full power")
}

// TestABurstIsOnePrefillAndOneBatch runs what the shared file has and asks that all prompts of a batch end with one
// step and that nothing is preempted: only then do the two times mean what was measured.
func TestABurstIsOnePrefillAndOneBatch(t *testing.T) {
	f := measuredtest.ReadShared(t, "F_splitwise_perf.csv")
	for _, run := range f.Runs {
		if run.Skip != "" || run.Labels.Concurrency == 1 {
			continue
		}
		s, err := configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		recorder := &metrics.Full{}
		recorder.Ingress = b.Config.Ingress
		b.Config.Sink = recorder
		c, err := sim.New(b.Config)
		require.NoError(t, err)
		recorder.Watch(c)
		c.Run()
		sum := recorder.Summary(b.Describe("", c.Totals().Arrived))
		assert.EqualValues(t, run.Labels.Concurrency, sum.Requests.Completed, run.ID)
		assert.Zero(t, sum.Requests.Preemptions, run.ID)
		assert.InEpsilon(t, sum.Latency.TTFT.Max, sum.Latency.TTFT.P50, 0.002, run.ID) // the width of a bucket
	}
}

func TestEverySharedStepIsRead(t *testing.T) {
	f := measuredtest.ReadShared(t, "F_splitwise_perf.csv")
	require.Len(t, f.Runs, 133)
	assert.Equal(t, 133, measuredtest.CountRows(t, f))
	assert.Equal(t, map[string]int{
		"": 73,
		"the power of the GPU is capped, which is not modelled":      38,
		"prompt and output are longer than the context of the model": 22,
	}, measuredtest.SkipReasons(f))
	measuredtest.BuildAll(t, f)
}
