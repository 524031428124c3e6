package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/soak"
)

// inTrace works in a directory with a trace of a minute: 300 requests that come in rushes.
func inTrace(t *testing.T) {
	t.Chdir(t.TempDir())
	var b strings.Builder
	b.WriteString("arrival_s,input_tokens,output_tokens\n")
	for i := range 300 {
		fmt.Fprintf(&b, "%g,%d,%d\n", float64(i/20)*4+float64(i%20)/10, 200+i*7%900, 20+i*13%100)
	}
	require.NoError(t, os.WriteFile("chat.csv", []byte(b.String()), 0o600))
}

var oneLine = []string{"size", "--model", "meta-llama/Llama-3.1-8B-Instruct", "--weights", "fp8", "--gpu", "h100,l40s",
	"--trace", "chat.csv", "--rate", "30", "--slo", "ttft p95<=1s, itl p95<=50ms"}

// TestOneLineIsEnough: no study, no scenario. The answer is what a replay of the trace confirms, and as a study it is
// the same.
func TestOneLineIsEnough(t *testing.T) {
	soak.TakesLong(t)
	inTrace(t)
	status, out, errOut := try(append(oneLine, "--out", "out")...)
	require.Equal(t, exitOK, status, errOut)
	for _, want := range []string{"is the cheapest that sustains 30 requests/s", "at 2 ×, 60 requests/s: ",
		"the cheapest on each kind of GPU", "the cheapest of each topology and layout", "vllm serve",
		"Replayed before this was printed, all 300 requests at ", "ttft p95 <= 1s kept with "} {
		assert.Contains(t, out, want)
	}
	read := func(path string) (answer sizing.Sizing) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &answer))
		return answer
	}
	status, _, errOut = try("size", "out/study.yaml", "--out", "again")
	require.Equal(t, exitOK, status, errOut)
	first, again := read("out/size.json"), read("again/size.json")
	assert.Equal(t, first.Rows, again.Rows)
	assert.Equal(t, first.Best, again.Best)

	status, exported, errOut := try("export", "out/best.yaml")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, strings.TrimSpace(exported), strings.Join(first.Commands, "\n"), "a server is started one way")
	assert.Contains(t, exported, "--max-model-len ", "which the engine would refuse to work out where memory is short")

	status, replayed, errOut := try("run", "out/best.yaml", "--json")
	require.Equal(t, exitOK, status, errOut)
	var summary struct {
		SLORules []struct {
			Rule  string
			Value float64
			Met   bool
		} `json:"slo_rules"`
	}
	require.NoError(t, json.Unmarshal([]byte(replayed), &summary))
	require.Len(t, summary.SLORules, 2)
	for i, rule := range summary.SLORules {
		assert.True(t, rule.Met, rule.Rule)
		assert.InEpsilon(t, rule.Value, first.Replay.SLO[i].Value, 1e-9)
	}
}

// TestFlagsStandAboveAStudy, and leave the rest of it as it is.
func TestFlagsStandAboveAStudy(t *testing.T) {
	inStudy(t)
	status, out, errOut := try("size", "study.yaml", "--rate", "8", "--slo", "ttft p90 <= 400ms", "--gpu", "h200",
		"--json")
	require.Equal(t, exitOK, status, errOut)
	var answer sizing.Sizing
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	assert.Equal(t, "h200-sxm", answer.GPU)
	assert.InDelta(t, 8, answer.AtPerS, 0)
	assert.Equal(t, []string{"ttft p90 <= 400ms"}, answer.SLO.Rules)
	assert.Zero(t, answer.SLO.TTFTS)
	assert.Equal(t, 2, answer.GPUsMax, "the study's")
}

// TestLengthsMayStandInPlaceOfATrace: means, or laws as scenarios have them.
func TestLengthsMayStandInPlaceOfATrace(t *testing.T) {
	t.Chdir(t.TempDir())
	status, out, errOut := try("size", "--model", "llama-3.1-8b", "--gpu", "h100", "--rate", "4", "--slo", "ttft p90<=2s",
		"--prompt", "300", "--output", "{distribution: fixed, mean: 60}", "--seeds", "2", "--set", "requests=400",
		"--topology", "colocated", "--set", "search.max_num_seqs=[64]", "--out", "out", "--json")
	require.Equal(t, exitOK, status, errOut)
	var answer sizing.Sizing
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	assert.Len(t, answer.Seeds, 2)
	best, err := os.ReadFile("out/best.yaml")
	require.NoError(t, err)
	for _, law := range []string{`prompt_tokens:\n +distribution: lognormal .*\n +mean: 300\n +cv: 1\n`,
		`output_tokens:\n +distribution: fixed .*\n +mean: 60\n`} {
		assert.Regexp(t, law, string(best))
	}
}

// TestTokensAreSpeltAlikeInEveryCommand: as --context of explain takes them.
func TestTokensAreSpeltAlikeInEveryCommand(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]tokens{"500": 500, "2k": 2048, "1.5K": 1536, "1M": 1 << 20, " 4k ": 4096} {
		var n tokens
		require.NoError(t, n.Set(written), written)
		assert.InDelta(t, float64(want), float64(n), 0, written)
	}
	mean, err := law("prompt", "2k")
	require.NoError(t, err)
	assert.Equal(t, "{distribution: lognormal, mean: 2048, cv: 1}", mean)
	status, out, errOut := try("import", "vllm serve Qwen/Qwen3-8B", "--gpu", "h100", "--rate", "2", "--prompt", "2k",
		"--output", "1.5k")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "mean: 2048")
	assert.Contains(t, out, "mean: 1536")
	status, _, errOut = try("import", "vllm serve Qwen/Qwen3-8B", "--gpu", "h100", "--prompt", "2q")
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "expected a number of tokens, such as 1000, or 4k for 4,096")
	status, _, errOut = try("explain", "--model", "llama-3.1-8b", "--gpu", "h100", "--prompt", "2k")
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "did you mean --context?")
}

func TestBadLinesAreRefused(t *testing.T) {
	inTrace(t)
	line := func(changes ...string) []string {
		args := append([]string{}, oneLine...)
		for i := 0; i < len(changes); i += 2 {
			for k, arg := range args {
				if arg == changes[i] {
					args[k+1] = changes[i+1]
				}
			}
		}
		return args
	}
	for want, args := range map[string][]string{
		`--gpu h999: GPU h999 is not in the catalog`:           line("--gpu", "h100,h999"),
		`--model llama-9: model llama-9 is not in the catalog`: line("--model", "llama-9"),
		`--rate many: expected a number, got "many"`:           line("--rate", "many"),
		`--slo itl: "itl": expected a latency`:                 line("--slo", "itl"),
		`--weights fp7: "fp7" is unknown`:                      line("--weights", "fp7"),
		`--topology [apart]: "apart" is unknown`:               append(line(), "--topology", "apart"),
		`--parallel [tp]: "tp" is not a layout`:                append(line(), "--parallel", "tp"),
		`size: --model needs --gpu, --rate and --slo`:          {"size", "--model", "llama-3.1-8b"},
		`size: missing a study`:                                {"size", "--rate", "30"},
		`--prompt 0: expected a mean from 1 to 1e+06 tokens`:   append(line(), "--prompt", "0", "--output", "9"),
		`--output long: expected a mean from 1 to 1e+06`:       append(line(), "--prompt", "9", "--output", "long"),
		`--prompt 0x1p6: expected a mean from 1 to 1e+06`:      append(line(), "--prompt", "0x1p6", "--output", "9"),
		`--output 1_000: expected a mean from 1 to 1e+06`:      append(line(), "--prompt", "9", "--output", "1_000"),
		`size: --prompt and --output need one another`:         append(line(), "--prompt", "1000"),
		`--seeds 0: 0 is out of range; expected a whole`:       append(line(), "--seeds", "0"),
		`--rate 0: 0 is out of range; expected a number above`: append(line(), "--rate", "0"),
		`--budget-gpus 0: 0 is out of range`:                   append(line(), "--budget-gpus", "0"),
		`size: "b" is one argument too many`:                   {"size", "a", "b"},
		`--trace nil.csv: "`:                                   line("--trace", "nil.csv"),
		`--trace chat.csv: "/`:                                 {"size", "size-70b-64gpu", "--trace", "chat.csv"},
		`study "size-70b" not found`:                           {"size", "size-70b", "--rate", "3"},
	} {
		status, out, errOut := try(args...)
		assert.Equal(t, exitBadInput, status, want)
		assert.Empty(t, out)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.True(t, strings.HasPrefix(errOut, "decodesim: "+want), "got  %swant %s", errOut, want)
	}
}
