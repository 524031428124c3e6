package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkloadCommands: each prints its result to stdout, says on stderr what a format cannot hold, and never replaces
// a file.
func TestWorkloadCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	writeInvented(t)
	status, out, errOut := try("workload", "describe", "conv.csv.gz", "--out", "described")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "conv.csv.gz · 1,000 requests · decodesim")
	assert.FileExists(t, "described/workload.svg")
	status, _, errOut = try("workload", "convert", "conv.csv.gz", "--format", "mooncake", "--to", "m.jsonl.gz")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, "note: arrivals are rounded to milliseconds, in which mooncake counts\nnote: hash_ids are of blocks "+
		"that no two prompts share: nothing says that any do\nm.jsonl.gz: 1,000 requests\n", errOut)
	status, out, errOut = try("workload", "describe", "m.jsonl.gz")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "0 % of the prompt tokens were in an earlier prompt", "ids of blocks that nobody shares")
	status, _, errOut = try("workload", "convert", "conv.csv.gz", "--format", "mooncake", "--to", "m.jsonl.gz")
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "--to m.jsonl.gz: it exists")
	status, out, errOut = try("workload", "generate", "chat-8b", "--set", "workload.requests=2", "--format", "lengths")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, "input_tokens,output_tokens\n488,451\n603,78\n", out)
	assert.Contains(t, errOut, "note: arrivals are left out")
}

// TestNothingOfATraceIsLostInSilence: neither what is not read nor what cannot be written.
func TestNothingOfATraceIsLostInSilence(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("turns.jsonl", []byte(`{"session_id": "a", "input_length": 9, "output_length": 9}`+"\n"+
		`{"session_id": "a", "delay": 3000, "input_length": 9, "output_length": 9}`+"\n"), 0o600))
	require.NoError(t, os.WriteFile("burst.csv", []byte("Timestamp,Model,Request tokens,Response tokens\n"+
		"0,GPT-4,9,9\n1,GPT-4,9,0\n2,GPT-4,9,9\n"), 0o600))
	status, out, errOut := try("workload", "describe", "turns.jsonl")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "arrivals     none: lengths alone are read from it\n")
	assert.Contains(t, out, "not read     session_id, delay\n")
	for _, c := range []struct{ want, command string }{
		{"note: not read from the file: session_id, delay\n", "convert turns.jsonl --format lengths"},
		{"note: arrivals are cut to 100 ns, in which azure counts, from the beginning of 2000 on\n" +
			"note: 1 row left out: failed or empty\nnote: not read from the file: Model\n", "convert burst.csv --format azure"},
		{"note: which class and priority a request has is left out: no format has a column for them\n",
			"generate two-classes-8b --set workload.requests=2"},
		{"note: which part of an output is reasoning is left out: no format has a column for it\n",
			"generate gpt-oss-120b --set workload.requests=2"},
	} {
		status, _, errOut := try(append([]string{"workload"}, strings.Fields(c.command)...)...)
		require.Equal(t, exitOK, status, errOut)
		assert.Equal(t, c.want, errOut, c.command)
	}
	require.NoError(t, os.WriteFile("s.yaml", []byte("model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\n"+
		"workload: {trace: {file: burst.csv}}\n"), 0o600))
	status, out, errOut = try("run", "s.yaml")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "the trace has columns that are not read: Model")
	assert.NotContains(t, out, "turns of a session")

	// Turns whose prompts go on from one another find nothing of them in a cache, where no block ids say so.
	for set, warned := range map[string]bool{
		"pools.0.max_num_seqs=4": true, "pools.0.enable_prefix_caching=false": false,
	} {
		require.NoError(t, os.WriteFile("burst.csv", []byte("arrival_s,session_id,prompt_tokens,output_tokens\n"+
			"0,a,100,5\n1,b,50,5\n2,a,200,5\n"), 0o600))
		status, out, errOut = try("run", "s.yaml", "--set", set)
		require.Equal(t, exitOK, status, errOut)
		assert.NotContains(t, out, "not read")
		assert.Equal(t, warned, strings.Contains(out, "the trace says which requests are turns of a session"))
	}
}

// TestWorkloadMistakesAreNamed: one line each, and nothing on stdout or in files.
func TestWorkloadMistakesAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	writeInvented(t)
	require.NoError(t, os.WriteFile("bad.csv", []byte("arrival_s,input_tokens,output_tokens\n0,1,1\n0,-1,1\n"), 0o600))
	require.NoError(t, os.WriteFile("once.csv", []byte("arrival_s,input_tokens,output_tokens\n0,1,1\n"), 0o600))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"workload: expected describe, fit, preset, generate or convert", nil},
		{`workload: unknown command "fitt"`, []string{"fitt", "conv.csv.gz"}},
		{"describe: missing a trace", []string{"describe"}},
		{"no.csv does not exist; expected a CSV or JSON-lines file", []string{"describe", "no.csv"}},
		{`bad.csv:3: input_tokens is "-1"`, []string{"describe", "bad.csv"}},
		{`bad.csv:3: input_tokens is "-1"`, []string{"convert", "bad.csv", "--to", "out.csv"}},
		{"--start-s is -1; accepted:", []string{"describe", "conv.csv.gz", "--start-s", "-1"}},
		{"--limit is -1; accepted:", []string{"convert", "conv.csv.gz", "--limit", "-1"}},
		{"--limit 0: expected a whole number above 0, or no --limit", []string{"describe", "conv.csv.gz", "--limit", "0"}},
		{"--limit 0: expected a whole number above 0, or no --limit", []string{"convert", "conv.csv.gz", "--limit", "0"}},
		{"--end-s 0: expected a number of seconds above 0", []string{"fit", "conv.csv.gz", "--end-s", "0"}},
		{"--format csv: expected one of decodesim, azure", []string{"convert", "conv.csv.gz", "--format", "csv"}},
		{"--to is empty; expected a file", []string{"convert", "conv.csv.gz", "--to", ""}},
		{"--to azure: it is a format, for which --format azure asks", []string{"convert", "conv.csv.gz", "--to", "azure"}},
		{"--to out.jsonl.gz: --format decodesim is CSV; expected a name that ends in .csv",
			[]string{"convert", "conv.csv.gz", "--to", "out.jsonl.gz"}},
		{"--to out.csv: --format mooncake is JSON lines; expected a name that ends in .jsonl",
			[]string{"generate", "chat-8b", "--format", "mooncake", "--to", "out.csv"}},
		{"--to x.txt: --format decodesim is CSV; expected a name that ends in .csv or .csv.gz",
			[]string{"generate", "chat-8b", "--to", "x.txt"}},
		{"--to x.gz.txt: --format mooncake is JSON lines; expected a name that ends in .jsonl, .json",
			[]string{"generate", "chat-8b", "--format", "mooncake", "--to", "x.gz.txt"}},
		{"once.csv has 1 request; expected at least 50", []string{"fit", "once.csv"}},
		{`scenario "chat-9b" not found`, []string{"fit", "conv.csv.gz", "--on", "chat-9b"}},
		{`scenario "chat-9b" not found`, []string{"generate", "chat-9b"}},
		{`preset "chta" not found`, []string{"preset", "chta"}},
	} {
		status, out, errOut := try(append([]string{"workload"}, c.args...)...)
		assert.Equal(t, exitBadInput, status, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, errOut, c.want)
	}
	assert.NoFileExists(t, "out.csv")
}
