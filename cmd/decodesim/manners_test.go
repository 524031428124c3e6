package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// TestCommandsDoWhatOneMeansByThem: in the singular, alone, with one dash, and in the words of engines.
func TestCommandsDoWhatOneMeansByThem(t *testing.T) {
	const two = "explain --model llama-3.1-8b --gpu h100-sxm --tensor-parallel 2"
	for line, same := range map[string]string{
		"list gpu": "list gpus", "list policy": "list policies", "list model": "list models", "--version": "version",
		"explain --model llama-3.1-8b --gpu H100 -tp 2":                      two,
		"explain --model meta-llama/Llama-3.1-8B-Instruct --gpu H100 --tp=2": two,
	} {
		status, out, errOut := try(strings.Fields(line)...)
		require.Equal(t, exitOK, status, errOut)
		_, want, _ := try(strings.Fields(same)...)
		assert.Equal(t, want, out, line)
	}
	status, out, _ := try("list")
	assert.Equal(t, exitOK, status)
	assert.Contains(t, out, "gpus ")
	status, _, errOut := try("validate", "missing.csv")
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "missing.csv")
	for line, says := range map[string]string{
		"run chat-8b --tp 2":       "unknown flag: --tp; --set pools.serve.tensor_parallel=… says it of the pool called",
		"run chat-8b -tp 2":        "--set pools.serve.tensor_parallel=…",
		"run chat-8b --model x":    "--set model=… says it; see decodesim run --help",
		"run chat-8b --nonsense 2": "unknown flag: --nonsense; see decodesim run --help",
		"run --rate 5":             "unknown flag: --rate; --set workload.arrivals.rate=… says it; see decodesim run --help",
		"run chat-8b --think-time-s 2": "--set workload.closed_loop.think_time_s=… or " +
			"workload.sessions.think_time_s=… says it; ",
		"run chat-8b --num-prompts 9":           "--set workload.requests=… says it; ",
		"run chat-8b --output-len 9":            "--set workload.output_tokens=… says it; ",
		"size --model x --qps 9":                "unknown flag: --qps; did you mean --rate? see decodesim size --help",
		"workload generate chat-8b --out x.csv": "unknown flag: --out; did you mean --to? ",
		"run chat-8b --speculation x":           "--speculation; say it as in " + configs.SpeculationExample,
		"run chat-8b --seeds 9":                 "unknown flag: --seeds; did you mean --seed? see decodesim run --help",
		"run chat-8b --set rate=5":              "expected it as speculation.acceptance.rate or workload.arrivals.rate or",
		"merge x":                               `unknown command "merge"; did you mean "sweep merge"?`,
		"help ran":                              `unknown command "ran"; did you mean "run"?`,
		"help sweep x":                          `unknown command "x"; valid names: merge`,
		"workload preset chat rag":              `preset: "rag" is one argument too many; expected at most one preset`,
		"version x":                             `version: "x" is one argument too many; expected none`,
	} {
		status, _, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut, says)
	}
	line := "run chat-8b --headroom off --set workload.requests=20 " + configs.SpeculationExample
	status, _, errOut = try(strings.Fields(line)...)
	assert.Equal(t, exitOK, status, errOut)
}
