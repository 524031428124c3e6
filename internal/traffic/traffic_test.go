package traffic

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/traces"
)

// of records an open loop.
func of(t *testing.T, a arrivals.Spec, prompt, output lengths.Spec, n int64) *Summary {
	open, err := workloads.NewOpenLoop(workloads.OpenLoop{Arrivals: a, Requests: n,
		Mix: requests.Mix{Prompt: prompt, Output: output}}, 3)
	require.NoError(t, err)
	r := NewRecord(true, nil)
	r.Read(open, 0)
	return r.Summary("loop")
}

// TestASummaryOfKnownProcesses: burstiness and lengths are those of the laws that a stream was drawn from.
func TestASummaryOfKnownProcesses(t *testing.T) {
	const n = 60_000
	lognormal := lengths.Spec{Distribution: "lognormal", Mean: 1000, CV: 1}
	poisson := of(t, arrivals.Spec{Process: "poisson", Rate: 20}, lognormal, lengths.Fixed(7), n)
	require.InDelta(t, 20, float64(poisson.RatePerS), 0.4)
	require.InDelta(t, 1, float64(poisson.GapCV), 0.03)
	for _, d := range poisson.Dispersion {
		require.InDelta(t, 1, float64(d.Index), 0.5, "the error of a variance of %d windows", n/20/d.WindowS)
	}
	require.InDelta(t, 1000, poisson.Prompt.Mean, 20)
	require.InDelta(t, 1000/math.Sqrt(2), float64(poisson.Prompt.P50), 15, "e^µ = mean/√(1 + cv²)")
	require.Equal(t, Lengths{Mean: 7, Min: 7, P10: 7, P50: 7, P90: 7, P95: 7, P99: 7, Max: 7}, poisson.Output)
	require.True(t, math.IsNaN(float64(poisson.Correlation)), "outputs do not vary")
	gamma := of(t, arrivals.Spec{Process: "gamma", Rate: 20, CV: 3}, lognormal, lognormal, n)
	require.InDelta(t, 3, float64(gamma.GapCV), 0.1)
	require.InDelta(t, 9, float64(gamma.Dispersion[1].Index), 2, "of a renewal process it tends to cv²")
	require.InDelta(t, 0, float64(gamma.Correlation), 0.02)
}

// TestBurstsAreFoundAgain: an on-off process is fitted by one with its dispersion, and chosen.
func TestBurstsAreFoundAgain(t *testing.T) {
	s := of(t, arrivals.Spec{Process: "on-off", Rate: 10, OnRate: 30, OffRate: 2, OnS: 12, OffS: 40},
		lengths.Fixed(5), lengths.Fixed(5), 60_000)
	laws, err := gapLaws(s, 1)
	require.NoError(t, err)
	best := laws[0]
	for _, l := range laws {
		if l.Distance < best.Distance {
			best = l
		}
	}
	require.Equal(t, "on-off", best.Process)
	require.Less(t, best.Distance, 0.2)
}

// TestSharingIsWhatAnEndlessCacheSpares: of three prompts, the second repeats two blocks and the third one.
func TestSharingIsWhatAnEndlessCacheSpares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(
		`{"timestamp": 0, "input_length": 1536, "output_length": 5, "hash_ids": [1, 2, 3]}
{"timestamp": 1, "input_length": 1536, "output_length": 5, "hash_ids": [1, 2, 4]}
{"timestamp": 2, "input_length": 1024, "output_length": 5, "hash_ids": [1, 5]}
`), 0o600))
	s, err := Describe(path, traces.Options{})
	require.NoError(t, err)
	require.InDelta(t, float64(1024+512)/(1536+1536+1024), float64(s.SharedShare), 1e-12)
	_, err = NewFit(s, 1)
	require.ErrorContains(t, err, "expected at least 50")
}

// TestAFitIsTheLike: the block of a fit loads, and the requests of it have the rate, the burstiness and the lengths of
// what it was fitted to.
func TestAFitIsTheLike(t *testing.T) {
	s := of(t, arrivals.Spec{Process: "gamma", Rate: 6, CV: 2},
		lengths.Spec{Distribution: "lognormal", Mean: 900, CV: 1.1},
		lengths.Spec{Distribution: "uniform", Mean: 60, CV: 0.5}, 4_000)
	f, err := NewFit(s, 1)
	require.NoError(t, err)
	scenario, err := configs.Read("fit", []byte("model: llama-3.1-8b\npools:\n  - {gpu: h100-sxm}\n"+f.Workload),
		configs.Options{})
	require.NoError(t, err, f.Workload)
	again, err := f.sample(t.Context(), scenario)
	require.NoError(t, err)
	require.Equal(t, s.Requests, again.Requests)
	require.InEpsilon(t, float64(s.RatePerS), float64(again.RatePerS), 0.1)
	require.InEpsilon(t, float64(s.GapCV), float64(again.GapCV), 0.15)
	require.InEpsilon(t, s.Prompt.P50, again.Prompt.P50, 0.08)
	require.InEpsilon(t, s.Output.Mean, again.Output.Mean, 0.05)
	require.Equal(t, "lognormal", chosen(f.Prompt).Distribution, "a law of two parameters does")
	require.Equal(t, "empirical", chosen(f.Output).Distribution, "none of two parameters is flat")
}

// TestAFitSaysWhatBusiestSecondItLacks: one second of forty requests among others of one or two is no part of any law
// that was tried, and its fit says so; that of arrivals of a law does not.
func TestAFitSaysWhatBusiestSecondItLacks(t *testing.T) {
	notes := func(together int) string {
		r := NewRecord(true, nil)
		for i := range 1_000 {
			n := 1
			if i == 500 {
				n = together
			}
			for range n {
				r.Add(&sim.Request{Arrival: sim.Time(0).Add(sim.Duration(i) * sim.Second / 2), Prompt: 100, Output: 10})
			}
		}
		f, err := NewFit(r.Summary("t"), 1)
		require.NoError(t, err)
		scenario, err := configs.Load("chat-8b", configs.Options{})
		require.NoError(t, err)
		f.Fitted, err = f.sample(t.Context(), scenario)
		require.NoError(t, err)
		return strings.Join(f.notes(), " ")
	}
	require.Contains(t, notes(40), "Not kept: the busiest second of the trace has 41 requests, that of the fit ")
	require.NotContains(t, notes(1), "busiest second")
}

// TestAFitSaysWhichWindowsItLacks: by more than as many windows of one process differ by chance.
func TestAFitSaysWhichWindowsItLacks(t *testing.T) {
	of := func(durationS float64, in10, in60 stats.Number) *Summary {
		return &Summary{DurationS: stats.Number(durationS), Dispersion: []Dispersion{{1, 1}, {10, in10}, {60, in60}}}
	}
	calmer := func(trace, fit *Summary) []string { return (&Fit{Trace: trace, Fitted: fit}).calmer() }
	require.Equal(t, []string{"7.70 beside 4.23 over 10 s", "29.9 beside 9.65 over 60 s"},
		calmer(of(1800, 7.7, 29.9), of(1800, 4.23, 9.65)))
	require.Equal(t, []string{"1.00 beside 4.00 over 60 s"}, calmer(of(1800, 3, 1), of(1800, 3, 4)))
	require.Empty(t, calmer(of(1800, 3, 4), of(1800, 3, 2)), "thirty windows may differ so")
	require.Equal(t, []string{"4.00 beside 2.00 over 60 s"}, calmer(of(18_000, 3, 4), of(18_000, 3, 2)))
	unknown := stats.Number(math.NaN())
	require.Empty(t, calmer(of(500, 3, unknown), of(500, 3, 4)))
}

// TestWhatWaitsForAnswersIsGeneratedByARun: a closed loop of clients is written as it went, and read back as a trace.
func TestWhatWaitsForAnswersIsGeneratedByARun(t *testing.T) {
	for _, workload := range []string{"closed_loop: {concurrency: 4}, requests: 40",
		"arrivals: {process: poisson, rate: 2}, requests: 40"} {
		text := fmt.Sprintf("model: llama-3.1-8b\npools:\n  - {gpu: h100-sxm}\nworkload: {%s, "+
			"prompt_tokens: {distribution: fixed, mean: 600}, output_tokens: {distribution: fixed, mean: 20}}\n", workload)
		s, err := configs.Read("t", []byte(text), configs.Options{})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		var out bytes.Buffer
		done, err := Generate(context.Background(), &out, b, "decodesim", nil)
		require.NoError(t, err)
		require.EqualValues(t, 40, done.Requests)
		require.Equal(t, 41, strings.Count(out.String(), "\n"))
		_, err = traces.New("out", bytes.NewReader(out.Bytes()), traces.Options{})
		require.NoError(t, err)
	}
}

// TestEvenArrivalsHaveNoDispersion: as many requests in each window differ by nothing, to the last bit.
func TestEvenArrivalsHaveNoDispersion(t *testing.T) {
	for seconds := 30; seconds <= 300; seconds++ {
		even := of(t, arrivals.Spec{Process: "constant", Rate: 100}, lengths.Fixed(5), lengths.Fixed(5), int64(100*seconds))
		require.NotEmpty(t, even.Dispersion)
		require.Zero(t, float64(even.Dispersion[0].Index), "%d s", seconds)
	}
}

// TestRequestsOfOneInstantHaveNoRate, and their summary draws none.
func TestRequestsOfOneInstantHaveNoRate(t *testing.T) {
	for rows, says := range map[string]string{
		"5,10,3\n": "1 request at one instant", "5,10,3\n5,20,4\n": "2 requests at one instant",
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		require.NoError(t, os.WriteFile(path, []byte("arrival_s,input_tokens,output_tokens\n"+rows), 0o600))
		s, err := Describe(path, traces.Options{})
		require.NoError(t, err)
		said := s.Text(false).String()
		require.Contains(t, said, says)
		require.NotContains(t, said, "requests/s")
		require.NotContains(t, said, "over time")
	}
}
