package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
)

// TestMistakesAreNamed makes the mistakes that users make most. Each ends before anything is simulated or written, with
// one line that says where, what, and what would do.
func TestMistakesAreNamed(t *testing.T) {
	big := strings.Replace(small, "llama-3.1-8b", "llama-3.1-70b", 1)
	for name, mistake := range map[string]struct {
		text, want string
		args       []string
	}{
		"a key misspelt": {
			strings.Replace(small, "replicas", "replica", 1),
			`chat.yaml:3:25: pools[0].replica: unknown key; did you mean "replicas"?`, nil},
		"a model misspelt": {
			strings.Replace(small, "3.1-8b", "3.1-8n", 1),
			`chat.yaml:2:1: model: model "llama-3.1-8n" not found; did you mean "llama-3.1-8b"?`, nil},
		"a GPU misspelt": {
			small, `--set pools.serve.gpu=h100x: gpu "h100x" not found; did you mean "h100"?`,
			[]string{"--set", "pools.serve.gpu=h100x"}},
		"a model that does not fit": {
			big, `chat.yaml:3:9: pools[0]: llama-3.1-70b does not fit on 1 × h100-sxm: each GPU needs 144.1 GB (weights 141.1, activations 1.7, context 1.3) ` +
				`and gives 78.7 GB of its 85.5; it misses by 65.4 GB; tensor_parallel 2 would do`, nil},
		"a split that does not divide": {
			small, `--set pools.serve.tensor_parallel=3: 3 does not divide the 32 attention heads of llama-3.1-8b; 1, 2, 4, 8, 16, 32 would do`,
			[]string{"--set", "pools.serve.tensor_parallel=3"}},
		"a context that does not fit": {
			strings.Replace(small, "max_num_seqs: 16", "num_gpu_blocks: 101, max_model_len: 1601", 1),
			`chat.yaml:3:59: pools[0].max_model_len: 1601 is more than the KV cache holds of one sequence, 1600 tokens in 100 blocks; accepted: 2 to 1600`, nil},
		"a context beyond the model": {
			small, `--set pools.serve.max_model_len=200000: 200000 is longer than the context of llama-3.1-8b, 131072 tokens; accepted: 2 to 131072`,
			[]string{"--set", "pools.serve.max_model_len=200000"}},
		"a trace that is not there": {
			small[:strings.Index(small, "  arrivals")] + "  trace: {file: no.csv}\n", `chat.yaml:5:11: workload.trace.file: "`,
			nil},
		"no end": {
			strings.Replace(small, "  requests: 400\n", "", 1),
			`chat.yaml:4:1: workload: has no end; expected requests, duration_s or both`, nil},
		"prefill alone": {
			strings.Replace(small, "max_num_seqs: 16}", "max_num_seqs: 16}, {name: b, role: prefill, gpu: l4}", 1),
			`chat.yaml:3:67: pools[1].role: "prefill" without a pool of role decode; expected one of each, or "serve"`, nil},
		"a split of nothing": {
			small, `--set split=1P3D: "1P3D", but 0 pools have the role prefill; expected one`, []string{"--set", "split=1P3D"}},
		"experts of a dense model": {
			small, `--set pools.serve.expert_parallel=true: true, but llama-3.1-8b has no experts; accepted: false`,
			[]string{"--set", "pools.serve.expert_parallel=true"}},
		"data parallel": {
			small, `--set pools.serve.data_parallel=2: 2, but llama-3.1-8b has no experts that ranks would share; accepted: 1, with 2 times the replicas`,
			[]string{"--set", "pools.serve.data_parallel=2"}},
		"a number that is none": {
			small, `--set workload.arrivals.rate=fast: `, []string{"--set", "workload.arrivals.rate=fast"}},
		"a step of no tokens": {
			small[:strings.Index(small, ", max_num_seqs: 16")] + small[strings.Index(small,
				", max_num_seqs: 16")+len(", max_num_seqs: 16"):],
			`--set pools.serve.max_num_batched_tokens=0: 0 is out of range`,
			[]string{"--set", "pools.serve.max_num_batched_tokens=0"}},
		"a cache of no block but the engine's": {
			small, `--set pools.serve.num_gpu_blocks=1: the KV cache has 1 blocks of 16 tokens, with one that the engine keeps back; ` +
				`expected room for a sequence of 2 tokens: more blocks`, []string{"--set", "pools.serve.num_gpu_blocks=1"}},
		"an output directory without a name": {small, `--out is empty; expected a directory`, []string{"--out", ""}},
		"a trace without a name":             {small, `--trace is empty; expected a file`, []string{"--trace", ""}},
		"a flag misspelt":                    {small, `unknown flag: --ouput; see decodesim run --help`, []string{"--ouput", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			inDir(t, mistake.text)
			status, out, errOut := try(append([]string{"run", "chat.yaml", "--out", "out"}, mistake.args...)...)
			assert.Equal(t, exitBadInput, status)
			assert.Empty(t, out)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
			assert.Truef(t, strings.HasPrefix(errOut, "decodesim: "+mistake.want), "got  %swant decodesim: %s", errOut,
				mistake.want)
			assert.Equal(t, []string{"chat.yaml"}, entries(t, "."))
		})
	}
}

func TestCommandsSayWhatTheyLack(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"rn chat-70b":                   `unknown command "rn"; did you mean "run"?`,
		"chat-70b":                      `unknown command "chat-70b"; did you mean "run chat-70b"?`,
		"mine.yaml --seed 2":            `unknown command "mine.yaml"; did you mean "run mine.yaml"?`,
		"size-70b-64gpu":                `unknown command "size-70b-64gpu"; did you mean "size size-70b-64gpu"?`,
		"run":                           `run: missing a scenario: a name or a path to a YAML file; see decodesim run --help`,
		"run chat-8b more":              `run: "more" is one argument too many; expected only a scenario: a name or a path to a YAML file`,
		"run chat-80b":                  `scenario "chat-80b" not found; did you mean "chat-8b"?`,
		"run absent.yaml":               `scenario file "absent.yaml" does not exist`,
		"list gpux":                     `list: unknown kind "gpux"; did you mean "gpus"?`,
		"list cars":                     `list: unknown kind "cars"; valid kinds: models, gpus, engines, efficiencies, acceptance, policies, scenarios, studies`,
		"run /dev/zero":                 `scenario file "/dev/zero" cannot be read: "/dev/zero" is a device; expected a regular file`,
		"size .":                        `study "." is a directory; valid names: "size-70b-64gpu"`,
		"run ./":                        `scenario file "./" is a directory; expected a YAML file`,
		"sweep chat-8b --workers two":   `--workers "two": expected a whole number; see decodesim sweep --help`,
		"worker nats://x --idle two":    `--idle "two": expected a time such as 90s or 5m; see decodesim worker --help`,
		"validate chat-8b --speed fast": `--speed "fast": expected a number; see decodesim validate --help`,
		"run chat-8b --seed -1":         `--seed "-1": expected a whole number from 0 to 18446744073709551615; see decodesim run --help`,
		"run chat-8b --json=maybe":      `--json "maybe": expected true or false; see decodesim run --help`,
		"explain chat-8b --batch ten": "--batch ten: expected a whole number of at most 2147483647, " +
			"such as 64, or 4k for 4,096",
		"show chat-7b": `nothing built in is called "chat-7b"; did you mean "chat-70b"?`,
	} {
		status, out, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out, line)
		assert.Equal(t, "decodesim: "+want+"\n", errOut)
	}
}

func TestResultsAreNotWrittenOverOthers(t *testing.T) {
	inDir(t, small)
	status, _, errOut := try("run", "chat.yaml", "--out", "out")
	require.Equal(t, exitOK, status, errOut)
	before := entries(t, "out")
	status, out, errOut := try("run", "chat.yaml", "--out", "out")
	assert.Equal(t, exitBadInput, status)
	assert.Empty(t, out)
	assert.Equal(t, `decodesim: output "out" already holds a run (summary.json); name another directory or remove it`+"\n",
		errOut)
	assert.Equal(t, before, entries(t, "out"))
	status, _, errOut = try("run", "chat.yaml", "--out", "chat.yaml")
	assert.Equal(t, exitBadInput, status)
	assert.Equal(t, `decodesim: output "chat.yaml" is a file, want a directory`+"\n", errOut)
}

func TestABadTraceIsRefusedBeforeTheRun(t *testing.T) {
	inDir(t, small[:strings.Index(small, "  arrivals")]+"  trace: {file: t.csv}\n")
	require.NoError(t, os.WriteFile("t.csv", []byte("arrival_s,input_tokens,output_tokens\n0,5,9\n1,-4,1\n"), 0o600))
	status, out, errOut := try("run", "chat.yaml", "--out", "out")
	assert.Equal(t, exitBadInput, status)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "t.csv:3: ")
	assert.NoDirExists(t, "out")
}

// TestATraceThatBreaksFailsTheRun changes the file between its check and its replay.
func TestATraceThatBreaksFailsTheRun(t *testing.T) {
	inDir(t, small[:strings.Index(small, "  arrivals")]+"  trace: {file: t.csv}\n")
	rows := "arrival_s,input_tokens,output_tokens\n" + strings.Repeat("0,5,9\n", 100_000)
	require.NoError(t, os.WriteFile("t.csv", []byte(rows), 0o600))
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, os.WriteFile("t.csv", []byte(rows+"0,five,9\n"), 0o600))
	_, err = run.Simulate(context.Background(), b, run.Options{})
	require.ErrorContains(t, err, "t.csv:100002: ")
	assert.ErrorAs(t, err, new(run.Failure))
}

func TestARunWithAFileInItsWayIsRefused(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.MkdirAll(filepath.Join("out", "timeline.svg", "x"), 0o700))
	status, out, errOut := try("run", "chat.yaml", "--out", "out")
	assert.Equal(t, exitBadInput, status)
	assert.Empty(t, out)
	assert.Contains(t, errOut, `decodesim: output "out" already holds a run (timeline.svg)`)
	assert.Equal(t, []string{"timeline.svg"}, entries(t, "out"), "what was there before")
}

func TestTheShellIsOfferedNames(t *testing.T) {
	for line, want := range map[string]string{
		"run ": "chat-70b\n", "explain --gpu ": "h100-sxm\n", "explain --model ": "llama-3.1-8b\n",
		"explain --engine ":  "textbook\n",
		"explain --weights ": "nvfp4\n", "show ": "l40s\n",
	} {
		flag, _, _ := strings.Cut(line, " ")
		status, out, _ := try(append([]string{"__complete", flag},
			strings.Split(strings.TrimPrefix(line, flag+" "), " ")...)...)
		assert.Equal(t, exitOK, status)
		assert.Contains(t, out, want, line)
	}
}
