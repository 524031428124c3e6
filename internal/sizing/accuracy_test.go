package sizing

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestARuleThatIsKeptByLessThanTheErrorOfTheModelIsNamed: intervals over seeds say nothing of that error.
func TestARuleThatIsKeptByLessThanTheErrorOfTheModelIsNamed(t *testing.T) {
	s := &Sizing{AtPerS: 30, Replay: &Replay{SLO: []metrics.Verdict{
		{Rule: "ttft p95 < 1s", Value: 0.787, Limit: 1, Met: true},
		{Rule: "itl p95 <= 30ms", Value: 0.0295, Limit: 0.03, Met: true},
		{Rule: "e2e p95 <= 10s", Value: 9.9, Limit: 10, Met: true},
		{Rule: "90% of requests: tpot <= 40ms", Share: true, Value: 0.901, Limit: 0.9, Met: true},
	}}, ofBest: modelError{tpotPct: 7, ttftPct: 25}}
	assert.Equal(t, "That leaves less room than the model's error, which no seed shows: itl p95 <= 30ms would be 31.6 ms "+
		"with a TPOT 7.0 % longer, and half of its errors are larger. 'itl p95 <= 28.0ms' as the SLO leaves as much room.",
		roomWords(s))
	s.ofBest.ttftPct = 30
	assert.Contains(t, roomWords(s), "ttft p95 < 1s would be 1.02 s with a TTFT 30.0 % longer, itl p95")
	assert.Contains(t, roomWords(s), "'ttft p95 <= 769ms, itl p95 <= 28.0ms' as the SLO")

	s.Replay.SLO[1].Cliff = metrics.Cliff{Below: 94, BelowS: 0.012, Above: 96, AboveS: 0.04}
	assert.NotContains(t, roomWords(s), "itl", "a tighter limit says nothing of a cliff")
	s.Replay.SLO[1].Cliff = metrics.Cliff{}

	s.ofBest = modelError{tpotPct: 1, ttftPct: 20}
	assert.Empty(t, roomWords(s), "room enough")
	s.Expected = []metrics.ExpectedError{{TPOT: metrics.ErrorSpread{MedianPct: 7}}}
	s.ofBest = modelError{}
	assert.Empty(t, roomWords(s), "an error that nobody knows, whatever is known of another finalist's")
}

// TestTheNearestFailureIsTheOneLeastBeyondItsLimit, where none has any request within it.
func TestTheNearestFailureIsTheOneLeastBeyondItsLimit(t *testing.T) {
	far := []metrics.Verdict{{Value: 0.0276, Limit: 0.003, Margin: -8.2}}
	near := []metrics.Verdict{{Value: 0.009, Limit: 0.003, Margin: -2}, {Value: 0.1, Limit: 1, Met: true, Margin: 0.9}}
	assert.Positive(t, nearness(0, 0, near, far))
	assert.Negative(t, nearness(0, 0, far, near))
	assert.Positive(t, nearness(0.5, 0.4, far, near), "the share decides first")
	assert.Zero(t, nearness(1, 1, nil, nil), "both keep every rule")
}

// TestEveryKindOfGPUIsNamed beside the number of GPUs.
func TestEveryKindOfGPUIsNamed(t *testing.T) {
	d := &Deployment{Pools: []Pool{{GPU: "h100-sxm", GPUs: 10}, {GPU: "h200-sxm", GPUs: 6}}}
	assert.Equal(t, "10 × h100-sxm + 6 × h200-sxm", d.gpuWords())
	d.Pools[0].GPU = "h200-sxm"
	assert.Equal(t, "h200-sxm", d.gpuWords())
}

// TestWhyNothingIsFoundNamesNoBudgetThatNobodyGave: without one the search ends at a number of GPUs of its own.
func TestWhyNothingIsFoundNamesNoBudgetThatNobodyGave(t *testing.T) {
	free, bound := &sizer{study: &configs.Study{}}, &sizer{study: &configs.Study{Budget: configs.StudyBudget{GPUs: 8}}}
	for _, f := range []*family{
		{topology: configs.Colocated, least: 5000}, {topology: configs.Colocated}, {topology: configs.Disaggregated},
	} {
		assert.Contains(t, free.whyNone(f), "the 4,096 GPUs that are tried without a budget")
		assert.Contains(t, bound.whyNone(f), "the budget")
	}
	assert.Contains(t, free.whyNone(&family{topology: configs.Colocated}), "not confirmed by whole ones")
	assert.Contains(t, free.whyNone(&family{topology: configs.Disaggregated}), "no pair of pools")
}

// TestTokensCostWhatTheyDoWhileTheLoadGoesOn: what the prompts and the outputs of an hour of the load cost is an hour's
// rent, however long the last answers of a run take.
func TestTokensCostWhatTheyDoWhileTheLoadGoesOn(t *testing.T) {
	s := &metrics.Summary{Tokens: metrics.Tokens{Prompt: 2e6, Output: 1e6}, Cost: &metrics.Cost{USDPerHour: 36,
		USDPerMillionOutputTokens: 5, Split: &metrics.Split{InputShare: 0.25, USDPerMillionInputTokens: 9,
			USDPerMillionOutputTokens: 9}}}
	x := costOf(s, &metrics.Description{}, &going{}, 100) // seconds, of a cent each
	assert.InDelta(t, 1, x.USDPerMillionOutputTokens, 1e-12)
	assert.InDelta(t, 0.125, x.Split.USDPerMillionInputTokens, 1e-12)
	assert.InDelta(t, 0.75, x.Split.USDPerMillionOutputTokens, 1e-12)
	assert.Equal(t, 5.0, s.Cost.USDPerMillionOutputTokens, "the summary is that of the run")
}

// TestWhatIdlingCostsIsASumThatSomebodyCounts, or said to be none.
func TestWhatIdlingCostsIsASumThatSomebodyCounts(t *testing.T) {
	r := &Replay{Cost: &metrics.Cost{USDPerHour: 2.25, IdleUSDPerHour: 9.53e-6, PeakUSDPerHour: 0.213}}
	assert.Equal(t, "It takes next to nothing of the $2.25 per hour idle, $0.213 for the busiest window alone.",
		spendingWords(r))
	r.Cost.IdleUSDPerHour = 0.01
	assert.Contains(t, spendingWords(r), "It takes $0.0100 of the $2.25 per hour idle")
}

// goesOn is a prompt every 40 ms, which takes 20.6 ms of one GPU, and 400 tokens on another, which takes seconds.
const goesOn = `
model: llama-3.1-8b
pools:
  - {name: p, role: prefill, gpu: {from: h100-sxm, price_per_hour: 2}, engine: textbook}
  - {name: d, role: decode, gpu: {from: h100-sxm, price_per_hour: 3}, engine: textbook}
workload:
  arrivals: {process: constant, rate: 25}
  prompt_tokens: {distribution: fixed, mean: 1024}
  output_tokens: {distribution: fixed, mean: 400}
energy: {}
`

// TestWhatIdlesWhileTheLoadGoesOn: half of the time of a GPU that reads a prompt in half of the time between two. While
// the last answers are written it reads none, of which a load that goes on knows nothing; in a short run that is most
// of the time. So it is with energy: a short run and a long one say the same.
func TestWhatIdlesWhileTheLoadGoesOn(t *testing.T) {
	short, long := replayed(t, "300"), replayed(t, "3000")
	idle := 2 * (1 - short.promptS*25) // the other one always has an answer to write
	assert.InEpsilon(t, idle, short.idleUSDPerHour(&short.is), 1e-3)
	assert.InEpsilon(t, idle, costOf(short.summary, &short.is, short.going, 12).IdleUSDPerHour, 1e-3)
	assert.Greater(t, short.summary.Cost.IdleUSDPerHour, 1.1*idle, "of the whole run")
	assert.InEpsilon(t, long.energyOf(long.summary.Energy, &long.is).JPerOutputToken,
		short.energyOf(short.summary.Energy, &short.is).JPerOutputToken, 0.02)
	assert.Greater(t, short.summary.Energy.JPerOutputToken, 1.05*long.summary.Energy.JPerOutputToken)
}

// replay is a run of goesOn, and how long it takes to read a prompt.
type replay struct {
	*going
	is      metrics.Description
	summary *metrics.Summary
	promptS float64
}

func replayed(t *testing.T, requests string) (x replay) {
	s, err := configs.Read("s", []byte(goesOn), configs.Options{Set: []string{"workload.requests=" + requests}})
	require.NoError(t, err)
	observe := func(b *build.Built) run.Observer {
		var prompt sim.Segment
		b.Config.Pools[0].Model.(*hardware.Roofline).Price([]sim.Shape{{
			Prefills: 1, PrefillTokens: 1024, PrefillPairs: 1024 * 1025 / 2, PrefillCtx: 1024, Outputs: 1,
		}}, &prompt)
		x.promptS, x.going = prompt.First.Seconds(), newGoing(b.SpanS, 0.5)
		return x.going
	}
	require.NoError(t, load.Replayed(t.Context(), s, "test", observe, func(b *build.Built, r *run.Result) {
		x.summary, x.is = r.Summary, b.Describe("", r.Summary.Requests.Arrived)
	}))
	return x
}
