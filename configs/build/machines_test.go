package build

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// on is one sequence of a thousand tokens on an accelerator.
func on(t *testing.T, gpu, model string, set ...string) (*Replica, *configs.Pool, error) {
	t.Helper()
	text := fmt.Sprintf("model: %s\npools: [{gpu: %s}]\nworkload: {closed_loop: {concurrency: 1}, "+
		"prompt_tokens: {distribution: fixed, mean: 10}, output_tokens: {distribution: fixed, mean: 10}, requests: 1}\n",
		model, gpu)
	s, err := configs.Read("machine.yaml", []byte(text), configs.Options{Set: set})
	require.NoError(t, err)
	r, err := ReplicaOf(s, 0)
	return r, &s.Pools[0], err
}

// TestMachinesOfSRAMComeToPublishedSpeeds: single streams within 35 %; wafer.yaml and lpu.yaml say what is assumed.
func TestMachinesOfSRAMComeToPublishedSpeeds(t *testing.T) {
	for _, c := range []struct {
		gpu, model string
		published  float64 // tokens/s of one stream
	}{
		{"cerebras-wse-3", "llama-3.1-8b", 1800},
		{"cerebras-wse-3", "llama-3.1-70b", 450},
		{"cerebras-wse-3", "gpt-oss-120b", 1775},
		{"groq-lpu", "llama-2-7b", 750},
		{"groq-lpu", "llama-2-70b", 300},
		{"groq-lpu", "gpt-oss-120b", 476},
	} {
		r, p, err := on(t, c.gpu, c.model)
		require.NoError(t, err)
		step := r.Model.Step(1, 1000)
		assert.InEpsilon(t, c.published, 1/step.First.Seconds(), 0.35, "%s on %s", c.model, c.gpu)
		assert.LessOrEqual(t, step.Bound.A, step.First)
		assert.Zero(t, r.Memory.Context, "no CUDA context")
		assert.Greater(t, r.KVBlocks*int64(p.BlockSize), int64(8000), "room for a sequence")
		t.Logf("%s on %d × %s: %.0f tokens/s, published %.0f", c.model, p.GPUs(), c.gpu, 1/step.First.Seconds(), c.published)
	}
}

// TestModelsAreSpreadOverAsManyChipsAsTheyNeed: one stage or one chip less would not hold them; what a scenario says
// stands.
func TestModelsAreSpreadOverAsManyChipsAsTheyNeed(t *testing.T) {
	for _, c := range []struct {
		gpu, model       string
		tensor, pipeline int
	}{
		{"cerebras-wse-3", "llama-3.1-8b", 1, 1}, {"cerebras-wse-3", "llama-3.1-70b", 1, 4},
		{"groq-lpu", "llama-3.1-8b", 8, 16}, {"h100-sxm", "llama-3.1-8b", 1, 1},
	} {
		_, p, err := on(t, c.gpu, c.model)
		require.NoError(t, err)
		assert.Equal(t, []int{c.tensor, c.pipeline}, []int{p.TensorParallel, p.PipelineParallel}, "%s on %s", c.model, c.gpu)
		if p.PipelineParallel > 1 {
			_, _, err = on(t, c.gpu, c.model, fmt.Sprintf("pools.0.pipeline_parallel=%d", c.pipeline/2),
				fmt.Sprintf("pools.0.tensor_parallel=%d", c.tensor))
			require.ErrorContains(t, err, "does not fit")
		}
	}
}

func TestMachinesThatAreNoGPUsSayWhatTheyLack(t *testing.T) {
	for _, c := range []struct{ gpu, set, err string }{
		{"m5-ultra", "seed=1", `gpu "m5-ultra" has no flops.bf16: no source states it`},
		{"tpu-8i", "seed=1", `gpu "tpu-8i" has no flops.bf16`},
		{"tpu-v6e", "pools.0.enforce_eager=true", "gpu tpu-v6e is of kind tpu, on which no CUDA graph"},
		{"trainium2", "pools.0.cudagraph_capture_sizes=[1]", "gpu trainium2 is of kind trainium"},
	} {
		_, _, err := on(t, c.gpu, "llama-3.1-8b", c.set)
		require.ErrorContains(t, err, c.err, c.gpu)
	}
	r, _, err := on(t, "m5-ultra", "llama-3.1-8b", "pools.0.gpu.flops.bf16=1e14")
	require.NoError(t, err)
	notes := fmt.Sprint(r.notes)
	assert.Contains(t, notes, "flops.bf16 1e+14, of which the catalog has none")
	assert.Contains(t, notes, "shares its memory with the CPU")
	assert.Contains(t, notes, "of kind apple: the rules of engine vllm-v1 stand for its maker's scheduler")
}

// TestEfficienciesTakeConstantsOfTheUsersOwn: above those of the base, whichever that is, and within their ranges.
func TestEfficienciesTakeConstantsOfTheUsersOwn(t *testing.T) {
	plain, _, err := on(t, "h100-sxm", "llama-3.1-8b")
	require.NoError(t, err)
	own, _, err := on(t, "h100-sxm", "llama-3.1-8b", "pools.0.efficiency.base=vllm", "pools.0.efficiency.link=0.85",
		"pools.0.efficiency.layer_s=0")
	require.NoError(t, err)
	want := plain.Deployment.Efficiency
	want.Link, want.LayerS, want.Source = 0.85, 0, own.Deployment.Efficiency.Source
	assert.Equal(t, want, own.Deployment.Efficiency)
	assert.Contains(t, own.Deployment.Efficiency.Source, "link 0.85 in place of")
	_, _, err = on(t, "h100-sxm", "llama-3.1-8b", "pools.0.efficiency.bandwidth=1.5")
	require.ErrorContains(t, err, "1.5 is out of range; expected a share in (0, 1]")
}

// TestMoreBandwidthOfTheUsersOwnIsNeverSlower: explain answers what if it doubled.
func TestMoreBandwidthOfTheUsersOwnIsNeverSlower(t *testing.T) {
	last := 1e9
	for _, bandwidth := range []string{"1e12", "3.35e12", "6.7e12", "1e14"} {
		r, _, err := on(t, "h100-sxm", "llama-3.1-8b", "pools.0.gpu.bandwidth_bps="+bandwidth)
		require.NoError(t, err)
		step := r.Model.Step(8, 4000)
		assert.Less(t, step.First.Seconds(), last)
		assert.LessOrEqual(t, step.Bound.A, step.First)
		last = step.First.Seconds()
	}
}
