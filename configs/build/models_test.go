package build

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware/llm"
)

// TestEveryModelServes runs each model of the catalog on the fewest B300s that hold it, and demands what holds for any:
// all requests end, and no step beats its bound.
func TestEveryModelServes(t *testing.T) {
	inDir(t, `model: m
pools: [{gpu: b300-sxm}]
workload:
  closed_loop: {concurrency: 20}
  prompt_tokens: {distribution: lognormal, mean: 600, cv: 1, max: 900}
  output_tokens: {distribution: lognormal, mean: 200, cv: 1, max: 900}
  requests: 60
`)
	for _, name := range catalog.ModelNames() {
		var err error
		for _, gpus := range []int{1, 2, 4, 8} {
			s, loadErr := configs.Load("chat.yaml",
				configs.Options{Set: []string{"model=" + name, fmt.Sprintf("pools.serve.tensor_parallel=%d", gpus)}})
			require.NoError(t, loadErr)
			_, err = FirstReplica(s)
			if err != nil {
				continue
			}
			_, summary := simulate(t, s)
			assert.EqualValues(t, 60, summary.Requests.Completed, name)
			assert.Less(t, summary.Bound.FractionOfBound, 1.0, name)
			assert.LessOrEqual(t, summary.Pools[0].KVPeakFraction, 1.0, name)
			break
		}
		assert.NoError(t, err, name)
	}
}

// TestEveryGPUServes runs the smallest model on each accelerator that holds it.
func TestEveryGPUServes(t *testing.T) {
	inDir(t, chat8b)
	for _, name := range catalog.GPUNames() {
		s, err := configs.Load("chat.yaml",
			configs.Options{Set: []string{"pools.serve.gpu=" + name, "model=qwen3-0.6b", "pools.serve.max_model_len=1000"}})
		require.NoError(t, err)
		if gpu, err := catalog.GPU(name); err == nil && !gpu.FLOPS.BF16.Known() {
			_, err = New(s)
			require.ErrorContains(t, err, "no flops.bf16: no source states it", name)
			continue
		}
		_, summary := simulate(t, s)
		assert.EqualValues(t, 50, summary.Requests.Completed, name)
	}
}

// A config.json that is silent about its quantisation may have a file beside it that is not.
func TestQuantisationBesideAConfigIsRead(t *testing.T) {
	inDir(t, `model: hub/config.json
pools: [{gpu: b200-sxm}]
workload: {closed_loop: {concurrency: 1}, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 1}
`)
	require.NoError(t, os.Mkdir("hub", 0o700))
	write := func(name, text string) { require.NoError(t, os.WriteFile("hub/"+name, []byte(text), 0o600)) }
	write(
		"config.json", `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
		"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
		"max_position_embeddings": 8192, "torch_dtype": "bfloat16", "hidden_act": "silu"}`)
	replica := func() (*Replica, error) {
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err)
		return FirstReplica(s)
	}
	r, err := replica()
	require.NoError(t, err)
	assert.Equal(t, 16.0, r.Deployment.Model.WeightBits(llm.DenseFFN))
	write("hf_quant_config.json",
		`{"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}}`)
	r, err = replica()
	require.NoError(t, err)
	assert.Equal(t, 4.5, r.Deployment.Model.WeightBits(llm.DenseFFN))
	assert.Equal(t, 16.0, r.Deployment.Model.WeightBits(llm.Head))
	assert.Equal(t, "fp8", r.Deployment.Model.Precision.KVCache)
	write("hf_quant_config.json", `{"quantization": {"quant_algo": "INT3"}}`)
	_, err = replica()
	require.ErrorContains(t, err, "model: hf_quant_config.json: ")
}

// What a figure that is missing, or a mode that is half modelled, does to a result is said with it.
func TestWhatIsNotKnownIsReported(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
pools: [{gpu: gaudi-3, pipeline_parallel: 2, engine: sglang}]
workload: {closed_loop: {concurrency: 1}, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 1}
`)
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	_, summary := simulate(t, s)
	assert.Nil(t, summary.Cost)
	assert.Contains(t, summary.Warnings, "no cost: no source states a price of gpu gaudi-3")
	assert.Contains(t, summary.Warnings,
		"pipeline_parallel is priced, not scheduled: decodes pass through the stages in equal microbatches, and prompts in "+
			"one")
}
