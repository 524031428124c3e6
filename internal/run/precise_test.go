package run

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim/metrics"
)

const precise = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 32}]
workload:
  arrivals: {process: poisson, rate: 10}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 50, cv: 1}
  requests: 1000
`

// lengthened is what became of a scenario with a precision.
type lengthened struct {
	scenario *configs.Scenario
	summary  *metrics.Summary
	runs     int
}

// precisely runs a scenario to its precision.
func precisely(t *testing.T, set ...string) (x lengthened, err error) {
	t.Helper()
	s, err := configs.Read("precise.yaml", []byte(precise), configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer func() { b.Close() }()
	b, r, err := Precisely(t.Context(), b, func(b *build.Built) (*Result, error) {
		x.runs++
		return Simulate(t.Context(), b, Options{})
	})
	if err == nil {
		x.scenario, x.summary = b.Scenario, r.Summary
	}
	return x, err
}

// A run is lengthened until it is as precise as was asked for, and its resolved scenario gives the same run at once.
func TestARunIsLengthenedToAPrecision(t *testing.T) {
	l, err := precisely(t, "workload.precision=0.05")
	require.NoError(t, err)
	s, x := l.scenario, l.summary.Steady
	require.Greater(t, l.runs, 1)
	require.LessOrEqual(t, *x.Precision, 0.05)
	require.Greater(t, s.Workload.Requests, int64(1000))
	half := (x.TTFT.P99.High - x.TTFT.P99.Low) / 2 / l.summary.Latency.TTFT.P99
	require.LessOrEqual(t, half, 0.05)

	again, err := configs.Read("again.yaml", s.YAML(), configs.Options{})
	require.NoError(t, err)
	b, err := build.New(again)
	require.NoError(t, err)
	defer func() { b.Close() }()
	b, r, err := Precisely(t.Context(), b, func(b *build.Built) (*Result, error) {
		return Simulate(t.Context(), b, Options{})
	})
	require.NoError(t, err)
	require.Equal(t, s.Workload.Requests, b.Scenario.Workload.Requests)
	require.Equal(t, l.summary.Latency, r.Summary.Latency)
}

// Without a precision there is one run; one that never settles is given up and says so first.
func TestAPrecisionThatIsNeverReachedIsSaid(t *testing.T) {
	l, err := precisely(t)
	require.NoError(t, err)
	require.Equal(t, 1, l.runs)
	require.Zero(t, l.summary.Steady.PrecisionAsked)

	l, err = precisely(t, "workload.precision=0.05", "workload.arrivals.rate=150")
	require.NoError(t, err)
	require.LessOrEqual(t, l.runs, unsettledMax+2)
	require.Contains(t, l.summary.Steady.DependsOnLength, "the requests under way grow")
	require.Contains(t, l.summary.Warnings[0], "the asked precision of 5.00 % is not reached")
}

// A precision is refused where there is no steady state to be precise about.
func TestAPrecisionNeedsASteadyState(t *testing.T) {
	for _, c := range []struct{ set, said string }{
		{"workload.arrivals.process=sinusoid workload.arrivals.amplitude=0.5 workload.arrivals.period_s=20",
			"the rate of arrivals rises and falls"},
		{"output.intervals=false", "intervals, and output.intervals is false; expected true, or null"},
	} {
		_, err := precisely(t, append(strings.Fields(c.set), "workload.precision=0.05")...)
		require.ErrorContains(t, err, "workload.precision=0.05: 0.05 is of")
		require.ErrorContains(t, err, c.said)
	}
}
