package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

const pasted = `# our server
export CONC=32
docker run --gpus all -e HF_TOKEN=hf_secret -p 8000:8000 vllm/vllm-openai:latest \
  --model meta-llama/Llama-3.1-8B-Instruct --port 8000 \
  --max-num-seqs $CONC
`

// TestAnImportedScenarioRuns: from a file, through import and run.
func TestAnImportedScenarioRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("launch.sh", []byte(pasted), 0o600))
	status, out, errOut := try("import", "launch.sh", "--gpu", "h100", "--rate", "20", "--prompt", "100", "--output", "10")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, "taken: --max-num-seqs 32\nwithout influence here: --port: the HTTP server\n"+
		"note: vllm/vllm-openai:latest does not say which release of vLLM it is; the rules of 0.33, the newest that are "+
		"known, stand for it\n", errOut)
	assert.NotContains(t, out, "secret")
	assert.NotContains(t, out, "placeholder")
	assert.Contains(t, out, "    max_num_seqs: 32                 # --max-num-seqs 32\n")
	require.NoError(t, os.WriteFile("my.yaml", []byte(out), 0o600))
	status, out, errOut = try("run", "my.yaml")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "1,000 arrived: 1,000 completed")
}

func TestACommandLineMayComeInSeveralWays(t *testing.T) {
	t.Chdir(t.TempDir())
	words := []string{"vllm", "serve", "openai/gpt-oss-120b", "-tp", "2"}
	status, want, errOut := try("import", "--gpu", "h200-sxm", strings.Join(words, " "))
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, want, "# A placeholder")
	status, out, errOut := try(append([]string{"import", "--gpu", "h200-sxm", "--"}, words...)...)
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, want, out)

	in, err := os.Create("in")
	require.NoError(t, err)
	_, err = in.WriteString(strings.Join(words, " "))
	require.NoError(t, err)
	_, err = in.Seek(0, 0)
	require.NoError(t, err)
	defer func(stdin *os.File) { os.Stdin = stdin }(os.Stdin)
	os.Stdin = in
	status, out, errOut = try("import", "-", "--gpu", "h200-sxm")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, want, out)
}

// TestAPathStaysOne: without its ./ it would be the name of a model.
func TestAPathStaysOne(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine", []byte("no JSON"), 0o600))
	for _, path := range []string{"./mine", "mine"} {
		status, _, errOut := try("import", "vllm serve us/ours", "--gpu", "h100", "--model-config", path)
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut, "mine: config is not a JSON object")
	}
}

// TestAModelOfOnesOwnIsImported: from its config.json, named in the flag or in the folder that the server loads.
func TestAModelOfOnesOwnIsImported(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("ours", 0o700))
	require.NoError(t, os.WriteFile("ours/config.json",
		[]byte(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024,
		"intermediate_size": 2816, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 32000,
		"max_position_embeddings": 4096, "torch_dtype": "bfloat16", "tie_word_embeddings": false}`), 0o600))
	for _, args := range [][]string{{"vllm serve ./ours"}, {"vllm serve us/ours", "--model-config", "ours/config.json"}} {
		status, out, errOut := try(append([]string{"import", "--gpu", "l4"}, args...)...)
		require.Equal(t, exitOK, status, errOut)
		assert.NotContains(t, errOut, "does not run")
		s, err := configs.Read("x", []byte(out), configs.Options{})
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(s.Model.Config, "ours/config.json"), s.Model)
		assert.Equal(t, "ours", s.Name)
	}
}

func TestMistakesOfAnImportAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("empty.sh", nil, 0o600))
	require.NoError(t, os.Mkdir("folder", 0o700))
	const good = "vllm serve llama-3.1-8b"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"import: missing the command line of a server, in quotes, as a file, or - for standard input", nil},
		{"expected --gpu with one of a10,", []string{good}},
		{"--gpu is empty", []string{good, "--gpu", ""}},
		{"--gpu h1000: GPU h1000 is not in the catalog", []string{good, "--gpu", "h1000"}},
		{"unknown flag: --max-num-seqs; a server's flags go into quotes, or behind --",
			[]string{"vllm", "serve", "llama-3.1-8b", "--max-num-seqs", "4", "--gpu", "h100"}},
		{`--engine "vllm": expected one of vllm-v1, vllm-v0, sglang, tensorrt-llm`,
			[]string{good, "--engine", "vllm", "--gpu", "h100"}},
		{"--rate -1: expected a number from 1e-06 to 1e+06", []string{good, "--rate", "-1", "--gpu", "h100"}},
		{"--output 0: expected a number from 1 to 1e+06", []string{good, "--output", "0", "--gpu", "h100"}},
		{`--var "CONC": expected NAME=VALUE`, []string{good, "--var", "CONC", "--gpu", "h100"}},
		{"empty.sh is empty; expected the command line of a server", []string{"empty.sh", "--gpu", "h100"}},
		{`no such file "nofile.sh"; expected a file with the command line of a server`,
			[]string{"nofile.sh", "--gpu", "h100"}},
		{`no such file "./serve"; expected a file`, []string{"./serve", "--gpu", "h100"}},
		{"folder is a directory; expected a file", []string{"folder", "--gpu", "h100"}},
		{`"nothing" starts no server that is known`, []string{"nothing", "--gpu", "h100"}},
		{"--engine sglang: the command line starts vLLM", []string{good, "--engine", "sglang", "--gpu", "h100"}},
		{"-tp 3: 3 does not divide the 32 attention heads", []string{good + " -tp 3", "--gpu", "h100"}},
		{"--strict: --bogus: no flag of vllm-v1 that decodesim knows",
			[]string{good + " --bogus", "--strict", "--gpu", "h100"}},
		{"--strict: --lora-modules: the adapters by name",
			[]string{good + " --enable-lora --lora-modules a=b", "--strict", "--gpu", "h100"}},
	} {
		status, out, errOut := try(append([]string{"import"}, c.args...)...)
		assert.Equal(t, exitBadInput, status, "%v", c.args)
		assert.Empty(t, out)
		assert.Contains(t, errOut, c.want)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
}

func TestUnknownFlagsDoNotStopAnImport(t *testing.T) {
	status, out, errOut := try("import", "--gpu", "h100", "vllm serve llama-3.1-8b --max-num-sequences 4")
	require.Equal(t, exitOK, status)
	const unknownFlag = "--max-num-sequences: no flag of vllm-v1 that decodesim knows; did you mean --max-num-seqs?"
	assert.Contains(t, errOut, "unknown: "+unknownFlag)
	assert.Contains(t, out, "#   "+unknownFlag)
}

func TestArgumentsAloneNeedTheirEngine(t *testing.T) {
	status, out, errOut := try("import", "--gpu", "h100", "--engine", "sglang", "--", "--model-path", "qwen3-8b",
		"--max-running-requests", "9")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "    engine: sglang\n    max_running_requests: 9 ")
}
