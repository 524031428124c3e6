package benchtools_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func TestAProfileHasAUnitPerMetric(t *testing.T) {
	r := result(t, "aiperf.json")
	assert.Equal(t, measuredtest.Workload(
		"closed_loop: {concurrency: 8}", "requests: 80",
		"prompt_tokens: {distribution: empirical, mean: 550, quantiles: [{p: 0, tokens: 400}, {p: 0.01, tokens: 402}, {p: "+
			"0.25, tokens: 500}, {p: 0.5, tokens: 550}, {p: 0.75, tokens: 600}, {p: 0.99, tokens: 700}, {p: 1, tokens: 702}]}",
		"output_tokens: {distribution: fixed, mean: 201}"), r.Over)
	assert.Equal(t, measured.Labels{Source: "AIPerf", Model: "llama-3.1-8b", Load: "550/201", Concurrency: 8}, r.Labels)
	assert.Equal(t, []measured.Value{
		measured.Lead(measured.TTFT, measured.Mean, 150), measured.Other(measured.TTFT, measured.P50, 140),
		measured.Other(measured.TTFT, measured.P90, 210), measured.Other(measured.TTFT, measured.P95, 230),
		measured.Other(measured.TTFT, measured.P99, 260), measured.Other(measured.TTFT, measured.Max, 270),
		measured.Lead(measured.TPOT, measured.Mean, 15), measured.Other(measured.TPOT, measured.P50, 15.1),
		measured.Other(measured.TPOT, measured.P99, 15.9), measured.Other(measured.TPOT, measured.Max, 16),
		measured.Lead(measured.E2E, measured.Mean, 3150), measured.Other(measured.E2E, measured.P50, 3140),
		measured.Other(measured.E2E, measured.P90, 3300), measured.Other(measured.E2E, measured.P99, 3400),
		measured.Other(measured.E2E, measured.Max, 3410),
		measured.Lead(measured.OutputPerS, measured.Mean, 502), measured.Lead(measured.RequestsPerS, measured.Mean, 2.5),
	}, r.Rows[0].Values)

	r = result(t, "genai_perf.json")
	assert.Equal(t, measuredtest.Workload(
		"arrivals: {process: constant, rate: 2}", "requests: 60",
		"prompt_tokens: {distribution: fixed, mean: 256}", "output_tokens: {distribution: fixed, mean: 101}"), r.Over)
	assert.Equal(t, "gpt-of-ours", r.Labels.Model)
	assert.Contains(t, r.Rows[0].Values, measured.Lead(measured.E2E, measured.Mean, 1600), "nanoseconds")
}

// TestAProfileListsItsPhases: AIPerf 0.13 does; the file is its own, of 30 requests, without the settings of its files.
func TestAProfileListsItsPhases(t *testing.T) {
	const phase = `"type": "poisson"`
	r := result(t, "aiperf_phases.json")
	assert.Contains(t, r.Over, "arrivals: {process: poisson, rate: 0.8}")
	assert.Contains(t, r.Over, "requests: 30")
	assert.Equal(t, "m", r.Labels.Model)
	assert.Empty(t, r.Skip)
	r = result(t, "aiperf_phases.json", phase, `"type": "concurrency"`)
	assert.Contains(t, r.Over, "closed_loop: {concurrency: 16}")
	r = result(t, "aiperf_phases.json", phase, `"smoothness": 4, "type": "gamma"`)
	assert.Contains(t, r.Over, "arrivals: {process: gamma, rate: 0.8, cv: 0.5}")
	r = result(t, "aiperf_phases.json", phase, `"rate_ramp": {"duration": 30}, "type": "constant"`)
	assert.Equal(t, "the load ramps up, which no workload does", r.Skip)
	assert.True(t, r.Unlike)
	r = result(t, "aiperf_phases.json", phase, `"type": "user_centric"`)
	assert.Equal(t, "its phase is of type user_centric, which no workload is like", r.Skip)
	_, err := measuredtest.ReadResult(t, "aiperf_phases.json", `"rate": 0.8`, `"rate": -1`)
	assert.EqualError(t, err, "data:1: input_config.phases[0].rate: -1; expected requests/s above 0")
}

func TestAProfileThatDoesNotSayEnoughIsRefused(t *testing.T) {
	for _, c := range []struct{ old, new, message string }{
		{`"concurrency": 8, `, ``,
			`data:1: input_config.concurrency: missing; expected concurrency or request_rate in the settings of the run`},
		{`"unit": "ms", "avg": 150.0`, `"unit": "fortnights", "avg": 150.0`,
			`data:1: time_to_first_token.unit: "fortnights"; expected ms, s, us or ns`},
		{`"avg": 550.0, `, ``, `data:1: input_sequence_length.avg: missing; expected a mean number of tokens above 0`},
		{`"avg": 150.0`, `"avg": -150`, `data:1: time_to_first_token.avg: -150; expected a number of at least 0, or null`},
		{`"avg": 150.0`, `"avg": "slow"`, `data:1: time_to_first_token.avg: "slow"; expected a number, or null`},
	} {
		_, err := measuredtest.ReadResult(t, "aiperf.json", c.old, c.new)
		assert.EqualError(t, err, c.message)
	}
	r := result(t, "aiperf.json", `"concurrency": 8, `, `"fixed_schedule": true, `)
	assert.Equal(t, "it replays a trace, which the data do not hold", r.Skip)
}
