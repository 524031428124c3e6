// Package configstest has scenarios for the tests of what reads and builds them.
package configstest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Base is a scenario that says no more than it must, with a value each in the file for what the tests override.
const Base = `model: llama-3.1-8b
pools:
  - name: serve
    gpu: h100-sxm
    replicas: 2
  - name: other
    gpu: a100-sxm-80gb
workload:
  arrivals: {process: poisson, rate: 2}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 10}
  requests: 10
seed: 5
`

// InDir writes chat.yaml into a new working directory.
func InDir(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("chat.yaml", []byte(text), 0o600))
}

// engineBase is a scenario whose pool says nothing but its engine; tests add lines to the pool behind it.
const engineBase = `model: llama-3.1-8b
workload:
  arrivals: {process: poisson, rate: 20}
  prompt_tokens: {distribution: lognormal, mean: 400, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 60
slo: {ttft_ms: 500}
pools:
  - gpu: h100-sxm
    engine: `

// Running returns the scenario of an engine with lines added to its pool, the first of which is line 11.
func Running(engine string, lines ...string) string {
	text := engineBase + engine + "\n"
	for _, l := range lines {
		text += "    " + l + "\n"
	}
	return text
}

// With returns Base with one line replaced; lines after it keep their numbers.
func With(old, new string) string {
	if !strings.Contains(Base, old) {
		panic("Base has no " + old)
	}
	return strings.Replace(Base, old, new, 1)
}
