package validation

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
)

func seconds(t *testing.T, k measured.Kernel) float64 {
	s, err := kernelSeconds(&measured.Run{Priced: &measured.Priced{Kernel: &k}}, configs.Options{}, nil)
	require.NoError(t, err)
	return s
}

// oneGPU is a scenario of which steps are priced.
const oneGPU = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload: {closed_loop: {concurrency: 1}, " +
	"requests: 1, prompt_tokens: {distribution: fixed, mean: 100}, output_tokens: {distribution: fixed, mean: 1}}\n"

// TestAStepIsPricedAsTheSimulatorPricesIt: one decode step, and one chunk of a prompt.
func TestAStepIsPricedAsTheSimulatorPricesIt(t *testing.T) {
	s, err := configs.Read("step", []byte(oneGPU), configs.Options{})
	require.NoError(t, err)
	r, err := build.FirstReplica(s)
	require.NoError(t, err)
	run := measured.Run{ID: "step", Scenario: oneGPU, Priced: &measured.Priced{Step: &measured.Step{Decodes: 7,
		DecodeContext: 900}}}
	got, _, skip := (&replicas{}).price(&run, configs.Options{}, nil)
	require.Empty(t, skip)
	want := r.Model.Step(7, 900)
	assert.InEpsilon(t, want.First.Seconds(), got, 1e-12)

	// A prompt alone on an idle server takes its step, beside what the server adds to a first token.
	run.Priced.Step = &measured.Step{Prefills: 1, ChunkTokens: 100}
	step, _, skip := (&replicas{}).price(&run, configs.Options{}, nil)
	require.Empty(t, skip)
	run.Priced, run.Rows = nil, []measured.Row{{Request: -1, Values: []measured.Value{measured.Lead(measured.TTFT,
		measured.Mean, 1)}}}
	p := predictUnder(context.Background(), &run, configs.Options{}, nil)
	e := &r.Deployment.Efficiency
	assert.InDelta(t, p[0].Predicted/1e3, step+e.FirstTokenS+100*e.TokenizeS, 1e-9)
}

// TestKernelsKeepTheBound: a product is never faster than its operands through memory or its arithmetic at peak, and
// more of anything never takes less.
func TestKernelsKeepTheBound(t *testing.T) {
	gpu, err := catalog.GPU("h100-sxm")
	require.NoError(t, err)
	product := measured.Kernel{Op: measured.Product, GPU: "h100-sxm", GPUs: 1, Dtype: "fp8", Width: 8192, Hidden: 4096}
	last := 0.0
	for _, rows := range []int{1, 64, 512, 8192} {
		product.Rows = rows
		took := seconds(t, product)
		weights, flops := 8192.0*4096, 2*float64(rows)*8192*4096
		assert.GreaterOrEqual(t, took, weights/gpu.BandwidthBps.Value)
		assert.GreaterOrEqual(t, took, flops/gpu.FLOPS.FP8.Value)
		assert.Greater(t, took, last)
		last = took
	}
	assert.Less(t, last, 3*2*8192.0*8192*4096/gpu.FLOPS.FP8.Value, "a large product is near its peak")

	last = 0
	for _, bytes := range []float64{2, 1 << 10, 1 << 20, 1 << 30} {
		took := seconds(t, measured.Kernel{Op: measured.AllReduce, GPU: "h100-sxm", GPUs: 8, Bytes: bytes})
		assert.Greater(t, took, last)
		last = took
	}
	// Without reducing switches each GPU sends 2(n−1)/n of the message.
	assert.Greater(t, last, 1.75*(1<<30)/gpu.ScaleUpBps.Value/2)

	assert.InEpsilon(t, 1/gpu.BandwidthBps.Value, seconds(t, measured.Kernel{Op: measured.Memory, GPU: "h100-sxm",
		Bytes: 1}),
		0.35, "reading memory is somewhat below its peak")
}

func TestDispatchAndCombineGrowWithTokens(t *testing.T) {
	k := measured.Kernel{Op: measured.Dispatch, GPU: "gb200", GPUs: 16, Hidden: 7168, TopK: 8, Experts: 256, Width: 1,
		Dtype: "fp8", Rows: 8}
	few := seconds(t, k)
	k.Rows = 2048
	assert.Greater(t, seconds(t, k), few)
	_, err := kernelSeconds(&measured.Run{Priced: &measured.Priced{Kernel: &measured.Kernel{Op: measured.AllReduce,
		GPU: "rtx-4090", GPUs: 16, Bytes: 1e6}}}, configs.Options{}, nil)
	assert.ErrorContains(t, err, "nic_bps", "a GPU whose network is not known")
}

// TestEfficienciesAboveArePricedToo: of a GPU that achieves all of its peaks, reading takes bytes over bandwidth.
func TestEfficienciesAboveArePricedToo(t *testing.T) {
	gpu, err := catalog.GPU("h100-sxm")
	require.NoError(t, err)
	run := measured.Run{Priced: &measured.Priced{Kernel: &measured.Kernel{Op: measured.Memory, GPU: "h100-sxm",
		Bytes: 1e9}}}
	source := Source{Efficiency: "textbook"}
	took, err := kernelSeconds(&run, configs.Options{Set: source.Sets()}, nil)
	require.NoError(t, err)
	assert.InEpsilon(t, 1e9/gpu.BandwidthBps.Value, took, 1e-12)
}

// TestLimitedRoutingSendsLessOverTheNetwork: of 4 hosts, which hold 2 of 8 groups each, a token whose experts may be
// anywhere reaches 4·(1 − 0.75⁸) = 3.60, and one whose 8 experts are in 4 groups, of which it uses 3.60, 2.93.
func TestLimitedRoutingSendsLessOverTheNetwork(t *testing.T) {
	k := measured.Kernel{Op: measured.Dispatch, GPU: "h100-sxm", GPUs: 32, Hidden: 7168, TopK: 8, Experts: 256, Width: 1,
		Dtype: "fp8", Way: "normal"}
	grows := func() float64 {
		k.Rows = 8192
		many := seconds(t, k)
		k.Rows = 4096
		return many - seconds(t, k)
	}
	free := grows()
	k.Groups, k.TopGroups = 8, 4
	assert.InEpsilon(t, 2.93/3.60, grows()/free, 0.01)
}

// TestNormalKernelsTakeTheirCores: what grows with the tokens takes as much longer on one host as there are fewer cores
// than the 20 that their tables are of, and no kernel over a network gets faster by more.
func TestNormalKernelsTakeTheirCores(t *testing.T) {
	k := measured.Kernel{Op: measured.Dispatch, GPU: "h100-sxm", GPUs: 8, Hidden: 7168, TopK: 8, Experts: 256, Width: 1,
		Dtype: "fp8", Way: "normal"}
	at := func(gpus, sms, rows int) float64 {
		k.GPUs, k.SMs, k.Rows = gpus, sms, rows
		return seconds(t, k)
	}
	assert.InEpsilon(t, at(8, 0, 4096), at(8, 20, 4096), 1e-12, "20 are the default")
	grows := at(8, 20, 4096) - at(8, 20, 1)
	assert.InEpsilon(t, 2.5*grows, at(8, 8, 4096)-at(8, 8, 1), 1e-9)
	assert.InEpsilon(t, grows/1.2, at(8, 24, 4096)-at(8, 24, 1), 1e-9)
	assert.InEpsilon(t, at(32, 20, 4096), at(32, 24, 4096), 1e-12)
	assert.Greater(t, at(32, 8, 4096), at(32, 20, 4096))
}

// TestAttentionWithoutItsProjectionsIsWhatTheContextAdds: with one token of context it takes what launching does.
func TestAttentionWithoutItsProjectionsIsWhatTheContextAdds(t *testing.T) {
	k := measured.Kernel{Op: measured.Latent, GPU: "h200-sxm", GPUs: 1, Heads: 128, Rows: 32, Hidden: 7168, Context: 1,
		LaunchS: 11e-6, AttentionOnly: true}
	assert.InDelta(t, 11e-6, seconds(t, k), 1e-9)
	gpu, err := catalog.GPU(k.GPU)
	require.NoError(t, err)
	k.Context = 65_536
	const latentBytes = 2 * (512 + 64)
	assert.Greater(t, seconds(t, k), float64(32*65_536*latentBytes)/gpu.BandwidthBps.Value, "it reads all latents")
	whole := k
	whole.AttentionOnly, whole.LaunchS = false, 0
	assert.Less(t, seconds(t, k), seconds(t, whole)+k.LaunchS)
	k.Rows, k.Chunk, k.Context = 2, 2048, 2048
	assert.Greater(t, seconds(t, k), 2*2048*1024*2*128*320/gpu.FLOPS.BF16.Value, "half of all pairs at peak")
}

func TestHalfAnAllReduceTakesHalfItsTime(t *testing.T) {
	k := measured.Kernel{Op: measured.AllReduce, GPU: "h100-sxm", GPUs: 8, Bytes: 1 << 24, NCCL: true}
	whole := seconds(t, k)
	k.Part, k.LaunchS = 0.5, 4e-6
	assert.InEpsilon(t, whole/2+4e-6, seconds(t, k), 1e-9)
}

// TestAStepThatVerifiesDraftsCostsMoreThanOneWithout: and less than a step for each token that it may yield.
func TestAStepThatVerifiesDraftsCostsMoreThanOneWithout(t *testing.T) {
	const scenario = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nspeculation: {method: ngram, " +
		"num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.6}}\nworkload: {closed_loop: {concurrency: 1}, " +
		"requests: 1, prompt_tokens: {distribution: fixed, mean: 100}, output_tokens: {distribution: fixed, mean: 1}}\n"
	step := measured.Step{Decodes: 8, DecodeContext: 900}
	run := measured.Run{ID: "drafts", Scenario: scenario, Priced: &measured.Priced{Step: &step}}
	one, _, skip := (&replicas{}).price(&run, configs.Options{}, nil)
	require.Empty(t, skip)
	step.Drafts = 3
	four, _, skip := (&replicas{}).price(&run, configs.Options{}, nil)
	require.Empty(t, skip)
	assert.Greater(t, four, one)
	assert.Less(t, four, 4*one)
}

// TestProductsTakeWhatTheyDoByThemselves, as we timed some on an H100 SXM 80 GB, cuBLAS of CUDA 13.0, in a CUDA graph.
func TestProductsTakeWhatTheyDoByThemselves(t *testing.T) {
	for _, x := range []struct {
		dtype         string
		rows, n, k    int
		microseconds  float64
		shareOfItself float64
	}{
		{"bf16", 1, 28672, 4096, 82.97, 0.05},
		{"bf16", 256, 28672, 4096, 102.5, 0.10},
		{"bf16", 1024, 28672, 4096, 313.2, 0.05},
		{"bf16", 8192, 28672, 4096, 2478, 0.05},
		{"bf16", 1024, 768, 4096, 13.25, 0.15},
		{"fp8", 16, 28672, 4096, 43.90, 0.05},
		{"fp8", 256, 28672, 4096, 56.60, 0.10},
		{"fp8", 8192, 28672, 4096, 1301, 0.05},
		{"fp8", 8192, 8192, 8192, 929.5, 0.25},
	} {
		took := seconds(t, measured.Kernel{Op: measured.Product, GPU: "h100-sxm", GPUs: 1, Dtype: x.dtype,
			Rows: x.rows, Width: x.n, Hidden: x.k})
		assert.InEpsilon(t, x.microseconds, took*1e6, x.shareOfItself, "%+v", x)
	}
}

// TestStepsBelowTheBoundAreNotCompared: 16 GB of weights take 4.8 ms to read at 3.35 TB/s.
func TestStepsBelowTheBoundAreNotCompared(t *testing.T) {
	predicted := func(ms float64) Prediction {
		run := measured.Run{ID: "step", Scenario: oneGPU, Priced: &measured.Priced{Step: &measured.Step{Decodes: 1,
			DecodeContext: 900}}, Rows: []measured.Row{{Values: []measured.Value{{Metric: measured.Duration, Measured: ms,
			Unit: measured.Unit{Name: "ms", Factor: 1e3}}}}}}
		return (&replicas{}).predict(&run, configs.Options{}, nil)[0]
	}
	slow, fast := predicted(4.9), predicted(4.4)
	assert.Empty(t, slow.Skip)
	assert.Greater(t, slow.Predicted, 4.4)
	assert.Equal(t, "faster than the data sheet allows", fast.Skip)
	assert.Zero(t, fast.Predicted)
}

// TestAStepThatWasMeasuredFitted: 182.6 GB of weights on each of four GPUs that have 198.7 are more than SGLang takes
// by itself, and ran; on two they did not.
func TestAStepThatWasMeasuredFitted(t *testing.T) {
	price := func(gpus string) (float64, string) {
		run := measured.Run{ID: "step", Scenario: "model: deepseek-r1\nweights: fp8\npools:\n  - gpu: gb200\n" +
			"    engine: sglang\n    data_parallel: " + gpus + "\n    expert_parallel: true\nworkload: {closed_loop: " +
			"{concurrency: 1}, requests: 1, prompt_tokens: {distribution: fixed, mean: 1}, output_tokens: {distribution: " +
			"fixed, mean: 1}}\n", Priced: &measured.Priced{Step: &measured.Step{Prefills: 8, ChunkTokens: 2000}}}
		seconds, _, skip := (&replicas{}).price(&run, configs.Options{}, nil)
		return seconds, skip
	}
	took, skip := price("4")
	require.Empty(t, skip)
	assert.Greater(t, took, 0.0)
	_, skip = price("2")
	assert.Contains(t, skip, "does not fit")
}

// A server all of whose steps read prompts is that of a pool for them, whose experts take what tables say.
func TestStepsOfOnePhaseAloneAreThoseOfItsPool(t *testing.T) {
	price := func(separate bool) float64 {
		run := measured.Run{ID: "a", Scenario: "model: deepseek-r1\nweights: fp8\npools:\n  - gpu: gb200\n" +
			"    engine: sglang\n    tensor_parallel: 1\n    data_parallel: 4\n    expert_parallel: true\n" +
			"    all_to_all: normal\n" +
			"workload: {closed_loop: {concurrency: 1}, requests: 1, prompt_tokens: {distribution: fixed, mean: 1}, " +
			"output_tokens: {distribution: fixed, mean: 1}}\n",
			Priced: &measured.Priced{Step: &measured.Step{Prefills: 16, ChunkTokens: 2000, Separate: separate}}}
		var c replicas
		seconds, _, skip := c.price(&run, configs.Options{}, nil)
		require.Empty(t, skip)
		return seconds
	}
	// LMSYS, GB200 part II: 18,471 tokens/s of each of four ranks, here of 8,000 tokens.
	assert.InEpsilon(t, 8000/18471.0, price(true), 0.25)
	assert.Greater(t, price(false), 2*price(true))
}
