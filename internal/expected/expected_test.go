package expected

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/sim/metrics"
)

func scenario(t *testing.T, pools string, more ...string) *configs.Scenario {
	const load = "workload: {closed_loop: {concurrency: 1}, requests: 1, prompt_tokens: " +
		"{distribution: fixed, mean: 100}, output_tokens: {distribution: fixed, mean: 10}}\n"
	s, err := configs.Read("s", []byte("model: llama-3.1-70b\npools: ["+pools+"]\n"+load+
		strings.Join(more, "")), configs.Options{})
	require.NoError(t, err)
	return s
}

// small is a table in which vLLM was measured with two models on two GPUs, but not with each on each.
func small() *Table {
	is := func(e Entry, percent float64) Entry {
		e.Runs, e.Deployments = 10, 2
		e.TPOT, e.TTFT = Spread{percent, 3 * percent}, Spread{2 * percent, 6 * percent}
		return e
	}
	return &Table{
		Measured: []Entry{
			is(Entry{Engine: "vllm", Model: "llama-3.1-70b", GPU: "h100-sxm"}, 1),
			is(Entry{Engine: "vllm", Model: "qwen3-32b", GPU: "b200-sxm"}, 2),
		},
		Unmeasured: []Entry{
			is(Entry{Engine: "vllm", LeftOut: Pair}, 3), is(Entry{Engine: "vllm", LeftOut: GPU}, 4),
			is(Entry{Engine: "vllm", LeftOut: Model}, 5), is(Entry{LeftOut: GPUAndModel}, 6),
			is(Entry{LeftOut: Disaggregated}, 7),
		},
	}
}

func TestWhatIsUnmeasuredDecides(t *testing.T) {
	for _, c := range []struct {
		model, gpu string
		out        LeftOut
		percent    float64
	}{
		{"llama-3.1-70b", "h100-sxm", Deployment, 1}, {"llama-3.1-70b", "b200-sxm", Pair, 3},
		{"llama-3.1-70b", "l40s", GPU, 4}, {"gpt-oss-120b", "b200-sxm", Model, 5}, {"gpt-oss-120b", "l40s", GPUAndModel, 6},
	} {
		e, ok := small().entry("vllm", c.model, c.gpu)
		require.True(t, ok)
		assert.Equal(t, c.out, e.LeftOut, "%s on %s", c.model, c.gpu)
		assert.InDelta(t, c.percent, e.TPOT.MedianPct, 0, "%s on %s", c.model, c.gpu)
	}
}

// TestEachLatencyHasTheErrorOfThePoolThatMakesIt: a prefill pool says nothing of TPOT, nor a decode pool of TTFT.
func TestEachLatencyHasTheErrorOfThePoolThatMakesIt(t *testing.T) {
	pools := scenario(t, "{name: p, role: prefill, gpu: h100-sxm, tensor_parallel: 4, engine: sglang}, "+
		"{name: d, role: decode, gpu: b200-sxm, tensor_parallel: 4}")
	ttft, known := TTFTOf(pools)
	require.True(t, known)
	tpot, known := TPOTOf(pools)
	require.True(t, known)
	assert.Equal(t, OfPool(pools, &pools.Pools[0])[0], ttft)
	assert.Equal(t, OfPool(pools, &pools.Pools[1])[0], tpot)
	assert.Equal(t, "h100-sxm", ttft.GPU)
	assert.Equal(t, "b200-sxm", tpot.GPU)

	together := scenario(t, "{gpu: h100-sxm, tensor_parallel: 4}")
	ttft, known = TTFTOf(together)
	require.True(t, known)
	tpot, _ = TPOTOf(together)
	assert.Equal(t, ttft, tpot)

	unknown := scenario(t, "{gpu: h100-sxm, tensor_parallel: 4, engine: textbook}")
	_, known = TTFTOf(unknown)
	assert.False(t, known)
}

func TestPoolsAndEnginesHaveErrorsOfTheirOwn(t *testing.T) {
	one := func(pool string) (metrics.ExpectedError, bool) {
		s := scenario(t, pool)
		return small().of(s, &s.Pools[0])
	}
	x, ok := one("{gpu: h100-sxm, tensor_parallel: 4}")
	require.True(t, ok)
	assert.Equal(t, "TPOT within 1.0 % (nine in ten 3.0 %), TTFT 2.0 % (6.0 %): llama-3.1-70b on h100-sxm was measured "+
		"under vllm, left out of the fit; 10 runs of 2 deployments", Sentence(&x))
	x, ok = one("{gpu: h100-sxm, tensor_parallel: 4, engine: sarathi}") // whose kernels are those of vLLM
	require.True(t, ok)
	assert.Equal(t, "vllm", x.Engine)
	x, ok = one("{name: p, role: prefill, gpu: h100-sxm, tensor_parallel: 4}, {name: d, role: decode, gpu: h100-sxm, " +
		"tensor_parallel: 4}")
	require.True(t, ok)
	assert.Equal(t, "disaggregated", x.LeftOut)
	assert.Contains(t, Sentence(&x), "separate pools under vllm (errors of all engines), which nothing is fitted to")
	for gpu, c := range map[string]struct{ leftOut, says string }{
		"gb200": {"disaggregated", "which nothing is fitted to; 10 runs"}, // the chip of a measured B200
		"l40s":  {"disaggregated and gpu", "fitted to; more on l40s, where no latency was measured; 10 runs"},
	} {
		x, ok = one("{name: p, role: prefill, gpu: " + gpu + ", tensor_parallel: 4}, {name: d, role: decode, gpu: " + gpu +
			", tensor_parallel: 4}")
		require.True(t, ok)
		assert.Equal(t, c.leftOut, x.LeftOut)
		assert.Contains(t, Sentence(&x), c.says)
	}
	for gpu, want := range map[string]LeftOut{"h100-sxm": DisaggregatedModel, "l40s": DisaggregatedGPUAndModel} {
		e, ok := small().separate("vllm", "gpt-oss-120b", gpu)
		require.True(t, ok)
		assert.Equal(t, want, e.LeftOut)
		assert.Contains(t, Because(&metrics.ExpectedError{Model: "gpt-oss-120b", GPU: gpu, LeftOut: string(want)}),
			"more of gpt-oss-120b")
	}
	for _, pool := range []string{"{gpu: h100-sxm, tensor_parallel: 4, engine: textbook}",
		"{gpu: h100-sxm, tensor_parallel: 4, efficiency: own.yaml}"} {
		_, ok = one(pool)
		assert.False(t, ok, "%s: nobody measured it", pool)
	}
}

// TestAFileSaysTheErrorsOfItsOwnRuns: constants that decodesim calibrate wrote are as good as they were on its data,
// and nobody knows how good others are.
func TestAFileSaysTheErrorsOfItsOwnRuns(t *testing.T) {
	of := func(more, changes string) []metrics.ExpectedError {
		e, err := catalog.LoadEfficiency("testdata/own.yaml")
		require.NoError(t, err)
		require.Equal(t, 0.9, e.Bandwidth)
		data, err := os.ReadFile("testdata/own.yaml")
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "own.yaml")
		require.NoError(t, os.WriteFile(file, append(data, more...), 0o600))
		return Of(scenario(t, "{gpu: h100-sxm, tensor_parallel: 4, efficiency: {base: "+file+changes+"}}"))
	}
	const errors = "left_out: {runs: 5, tpot_median_pct: 2, tpot_p90_pct: 4, ttft_median_pct: 6, ttft_p90_pct: 20}\n"
	assert.Equal(t, []string{"TPOT within 2.0 % (nine in ten 4.0 %), TTFT 6.0 % (20.0 %): runs that its own constants " +
		"were fitted to, each left out in turn; deployments unlike theirs may be further off; 5 runs"},
		Sentences(of(errors, "")))
	assert.Empty(t, of("", ""), "the file says none")
	assert.Empty(t, of(errors, ", layer_s: 1e-3"), "the scenario has other constants than the file")
	assert.Empty(t, of(strings.Replace(errors, "runs: 5", "runs: 1", 1), ""), "of one run nothing was left out")
}

// TestTheEmbeddedTableIsWhole: it reads back as it was written, and has an answer for whatever was measured or not
// under the measured engines.
func TestTheEmbeddedTableIsWhole(t *testing.T) {
	var b strings.Builder
	require.NoError(t, builtIn().Write(&b))
	assert.Equal(t, embedded, b.String())
	require.Greater(t, len(builtIn().Measured), 20)
	for _, engine := range []string{"vllm", "sglang", "tensorrt-llm"} {
		for _, out := range []LeftOut{Pair, GPU, Model, GPUAndModel, Disaggregated} {
			e, ok := builtIn().unmeasured(engine, out)
			require.True(t, ok, "%s, %s left out", engine, out)
			assert.Positive(t, e.Runs)
			assert.Greater(t, e.TPOT.P90Pct, e.TPOT.MedianPct)
		}
	}
	for _, e := range builtIn().Measured {
		assert.GreaterOrEqual(t, e.TPOT.MedianPct, 0.0, e)
		assert.GreaterOrEqual(t, e.TTFT.P90Pct, e.TTFT.MedianPct, e)
	}
}

// TestPoolsThatHaveAnErrorInCommonSayItOnce: prefill on one GPU and decode on another are both pools that nothing is
// fitted to, whatever their GPUs.
func TestPoolsThatHaveAnErrorInCommonSayItOnce(t *testing.T) {
	all := []metrics.ExpectedError{
		{Model: "m", GPU: "h200-sxm", Engine: "vllm", LeftOut: string(Disaggregated), Runs: 3},
		{Model: "m", GPU: "b200-sxm", Engine: "vllm", LeftOut: string(Disaggregated), Runs: 3},
		{Model: "m", GPU: "b200-sxm", Engine: "sglang", LeftOut: string(Disaggregated), Runs: 3},
	}
	lines := Sentences(all)
	require.Len(t, lines, 2)
	assert.Equal(t, []string{Sentence(&all[0]), Sentence(&all[2])}, lines)
}

// TestTheErrorOfAGPUOfOnesOwnIsUnknown: that comes first in its line, then the errors of measured GPUs that were left
// out of the fit. Another price makes no other GPU.
func TestTheErrorOfAGPUOfOnesOwnIsUnknown(t *testing.T) {
	const gpu = "{from: h100-sxm, bandwidth_bps: 5e12}"
	of := func(pools string) string {
		s := scenario(t, pools)
		x, ok := small().of(s, &s.Pools[0])
		require.True(t, ok)
		assert.True(t, x.OwnGPU)
		return Sentence(&x)
	}
	assert.Equal(t, "the error on h100-sxm, with figures of your own, is unknown; nearest are errors of GPUs that were "+
		"measured under vllm, each left out of the fit: TPOT within 4.0 % (nine in ten 12.0 %), TTFT 8.0 % (24.0 %); 10 "+
		"runs of 2 deployments", of("{gpu: "+gpu+", tensor_parallel: 4}"))
	assert.Contains(t, of("{name: p, role: prefill, gpu: "+gpu+", tensor_parallel: 4}, {name: d, role: decode, gpu: "+
		gpu+", tensor_parallel: 4}"), "nearest are errors of separate pools that were measured under vllm")

	file := filepath.Join(t.TempDir(), "mine.yaml")
	data, err := os.ReadFile("../../configs/catalog/gpus/h100-sxm.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))
	assert.Contains(t, of("{gpu: "+file+", tensor_parallel: 4}"), "the error on mine, with figures of your own, is "+
		"unknown")

	x := Of(scenario(t, "{gpu: {from: h100-sxm, price_per_hour: 1}, tensor_parallel: 4}"))
	require.Len(t, x, 1)
	assert.False(t, x[0].OwnGPU)
}

// TestWhatNoRunHadIsSaid: errors of plain servers say nothing of drafts, adapters or caches on drives, and the user who
// reads them has to know. What a file says of its own runs is the user's to judge.
func TestWhatNoRunHadIsSaid(t *testing.T) {
	const lora, host, tiers = ", enable_lora: true, max_loras: 2, max_lora_rank: 16", ", kv_offloading_size: 10",
		", engine: sglang, kv_offloading_size: 10, kv_tiers: {nvme: {size_gib: 1000, read_bps: 1e10, write_bps: 1e10}}"
	const drafts = "speculation: {method: ngram, num_speculative_tokens: 2, acceptance: {process: iid, rate: 0.5}}"
	for _, c := range []struct{ pool, more, without, says string }{
		{"", "", "", "left out of the fit; 10 runs of 2 deployments"},
		{"", drafts, "speculation", "; 10 runs of 2 deployments; none of the runs had speculation"},
		{lora, "", "LoRA adapters", "; none of the runs had LoRA adapters"},
		{host, "", "KV tiers", "; none of the runs had KV tiers"},
		{tiers, "", "KV tiers", "; none of the runs had KV tiers"},
		{lora + host, drafts, "speculation, LoRA adapters, KV tiers",
			"; none of the runs had speculation, LoRA adapters or KV tiers"},
	} {
		pool := "{gpu: h100-sxm, tensor_parallel: 4" + c.pool + "}"
		s := scenario(t, pool, c.more)
		x, ok := small().of(s, &s.Pools[0])
		require.True(t, ok)
		assert.Equal(t, c.without, x.Without, pool)
		assert.True(t, strings.HasSuffix(Sentence(&x), c.says), Sentence(&x))
	}
}
