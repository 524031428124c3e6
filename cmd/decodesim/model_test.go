package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/soak"
)

func TestModelCheckCountsAModel(t *testing.T) {
	var x describe.ModelCheck
	require.NoError(t, json.Unmarshal([]byte(outputOf(t, []string{"model", "check", "deepseek-ai/DeepSeek-V4-Pro",
		"--json"})), &x))
	assert.EqualValues(t, 1_572_997_201_763, x.Parameters.Total)
	assert.Equal(t, 1048576, x.Caches[3].Context)
	assert.InDelta(t, 9.6246, x.Caches[3].Bytes/(1<<30), 0.00005, "GiB, as vLLM publishes them")
	sum := int64(0)
	for _, p := range x.Parts {
		sum += p.Parameters
	}
	assert.Equal(t, x.Parameters.Total, sum)
}

// TestModelCheckRefusesWhatAScenarioWould: with the file's name, and what would do.
func TestModelCheckRefusesWhatAScenarioWould(t *testing.T) {
	t.Chdir(t.TempDir())
	const config = `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,` +
		`"intermediate_size":128,"vocab_size":1000,"max_position_embeddings":2048,"mystery_dim":3}`
	require.NoError(t, os.WriteFile("new.json", []byte(config), 0o600))
	for _, c := range []struct {
		args    []string
		says    string
		counted string // on standard output
	}{
		{[]string{"new.json"}, "new.json: new: mystery_dim is 3 (unknown): this field is not understood",
			"Not read, unknown: mystery_dim 3."},
		{[]string{"new.json", "--json"}, "mystery_dim", `"refused": "mystery_dim is 3 (unknown)`},
		{[]string{"new.json", "--ignore", "mystery_dim"}, "expected published: {total: …} beside it", ""},
		{[]string{"new.json", "--ignore", "mystery_dim", "--published", "1e9"}, "from the published 1e+09", ""},
		{[]string{"new.json", "--published", "1"}, "mystery_dim", "refused: this counts the file without the fields"},
		{[]string{"new.json", "--published", "1e9/2e9"}, `--published is "1e9/2e9"; expected numbers`, ""},
		{[]string{"none.json"}, "does not exist", ""},
		{[]string{"llama-9"}, "did you mean", ""},
		{nil, "missing a model", ""},
	} {
		var out, errOut bytes.Buffer
		status := execute(context.Background(), &out, &errOut, append([]string{"model", "check"}, c.args...))
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut.String(), c.says)
		assert.Contains(t, out.String(), c.counted)
		assert.Equal(t, c.counted == "", out.Len() == 0)
	}
}

// TestWhatIsLeftOutIsNamedInEveryOutput: of a model's file, by every command that goes by it.
func TestWhatIsLeftOutIsNamedInEveryOutput(t *testing.T) {
	soak.TakesLong(t)
	t.Chdir(t.TempDir())
	const config = `{"model_type":"llama","hidden_size":1024,"num_hidden_layers":4,"num_attention_heads":8,` +
		`"intermediate_size":2048,"vocab_size":1000,"max_position_embeddings":2048,"mystery_dim":3}`
	const scenario = `model: {config: new.json, ignore: [mystery_dim], published: {total: 44e6}}
pools: [{gpu: h100-sxm}]
workload: {arrivals: {process: poisson, rate: 1}, prompt_tokens: {distribution: fixed, mean: 64},
  output_tokens: {distribution: fixed, mean: 16}, requests: 20}
slo: {ttft_ms: 1000}
`
	const study = "scenario: own.yaml\nbudget: {gpus: 1}\nrate: {min: 1, max: 2}\n"
	for name, text := range map[string]string{"new.json": config, "own.yaml": scenario, "study.yaml": study} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for _, args := range [][]string{{"run", "own.yaml"}, {"run", "own.yaml", "--json"}, {"explain", "own.yaml"},
		{"explain", "own.yaml", "--batch", "1,2"}, {"export", "own.yaml"}, {"compare", "own.yaml", "chat-8b"},
		{"size", "study.yaml"}, {"sweep", "own.yaml", "--over", "pools.serve.replicas=1,2", "--out", "swept"},
		{"sweep", "own.yaml", "--over", "pools.serve.replicas=1,2", "--out", "again", "--json"},
		{"sensitivity", "own.yaml", "--json"}, {"model", "check", "new.json", "--ignore", "mystery_dim", "--published",
			"44e6"}} {
		assert.Contains(t, outputOf(t, args), "left out of its config.json, as the scenario says: mystery_dim", args)
	}
}
