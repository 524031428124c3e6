package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
)

const deployment = `
model: llama-3.1-8b
pools: [{name: serve, role: serve, gpu: h100-sxm}]
`

const laws = `  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 10}
`

// triangle is a rate that rises from 2 to 6 requests/s and falls again, within 100 s.
const triangle = "[{at_s: 0, rate: 2}, {at_s: 50, rate: 6}, {at_s: 100, rate: 2}]"

// scenario returns the deployment under a workload.
func scenario(t *testing.T, workload string) *configs.Scenario {
	t.Helper()
	s, err := configs.Read("load.yaml", []byte(deployment+"workload:\n"+workload), configs.Options{})
	require.NoError(t, err)
	return s
}

func trace(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.csv")
	text := "arrival_s,input_tokens,output_tokens\n0,100,10\n1,100,10\n2,100,10\n10,100,10\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Whatever the shape of a load, it is offered at the asked mean rate, and its shape stays what it was.
func TestEveryLoadIsOfferedAtTheAskedRate(t *testing.T) {
	for _, c := range []struct {
		name, workload string
		kind           Kind
		unit           string
		rate, peak     float64
		requests       float64 // at twice the rate, of 1,000 asked for
		words          string
	}{
		{"poisson", "  arrivals: {process: poisson, rate: 4}\n  requests: 100\n" + laws,
			Steady, "requests/s", 4, 0, 1000, ""},
		{"recorded lengths", "  arrivals: {process: poisson, rate: 4}\n  lengths: {values: [[512, 128], [90, 400]]}\n",
			Steady, "requests/s", 4, 0, 1000, ""},
		{"on-off", "  arrivals: {process: on-off, on_rate: 6, off_rate: 2, on_s: 1, off_s: 1}\n  requests: 100\n" + laws,
			Steady, "requests/s", 4, 0, 1000, ""},
		{"sessions", "  arrivals: {process: poisson, rate: 4}\n  requests: 100\n" + laws +
			"  sessions: {turns: {distribution: fixed, mean: 5}}\n",
			Sessions, "sessions/s", 4, 0, 1000, ""},
		{"day", "  arrivals: {process: piecewise, points: " + triangle + "}\n  requests: 10\n" + laws,
			Day, "requests/s", 4, 6, 800, "2.00 × this day, whose peak is then 12.0 requests/s"},
		{"days", "  arrivals: {process: piecewise, rate: 8, period_s: 100, points: " + triangle +
			"}\n  requests: 10\n" + laws,
			Day, "requests/s", 8, 12, 1600, "2.00 × this day, whose peak is then 24.0 requests/s"},
		{"wave", "  arrivals: {process: sinusoid, rate: 4, amplitude: 0.5, period_s: 100}\n  requests: 10\n" + laws,
			Day, "requests/s", 4, 6, 1600, "2.00 × this day, whose peak is then 12.0 requests/s"},
		{"clients", "  arrivals: {process: gamma, rate: 4, cv: 2}\n  clients: {count: 5}\n  requests: 100\n" + laws,
			Steady, "requests/s", 4, 0, 1000, ""},
		{"day of classes", "  classes:\n    - {name: a, arrivals: {process: piecewise, points: " + triangle + "}}\n" +
			"    - {name: b, arrivals: {process: constant, rate: 1}}\n  duration_s: 100\n" + laws,
			Day, "requests/s", 5, 7, 1000, "2.00 × this day, whose peak is then 14.0 requests/s"},
		{"trace", "  trace: {file: " + trace(t) + "}\n",
			Trace, "requests/s", 0.4, 0, 4, "the trace replayed at 2.00 times its pace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scenario(t, c.workload)
			b, err := build.New(s)
			require.NoError(t, err)
			defer b.Close()
			l, err := Of(b)
			require.NoError(t, err)
			require.Equal(t, c.kind, l.Kind)
			require.Equal(t, c.unit, l.Unit())
			require.InDelta(t, c.rate, l.RatePerS, 1e-9)
			require.InDelta(t, c.peak, l.PeakPerS, 0.004, "of a mix it is that of a 1,440th of the time")
			require.Equal(t, c.words, l.Words(2*c.rate))

			before := s.YAML()
			more := *s
			l.At(&more, 2*c.rate, 1000)
			require.Equal(t, string(before), string(s.YAML()), "the scenario itself must stay as it was")
			twice, err := build.New(&more)
			require.NoError(t, err)
			defer twice.Close()
			require.InDelta(t, c.requests, twice.Requests, 1e-6)
			again, err := Of(twice)
			require.NoError(t, err)
			require.InDelta(t, 2*c.rate, again.RatePerS, 1e-9)
			require.InDelta(t, 2*c.peak, again.PeakPerS, 0.01)
		})
	}
}

// TestSessionsOfADayAreOfferedWholeDays: where sessions begin at a rate that rises and falls, the part of the day in
// which a run ends says nothing about whether they pile up.
func TestSessionsOfADayAreOfferedWholeDays(t *testing.T) {
	s := scenario(t, "  arrivals: {process: sinusoid, rate: 4, amplitude: 0.5, period_s: 100}\n  requests: 10\n"+laws+
		"  sessions: {turns: {distribution: fixed, mean: 5}}\n")
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	l, err := Of(b)
	require.NoError(t, err)
	require.Equal(t, Sessions, l.Kind)
	require.True(t, l.Varies)
	require.Zero(t, l.Unmeasured(1000))
	for requests, want := range map[int64]float64{1000: 100, 2000: 100, 2001: 200, 9000: 500} {
		at := s.Clone()
		l.At(at, 4, requests)
		require.Equal(t, want, at.Workload.DurationS, requests)
		require.Zero(t, at.Workload.Requests)
	}
	l.Last(10) // 5 answers of up to 20 s: six times as long are 600 s
	l.At(s, 4, 1000)
	require.Equal(t, 600.0, s.Workload.DurationS)
}

// TestADayOfSessionsThatEndsIsOfferedToItsEnd: the mean of a rate by points is that of all of them, however early the
// requests of the scenario end.
func TestADayOfSessionsThatEndsIsOfferedToItsEnd(t *testing.T) {
	for _, turns := range []string{"", "  sessions: {turns: {distribution: fixed, mean: 5}}\n"} {
		s := scenario(t, "  arrivals: {process: piecewise, points: [{at_s: 0, rate: 1}, {at_s: 50, rate: 8}, "+
			"{at_s: 100, rate: 2}]}\n  requests: 100\n"+laws+turns)
		b, err := build.New(s)
		require.NoError(t, err)
		defer b.Close()
		l, err := Of(b)
		require.NoError(t, err)
		l.At(s, 4, 100)
		require.Equal(t, 100.0, s.Workload.DurationS, turns)
	}
}

// A rate that was computed is written as one that was meant: the scenario of an answer is there to be read.
func TestARateIsWrittenWithoutTheNoiseOfComputingIt(t *testing.T) {
	s := scenario(t, "  arrivals: {process: poisson, rate: 4}\n  requests: 100\n"+laws)
	for rate, want := range map[float64]string{
		49.99999999999999: "50", 4.620000000000001: "4.62", 100.0 / 3: "33.3333333",
	} {
		(&Load{}).At(s, rate, 100)
		require.Contains(t, string(s.YAML()), "    rate: "+want+" ")
	}
}

func TestALoadWithoutARateIsRefused(t *testing.T) {
	b, err := build.New(scenario(t, "  closed_loop: {concurrency: 4}\n  requests: 10\n"+laws))
	require.NoError(t, err)
	defer b.Close()
	_, err = Of(b)
	require.ErrorContains(t, err, "closed loop, whose rate is a result")
}

// Only a trace or a day is measured from its first request on.
func TestTheBeginningOfAShapeIsMeasured(t *testing.T) {
	for kind, want := range map[Kind]int64{Steady: 25, Sessions: 25, Day: 0, Trace: 0} {
		require.Equal(t, want, (&Load{Kind: kind}).Unmeasured(100))
	}
}

// A replay measures every request, whatever warm-up the scenario has.
func TestAReplayLeavesNothingOut(t *testing.T) {
	s := scenario(t, strings.Replace("  trace: {file: FILE}\n  warmup_s: 5\n", "FILE", trace(t), 1))
	summary, err := Replay(t.Context(), s, "test")
	require.NoError(t, err)
	require.EqualValues(t, 4, summary.Latency.TTFT.N)
}
