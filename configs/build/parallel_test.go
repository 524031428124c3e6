package build

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
)

// The limits of an engine are those of each data-parallel rank, which has a scheduler and a cache of its own, without
// the null block that each keeps back.
func TestLimitsAreThoseOfARank(t *testing.T) {
	inDir(t, `model: deepseek-v3
pools: [{gpu: h200-sxm, data_parallel: 8, expert_parallel: true, max_num_seqs: 64, max_num_batched_tokens: 1024, num_gpu_blocks: 101}]
workload: {closed_loop: {concurrency: 300}, prompt_tokens: {distribution: fixed, mean: 1500}, output_tokens: {distribution: fixed, mean: 9}, requests: 400}
`)
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	b, err := New(s)
	require.NoError(t, err)
	assert.Equal(t, hardware.Parallel{Tensor: 1, Pipeline: 1, Data: 8, Expert: true, Engine: "vllm"},
		b.Deployment.Parallel)
	assert.EqualValues(t, 800, b.KVBlocks)
	assert.EqualValues(t, 1600, b.MaxModelLen, "the 100 blocks of one rank")
	v := b.Config.Pools[0].Scheduler.(*schedulers.Continuous)
	assert.Equal(t, []int{64, 1024, 0},
		[]int{v.MaxNumSeqs, int(v.MaxNumBatchedTokens), int(v.LongPrefillTokenThreshold)})
	assert.Equal(t, 8, b.Config.Pools[0].Ranks)
	assert.EqualValues(t, 100, b.Config.Pools[0].KVBlocks)
	assert.IsType(t, new(routers.VLLMRanks), b.Config.Pools[0].Balancer())
	assert.Equal(t, 128, b.Deployment.Launch.Graphs[len(b.Deployment.Launch.Graphs)-1], "twice the sequences of a rank")
	assert.Greater(t, b.turnS(), build(t, "workload.closed_loop.concurrency=64").turnS(), "all 300 are in one batch")
	_, summary := simulate(t, s)
	assert.EqualValues(t, 400, summary.Requests.Completed)
	ranks := summary.Pools[0].Ranks
	require.NotNil(t, ranks)
	assert.Equal(t, 8, ranks.N)
	assert.InDelta(t, 1, ranks.BusiestTokens, 1e-9, "equal requests, 50 for each rank")
	assert.Zero(t, ranks.EmptyShare)
	assert.EqualValues(t, 800, summary.Pools[0].KVBlocks)

	s, err = configs.Load("chat.yaml", configs.Options{Set: []string{"workload.requests=13",
		"pools.serve.long_prefill_token_threshold=100", "pools.serve.version=0.22"}}) // which exempts no single request
	require.NoError(t, err)
	b, err = New(s)
	require.NoError(t, err)
	assert.EqualValues(t, 100, b.Config.Pools[0].Scheduler.(*schedulers.Continuous).LongPrefillTokenThreshold)
	_, summary = simulate(t, s)
	ranks = summary.Pools[0].Ranks
	assert.InDelta(t, 2*8.0/13, ranks.BusiestTokens, 1e-9, "five of eight ranks have two requests")
	assert.Greater(t, ranks.EmptyShare, 0.0, "the other three have done before")
}

// What a scenario says of kernels and host reaches the deployment; capture sizes may come in any order.
func TestKernelsAndHostAreChosen(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
weight_sparsity: "2:4"
kv_cache: nvfp4
pools: [{gpu: h100-sxm, attention: materialized, enforce_eager: true, async_scheduling: true, cudagraph_capture_sizes: [8, 2, 4, 2]}]
workload: {closed_loop: {concurrency: 1}, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 1}
`)
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	r, err := FirstReplica(s)
	require.NoError(t, err)
	d := &r.Deployment
	assert.Equal(t, hardware.Launch{Eager: true, Async: true, Graphs: []int{2, 4, 8}}, d.Launch)
	assert.True(t, d.Materialized)
	assert.Equal(t, "nvfp4", d.KVDtype)
	assert.Equal(t, llm.Format{Dtype: "bf16", Bits: 9, Sparse: true}, d.Model.Precision.Weights[llm.DenseFFN])
	again, err := configs.Read("resolved", s.YAML(), configs.Options{})
	require.NoError(t, err)
	assert.Equal(t, plainly(s), plainly(again))
}

// A choice that costs time on a real host, and none under efficiencies that do not state it, is said.
func TestWhatAHostDoesForNothingIsSaid(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
pools: [{name: serve, gpu: h100-sxm}]
workload: {closed_loop: {concurrency: 1}, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 1}
`)
	e, err := catalog.EfficienciesOf("vllm")
	require.NoError(t, err)
	e.Default.EagerLayerS, e.Default.StepS = 0, 0
	hostless, err := yaml.Marshal(e.Default)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("hostless.yaml", hostless, 0o600))
	for _, c := range []struct {
		set          string
		eager, async bool
	}{
		{"engine=vllm-v1", false, false},
		{"enforce_eager=true,async_scheduling=false", false, false},
		{"efficiency=hostless.yaml,enforce_eager=true", true, false},
		{"efficiency=hostless.yaml,async_scheduling=false", false, true},
		{"engine=textbook,enforce_eager=true", false, false},
	} {
		var set []string
		for _, key := range strings.Split(c.set, ",") {
			set = append(set, "pools.serve."+key)
		}
		s, err := configs.Load("chat.yaml", configs.Options{Set: set})
		require.NoError(t, err)
		r, err := FirstReplica(s)
		require.NoError(t, err)
		notes := strings.Join(r.notes, "; ")
		assert.Equal(t, c.eager, strings.Contains(notes, "the efficiencies have no eager_layer_s"), "%s: %s", c.set, notes)
		assert.Equal(t, c.async, strings.Contains(notes, "the efficiencies have no step_s"), "%s: %s", c.set, notes)
		assert.Equal(t, strings.HasPrefix(c.set, "enforce_eager"), strings.Contains(notes, "no decode without CUDA graphs"),
			"%s: %s", c.set, notes)
	}
}

// One key says that a host works while its GPUs do: it hides its time, and fixes a batch a step before it runs.
func TestAsynchronousSchedulingIsPriceAndSemantics(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
pools: [{name: serve, gpu: h100-sxm}]
workload: {closed_loop: {concurrency: 1}, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 1}
`)
	for set, want := range map[string]bool{
		"engine=vllm-v1": true, "engine=textbook": false, "async_scheduling=true": true, "async_scheduling=false": false,
	} {
		s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.serve." + set}})
		require.NoError(t, err)
		b, err := New(s)
		require.NoError(t, err)
		assert.Equal(t, want, b.Config.Pools[0].AsyncScheduling, set)
		assert.Equal(t, want, b.Deployment.Launch.Async, set)
	}
}

// Values that no engine takes are refused where they stand.
func TestImpossibleKernelsAreRefused(t *testing.T) {
	const small = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload: {closed_loop: {concurrency: 1}, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 1}
`
	for _, c := range []struct{ set, want string }{
		{"pools.serve.attention=flashy", `--set pools.serve.attention=flashy: "flashy" is unknown; did you mean "flash"?`},
		{"pools.serve.cudagraph_capture_sizes=[4, 0]",
			`--set pools.serve.cudagraph_capture_sizes=[4, 0]: 0 is out of range; expected a whole number from 1 to 65536`},
		{"pools.serve.cudagraph_capture_sizes=[]",
			`is empty; expected rows such as [1, 2, 4, 8], null for the engine's own, or enforce_eager: true for none`},
		{"weight_sparsity=4:8", `--set weight_sparsity=4:8: "4:8" is unknown; valid values: "2:4"`},
	} {
		inDir(t, small)
		_, err := configs.Load("chat.yaml", configs.Options{Set: []string{c.set}})
		require.ErrorContains(t, err, c.want)
	}
	inDir(t, small)
	_, err := configs.Load("chat.yaml",
		configs.Options{Set: []string{"pools.serve.data_parallel=1024", "pools.serve.max_num_batched_tokens=2000000"}})
	require.ErrorContains(t, err,
		"1024 ranks of max_num_batched_tokens, 2000000, are 2048000000 tokens in a step; expected at most 1073741824")
}

// Each engine has its own way to pick a rank; another can be asked for by SGLang's names, and only where there are
// ranks.
func TestRequestsAreBalancedOverRanks(t *testing.T) {
	inDir(t, `model: deepseek-v3
pools: [{gpu: h200-sxm, data_parallel: 8, expert_parallel: true}]
workload: {closed_loop: {concurrency: 8}, prompt_tokens: {distribution: fixed, mean: 99}, output_tokens: {distribution: fixed, mean: 9}, requests: 9}
`)
	for set, want := range map[string]any{
		"engine=vllm-v1": new(routers.VLLMRanks), "engine=sglang": new(routers.RoundRobin),
		"engine=tensorrt-llm": routers.LeastLoaded{}, "load_balance_method=total_tokens": new(routers.Least),
		"load_balance_method=session_affinity": new(routers.SessionAffinity),
	} {
		assert.IsType(t, want, build(t, "pools.serve."+set).Config.Pools[0].Balancer(), set)
	}
	assert.False(t, build(t).Config.Pools[0].Balancer().(*routers.VLLMRanks).ByWaiting)
	assert.True(t, build(t, "pools.serve.version=0.22").Config.Pools[0].Balancer().(*routers.VLLMRanks).ByWaiting)
	_, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.serve.load_balance_method=fair"}})
	require.ErrorContains(t, err, `"fair" is unknown; valid values: "vllm", "round_robin", "total_requests", "total_tokens", `+
		`"follow_bootstrap_room", "session_affinity"`)
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.serve.data_parallel=1",
		"pools.serve.tensor_parallel=8", "pools.serve.load_balance_method=vllm"}})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err, `"vllm" has no ranks to choose from; accepted: null, or data_parallel above 1`)
}

// SGLang's prefill workers go by the room in which they meet the decode worker, and those by turns, unless asked.
func TestPrefillWorkersOfSGLangFollowTheRoom(t *testing.T) {
	pool := func(role string) string {
		return "{name: " + role + ", role: " + role + ", gpu: h200-sxm, data_parallel: 8, expert_parallel: true, " +
			"engine: sglang}"
	}
	inDir(t, "model: deepseek-v3\npools: ["+pool("prefill")+", "+pool("decode")+`]
workload: {closed_loop: {concurrency: 8}, prompt_tokens: {distribution: fixed, mean: 99}, output_tokens: {distribution: fixed, mean: 9}, requests: 9}
`)
	pools := build(t).Config.Pools
	assert.IsType(t, new(routers.BootstrapRoom), pools[0].Balancer())
	assert.IsType(t, new(routers.RoundRobin), pools[1].Balancer())
	pools = build(t, "pools.decode.load_balance_method=follow_bootstrap_room").Config.Pools
	assert.IsType(t, new(routers.BootstrapRoom), pools[1].Balancer())
}

// Uneven experts are a choice of the scenario, and what no engine could do is refused where it stands.
func TestUnevenExpertsAreChosen(t *testing.T) {
	inDir(t, `model: deepseek-v3
pools: [{gpu: h200-sxm, tensor_parallel: 8, expert_parallel: true}]
workload: {closed_loop: {concurrency: 8}, prompt_tokens: {distribution: fixed, mean: 99}, output_tokens: {distribution: fixed, mean: 9}, requests: 9}
`)
	b := build(t, "pools.serve.expert_skew=0.5", "pools.serve.enable_eplb=true", "pools.serve.num_redundant_experts=32")
	assert.Equal(t, hardware.Routing{Skew: 0.5, Balanced: true, Redundant: 32}, b.Deployment.Routing)
	assert.Greater(t, b.Memory.Weights, build(t, "pools.serve.expert_skew=0.5").Memory.Weights)
	for _, c := range []struct{ set, want string }{
		{"num_redundant_experts=32", "num_redundant_experts=32: 32 without enable_eplb; accepted: 0"},
		{"enable_eplb=true,expert_parallel=false", "accepted: false, or expert_parallel true on more than one GPU"},
		{"enable_eplb=true,num_redundant_experts=3", "are not a multiple of 8 GPUs; accepted: 8"},
	} {
		var set []string
		for _, key := range strings.Split(c.set, ",") {
			set = append(set, "pools.serve."+key)
		}
		s, err := configs.Load("chat.yaml", configs.Options{Set: set})
		require.NoError(t, err)
		_, err = New(s)
		require.ErrorContains(t, err, c.want)
	}
}
