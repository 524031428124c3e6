package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
