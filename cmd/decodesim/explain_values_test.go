package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/soak"
)

// Each row of several values is the step that is explained alone under those values.
func TestExplainOfSeveralValuesIsTheStepOfEach(t *testing.T) {
	deployed := []string{"--model", "llama-3.1-8b", "--gpu", "h100-sxm"}
	var g explain.Grid
	require.NoError(t, json.Unmarshal([]byte(outputOf(t, append([]string{"explain", "--json", "--batch", "1,8,64",
		"--context", "4k,32k", "--weights", "bf16,fp8"}, deployed...))), &g))
	require.Len(t, g.Cells, 12)
	i := 0
	for _, weights := range []string{"bf16", "fp8"} {
		for _, tokens := range []string{"4096", "32768"} {
			for _, batch := range []string{"1", "8", "64"} {
				single := explained(t, append([]string{"--batch", batch, "--context", tokens, "--weights", weights},
					deployed...)...)
				assert.Equal(t, single.StepS, g.Cells[i].Step.StepS)
				assert.Equal(t, []int{single.Batch, single.Context}, []int{g.Cells[i].Step.Batch, g.Cells[i].Step.Context})
				assert.Equal(t, weights, g.Cells[i].Step.Weights)
				i++
			}
		}
	}
}

// A model that does not fit under one of the values is an answer, not an error; under none it is one.
func TestWhatDoesNotFitIsARowOfTheTable(t *testing.T) {
	text := explainedText(t, "--model", "llama-3.1-70b", "--gpu", "h100-sxm", "--weights", "bf16,int4", "--batch", "1,2")
	assert.Equal(t, 2, strings.Count(text, "does not fit: each GPU misses 65.9 GB"))
	assert.Contains(t, text, "llama-3.1-70b · 1 × h100-sxm · context 2,048 (default) · vllm-v1 · one decode step of each")
	assert.Contains(t, explainedText(t, "chat-70b", "--tensor-parallel", "4,8"), "chat-70b · llama-3.1-70b · batch")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--weights", "bf16,fp8"}, "does not fit: each GPU misses"},
		{[]string{"--batch", "1,,2"}, "--batch 1,,2: a value is empty"},
		{[]string{"--batch", "1,two"}, "--batch two: expected a whole number"},
		{[]string{"--batch", "4g"}, "--batch 4g: expected a whole number"},
		{[]string{"--context", "4k,9999M"}, "--context 9999M: expected a whole number"},
		{[]string{"--context", "1,0"}, "--context 0: llama-3.1-405b has a context of"},
		{[]string{"--weights", "fp8,fp9"}, `--weights fp9: "fp9" is unknown; did you mean "fp8"?`},
		{[]string{"--batch", strings.Repeat("1,", 1000) + "1"}, "more than 1000 combinations"},
	} {
		var out, errOut bytes.Buffer
		args := []string{"explain", "--model", "llama-3.1-405b", "--gpu", "h100-sxm", "--tensor-parallel"}
		parallel := "16"
		if strings.Contains(c.says, "misses") {
			parallel = "1"
		}
		status := execute(context.Background(), &out, &errOut, append(append(args, parallel), c.args...))
		assert.Equal(t, exitBadInput, status, c.args)
		assert.Contains(t, errOut.String(), c.says)
	}
}

// The plot is written with the steps, or nothing is.
func TestSeveralValuesAreDrawn(t *testing.T) {
	soak.TakesLong(t)
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"--batch", "1,8,64", "--weights", "bf16,fp8"}, {"--weights", "bf16,fp8"}, {"--context", "4k,8k"},
		{"--batch", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "--context", "1,2,3,4,5,6,7,8,9,10,11,12,13"},
	} {
		out := outputOf(t, append([]string{"explain", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--out",
			strings.Join(args, "")}, args...))
		for _, file := range []string{"steps.svg", "steps.png", "explain.json"} {
			assert.FileExists(t, filepath.Join(strings.Join(args, ""), file))
			assert.Contains(t, out, file)
		}
	}
	svg, err := os.ReadFile(filepath.Join("--batch1,8,64--weightsbf16,fp8", "steps.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(svg), "weights fp8")
}

// What a sequence has is counted at the context asked for: of windows their latest tokens.
func TestExplainCountsParametersAndTheCacheOfASequence(t *testing.T) {
	x := explained(t, "--model", "deepseek-v4-pro", "--gpu", "b300-sxm", "--tensor-parallel", "8", "--context", "1M")
	assert.EqualValues(t, 1_572_997_201_763, x.Parameters.Total)
	assert.InDelta(t, 48.85e9, float64(x.Parameters.Active), 5e6)
	assert.InDelta(t, 9856, x.KVBytes, 0.5)
	assert.InDelta(t, 18.7e6, x.StateBytes, 5e4)
	x = explained(t, "--model", "gemma-4-26b-a4b", "--gpu", "h200-sxm", "--context", "32k")
	assert.InDelta(t, 26_880, x.KVBytes, 0.5)
}

// Of windows the cache keeps the latest tokens, unless it has no groups for them: then it keeps all.
func TestExplainSaysWhatWindowsKeep(t *testing.T) {
	args := []string{"--model", "gemma-3-27b", "--gpu", "h200-sxm", "--context", "32k"}
	x := explained(t, args...)
	assert.InDelta(t, 3.12e9, x.KVBytes*32768, 1e7)
	whole := append(args, "--set", "pools.serve.hybrid_kv=false")
	assert.EqualValues(t, 507_904, explained(t, whole...).KVBytes)
	assert.Contains(t, outputOf(t, append([]string{"explain"}, args...)),
		"KV cache of 508 kB per token until its windows are full, 81.9 kB after\n")
	assert.Contains(t, outputOf(t, append([]string{"explain"}, whole...)), "KV cache of 508 kB per token\n")
}
