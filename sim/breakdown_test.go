package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// breakdownSink is a sink that checks every gap against what it is said to be made of.
type breakdownSink struct {
	*journal
	t     require.TestingT
	parts int
}

func (s *breakdownSink) check(in *sim.Instance, step sim.Duration) {
	var sum sim.Duration
	for p, d := range in.StepBreakdown() {
		if d < 0 { // millions of gaps are too many for a require
			require.GreaterOrEqual(s.t, d, sim.Duration(0), "%v", sim.Wait(p))
		}
		sum += d
		if d > 0 && p >= int(sim.NumParts) {
			s.parts++
		}
	}
	if sum != step {
		require.Equal(s.t, step, sum, "the parts of a step sum to it")
	}
}

func (s *breakdownSink) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	s.journal.Run(in, start, g, n, tokens)
	if n == 1 && tokens > 0 && !in.DecodeOnly() {
		s.check(in, g.First)
	}
}

func (s *breakdownSink) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	s.journal.Paused(in, since, start, g, tokens)
	s.check(in, g.First)
}

// TestGapsAreTheSumOfTheirParts: for every policy, whatever holds a token up, the parts sum to the gap; all gaps are
// there; and neither that nor anything else of a run depends on whether it is asked for.
func TestGapsAreTheSumOfTheirParts(t *testing.T) {
	t.Parallel()
	parts := 0
	rapid.Check(t, func(t *rapid.T) {
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		plain := newJournal()
		run(t, sc.config(plain))
		s := &breakdownSink{journal: newJournal(), t: t}
		s.Attribution = new(metrics.Attribution)
		run(t, sc.config(s))
		require.Equal(t, plain.ITL.Counts(), s.ITL.Counts())
		parts += s.parts
		gaps := s.Attribution.Gaps()
		if s.ITL.N() == 0 {
			require.Empty(t, gaps)
			return
		}
		require.InEpsilon(t, plain.ITL.MeanS()*float64(plain.ITL.N()), gaps[0].GapS*float64(s.Attribution.N()), 1e-9,
			"Σ of all gaps")
		for i, q := range []float64{.5, .9, .95, .99} {
			if s.Attribution.N() == s.ITL.N() { // no tokens came together
				require.InEpsilon(t, plain.ITL.QuantileS(q), gaps[i+1].GapS, .04, "a bin is 2 %% wide, p%g", q*100)
			}
		}
	})
	require.Positive(t, parts)
}

// digits is a model whose steps say by their length of what they are: a second each, a millisecond for each block that
// is copied, a microsecond for each token of a prompt and a nanosecond for each draft, of which there are fewer than a
// thousand each.
type digits struct{}

func (digits) Price(ranks []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second, Steps: 1}
	for i := range ranks {
		b := &ranks[i]
		g.First += sim.Millisecond*sim.Duration(b.SwapBlocks) + sim.Microsecond*sim.Duration(b.PrefillTokens) +
			sim.Nanosecond*sim.Duration(b.Drafts)
	}
	g.Part[sim.Overhead].A = g.First
}

// analyst is a sink that takes steps apart: what each says of copies, prompts and drafts is what its length does.
type analyst struct {
	*journal
	t   require.TestingT
	sum sim.Breakdown
}

func (s *analyst) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	s.journal.Run(in, start, g, n, tokens)
	var want sim.Breakdown
	rest := g.First - sim.Second
	want[sim.Overhead] = sim.Second
	for _, part := range []struct {
		w    sim.Wait
		unit sim.Duration
	}{{sim.Copying, sim.Millisecond}, {sim.Prefill, sim.Microsecond}, {sim.Drafting, sim.Nanosecond}} {
		want[part.w] = rest - rest%part.unit
		rest %= part.unit
	}
	got := in.StepBreakdown()
	require.Equal(s.t, want, got)
	for w, d := range got {
		s.sum[w] += d
	}
}

// TestAStepIsTakenApart into the step that decodes alone and what copies, prompts and drafts add to it.
func TestAStepIsTakenApart(t *testing.T) {
	t.Parallel()
	swapping := scenario{size: 1, blocks: 40, blockSize: 1, maxLen: 30, swapBlocks: 100, model: digits{},
		policy: &schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, Preempt: sim.Swap}}
	drafting := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: digits{},
		policy:      &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64},
		speculation: speculate(2, random{rates: []float64{0.5, 0.5}})}
	for i := range int32(6) {
		r := sim.Request{ID: i, Prompt: 10, Output: 15, Traced: true, Arrival: sim.Time(i) * sim.Time(700*sim.Millisecond)}
		swapping.requests, drafting.requests = append(swapping.requests, r), append(drafting.requests, r)
	}
	for what, c := range map[sim.Wait]*scenario{sim.Copying: &swapping, sim.Drafting: &drafting} {
		s := &analyst{journal: newJournal(), t: t}
		run(t, c.config(s))
		require.Positive(t, s.sum[what], what)
		require.Positive(t, s.sum[sim.Prefill])
	}
}
