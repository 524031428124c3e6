package build

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

const base = `model: llama-3.1-8b
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

// inDir writes chat.yaml into a new working directory.
func inDir(t *testing.T, text string) {
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

// running returns the scenario of an engine with lines added to its pool, the first of which is line 11.
func running(engine string, lines ...string) string {
	text := engineBase + engine + "\n"
	for _, l := range lines {
		text += "    " + l + "\n"
	}
	return text
}

// with returns base with one line replaced; lines after it keep their numbers.
func with(old, new string) string {
	if !strings.Contains(base, old) {
		panic("base has no " + old)
	}
	return strings.Replace(base, old, new, 1)
}

// refuses loads a scenario that must fail: with that message, or one that starts so if it ends in a space.
func refuses(t *testing.T, yaml, want string) {
	t.Helper()
	inDir(t, yaml)
	_, err := configs.Load("chat.yaml", configs.Options{})
	require.Error(t, err)
	if strings.HasSuffix(want, " ") {
		require.Contains(t, err.Error(), want)
		return
	}
	require.EqualError(t, err, want)
}

// plainly returns what a scenario says, without where its values came from, so that equal scenarios compare equal.
func plainly(s *configs.Scenario) map[string]any {
	values := map[string]any{}
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			values[f.Name] = v.Field(i).Interface()
		}
	}
	return values
}
