package measured

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

const newLoad = "workload:\n  closed_loop: {concurrency: 2}\n  requests: 20\n  prompt_tokens: {distribution: fixed, " +
	"mean: 10}\n" +
	"  output_tokens: {distribution: fixed, mean: 5}\n"

func TestALoadTakesThePlaceOfAScenariosOwn(t *testing.T) {
	base := "# mine\nmodel: llama-3.1-8b\nworkload:\n  trace: {file: none.csv}\n  warmup_s: 3\n  timeout_s: " +
		"60\n\npools:\n  - gpu: h100-sxm # one\nseed: 7\n"
	text, err := overlay("mine.yaml", []byte(base), newLoad)
	require.NoError(t, err)
	assert.Equal(t, "# mine\nmodel: llama-3.1-8b\n\n\n\n\n\npools:\n  - gpu: h100-sxm # one\nseed: 7\n"+`workload:
    timeout_s: 60
    closed_loop: {concurrency: 2}
    requests: 20
    prompt_tokens: {distribution: fixed, mean: 10}
    output_tokens: {distribution: fixed, mean: 5}
`, text)
	s, err := configs.Read("mine.yaml", []byte(text), configs.Options{})
	require.NoError(t, err)
	assert.Equal(t, 2, s.Workload.ClosedLoop.Concurrency)
	assert.Nil(t, s.Workload.Trace)
	assert.InDelta(t, 60, s.Workload.TimeoutS, 0)
	assert.EqualValues(t, 7, s.Seed)
}

func TestAScenarioNeedsNoWorkloadUnderData(t *testing.T) {
	for _, base := range []string{
		"model: llama-3.1-8b\npools: [{gpu: h100-sxm}]", "{model: llama-3.1-8b, pools: [{gpu: h100-sxm}]}\n",
		"{model: llama-3.1-8b, workload: {requests: 3}, pools: [{gpu: h100-sxm}]}",
		"workload:\nmodel: llama-3.1-8b\npools:\n- gpu: h100-sxm\n",
	} {
		text, err := overlay("mine.yaml", []byte(base), newLoad)
		require.NoError(t, err)
		s, err := configs.Read("mine.yaml", []byte(text), configs.Options{})
		require.NoError(t, err, text)
		assert.EqualValues(t, 20, s.Workload.Requests)
	}
}

func TestErrorsInAScenarioKeepTheirLine(t *testing.T) {
	text, err := overlay("mine.yaml", []byte("model: llama-3.1-8b\nworkload:\n  requests: 3\n\npools:\n  - gpu: h1000\n"),
		newLoad)
	require.NoError(t, err)
	_, err = configs.Read("mine.yaml", []byte(text), configs.Options{})
	assert.ErrorContains(t, err, "mine.yaml:6:")
	_, err = overlay("mine.yaml", []byte("a: [\n"), newLoad)
	assert.ErrorContains(t, err, "mine.yaml: not YAML: line ")
	_, err = overlay("mine.yaml", []byte("- a\n"), newLoad)
	assert.EqualError(t, err, "mine.yaml: not a scenario; expected keys and values, such as model, pools and workload")
}

func TestARowGoesOverThePoolOfAScenario(t *testing.T) {
	base := "model: llama-3.1-8b\npools:\n  - gpu: h100-sxm\n    max_num_seqs: 64\n"
	text, err := overlay("mine.yaml", []byte(base),
		"model: qwen3-32b\npools:\n  - tensor_parallel: 2\n    gpu: h200-sxm\n"+newLoad)
	require.NoError(t, err)
	s, err := configs.Read("mine.yaml", []byte(text), configs.Options{})
	require.NoError(t, err, text)
	assert.Equal(t, "qwen3-32b", s.Model.Config)
	p := s.Pools[0]
	assert.Equal(t, []any{"h200-sxm", 2, 64}, []any{p.GPU.From, p.TensorParallel, p.MaxNumSeqs})
	two := base + "  - name: other\n    gpu: h100-sxm\n"
	_, err = overlay("mine.yaml", []byte(two), "pools:\n  - tensor_parallel: 2\n")
	assert.ErrorContains(t, err, "mine.yaml: pools: 2 of them; expected 1")
}

func TestAnEngineThatStandsInHasItsOwnLabel(t *testing.T) {
	of := configs.EfficiencyRef{Base: "sglang"}
	assert.Equal(t, "sglang", engineLabel(&configs.Pool{Engine: "vllm-v1", Efficiency: of}))
	assert.Equal(t, "sglang", engineLabel(&configs.Pool{Engine: "sglang"}))
	assert.Equal(t, "vllm", engineLabel(&configs.Pool{Engine: "vllm-v1"}))
}
