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
	"github.com/decodesim/decodesim/policies/schedulers"
)

// The limits of an engine are those of each data-parallel rank: a replica runs the sequences of all, keeps a null block
// per rank, and takes no longer a chunk or sequence than one of them.
func TestLimitsAreThoseOfARank(t *testing.T) {
	inDir(t, `model: deepseek-v3
pools: [{gpu: h200-sxm, data_parallel: 8, expert_parallel: true, max_num_seqs: 64, max_num_batched_tokens: 1024, num_gpu_blocks: 101}]
workload: {closed_loop: {concurrency: 300}, prompt_tokens: {distribution: fixed, mean: 1500}, output_tokens: {distribution: fixed, mean: 9}, requests: 400}
`)
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	b, err := New(s)
	require.NoError(t, err)
	assert.Equal(t, hardware.Parallel{Tensor: 1, Pipeline: 1, Data: 8, Expert: true}, b.Deployment.Parallel)
	assert.EqualValues(t, 800, b.KVBlocks)
	assert.EqualValues(t, 1600, b.MaxModelLen, "the 100 blocks of one rank")
	v := b.Config.Pools[0].Scheduler.(*schedulers.Continuous)
	assert.Equal(t, []int{512, 8192, 1024},
		[]int{v.MaxNumSeqs, int(v.MaxNumBatchedTokens), int(v.LongPrefillTokenThreshold)})
	assert.Equal(t, 128, b.Deployment.Launch.Graphs[len(b.Deployment.Launch.Graphs)-1], "twice the sequences of a rank")
	assert.Greater(t, b.turnS(), build(t, "workload.closed_loop.concurrency=64").turnS(), "all 300 are in one batch")
	_, summary := simulate(t, s)
	assert.EqualValues(t, 400, summary.Requests.Completed)
	assert.Contains(t, summary.Warnings,
		"data_parallel is priced, not scheduled: its ranks share sequences and context evenly")

	s, err = configs.Load("chat.yaml", configs.Options{Set: []string{"pools.serve.long_prefill_token_threshold=100"}})
	require.NoError(t, err)
	b, err = New(s)
	require.NoError(t, err)
	assert.EqualValues(t, 100, b.Config.Pools[0].Scheduler.(*schedulers.Continuous).LongPrefillTokenThreshold)
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
	e.Default.EagerLayerS, e.Default.StepS = 1e-5, 1e-4
	stated, err := yaml.Marshal(e.Default)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("host.yaml", stated, 0o600))
	for _, c := range []struct {
		set          string
		eager, async bool
	}{
		{"engine=vllm-v1", false, false},
		{"enforce_eager=true", true, false},
		{"async_scheduling=false", false, true},
		{"engine=textbook,enforce_eager=true", false, false},
		{"efficiency=host.yaml,enforce_eager=true,async_scheduling=false", false, false},
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
