package main

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// aServer is one of a dataset at a rate, of which TPOT and TTFT are as given.
func aServer(tpotMS, ttftMS float64) measured.Run {
	values := []measured.Value{measured.Lead(measured.TPOT, measured.Mean, tpotMS),
		measured.Lead(measured.TTFT, measured.Mean, ttftMS)}
	for i := range values {
		values[i].Unit.Name = "ms"
	}
	return measured.Run{ID: "server", Labels: measured.Labels{Load: "dataset/200", Engine: "vllm", GPU: "h100-sxm",
		Model: "llama-3.1-8b", Precision: "bf16"},
		Scenario: "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n  arrivals: {process: poisson, rate: 40}\n" +
			"  requests: 12000\n  prompt_tokens: {distribution: fixed, mean: 500}\n" +
			"  output_tokens: {distribution: fixed, mean: 200}\n",
		Rows: []measured.Row{{ID: "server", Request: -1, Values: values}}}
}

// TestAServerIsAsQuickWithItsRequestsInFlight: of a server that was as quick as the simulated one, the clients that
// Little's law says make a closed loop as quick as the rate does.
func TestAServerIsAsQuickWithItsRequestsInFlight(t *testing.T) {
	run := aServer(10, 50)
	at, err := validation.Predict(context.Background(), []measured.Run{run}, nil, nil)
	require.NoError(t, err)
	require.Len(t, at, 2)
	files := []*measured.File{{Runs: []measured.Run{aServer(at[0].Predicted, at[1].Predicted)}}}
	s, err := servers(context.Background(), builtIn(t), files)
	require.NoError(t, err)
	require.Len(t, s, 1)
	assert.InDelta(t, 0, s[0].AtRate, 1e-9, "the same simulation")
	assert.InDelta(t, 0, s[0].InFlight, 5)
	assert.InDelta(t, 0, s[0].Rate, 5)
	assert.Greater(t, s[0].Bears, 10.0)
	assert.Less(t, s[0].Quicker, -7.0)
	assert.Greater(t, s[0].Slower, 7.0)
	assert.Less(t, s[0].Margin, 15.0)
	assert.Equal(t, "llama-3.1-8b in bf16 · h100-sxm · vllm, 40 requests/s a replica, "+
		strconv.FormatFloat(at[0].Predicted, 'g', 3, 64)+" ms", s[0].Name)
}

// TestServersThatAreComparedByTheirRequestsInFlight have prompts of a dataset, a rate, and a TPOT and a TTFT.
func TestServersThatAreComparedByTheirRequestsInFlight(t *testing.T) {
	for name, change := range map[string]func(*measured.Run){
		"a stated length": func(r *measured.Run) { r.Labels.Load = "500/200" },
		"quality C":       func(r *measured.Run) { r.Labels.Quality = "C" },
		"not modelled":    func(r *measured.Run) { r.Skip = "tp is not stated" },
		"a list": func(r *measured.Run) {
			r.Scenario = strings.Replace(r.Scenario, "arrivals: {process: poisson, rate: 40}",
				"closed_loop: {concurrency: 8}", 1)
		},
		"no TTFT": func(r *measured.Run) { r.Rows[0].Values = r.Rows[0].Values[:1] },
	} {
		run := aServer(10, 50)
		change(&run)
		s, err := servers(context.Background(), builtIn(t), []*measured.File{{Runs: []measured.Run{run}}})
		require.NoError(t, err, name)
		assert.Empty(t, s, name)
	}
}
