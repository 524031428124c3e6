package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// stepsTwin hears of one step at a time, and keeps what tokens waited for as plain sums.
type stepsTwin struct {
	warmup                 sim.Time
	tokens, compute        int64
	bound, paused          float64 // ps, of all tokens
	parts                  [sim.NumParts]float64
	itl                    Hist
	stalls                 [NumStalls]Hist
	series                 *Series
	afterwards, beforehand int
}

// step says that each of so many tokens came at the end of the first step of g, which began when they had waited.
func (w *stepsTwin) step(at sim.Time, g *sim.Segment, waited sim.Duration, tokens int) {
	if tokens == 0 {
		return
	}
	end, n := at.Add(g.First), float64(tokens)
	w.series.gap(end, waited+g.First, uint64(tokens))
	if end < w.warmup {
		w.beforehand++
		return
	}
	w.afterwards++
	w.itl.Add(waited+g.First, uint64(tokens))
	w.tokens += int64(tokens)
	if g.ComputeBound {
		w.compute += int64(tokens)
	}
	w.bound += n * float64(g.Bound.A)
	w.paused += n * float64(waited)
	for p := range g.Part {
		w.parts[p] += n * float64(g.Part[p].A)
	}
}

// drawnSteps draws steps that have all parts, of which some grow.
func drawnSteps(r *rand.Rand) sim.Segment {
	g := sim.Segment{ComputeBound: r.IntN(3) == 0}
	for p := range g.Part {
		g.Part[p] = sim.Affine{A: sim.Duration(1 + r.Int64N(1e10)), B: sim.Duration(r.Int64N(2) * r.Int64N(1e8))}
		g.First, g.Growth = g.First+g.Part[p].A, g.Growth+g.Part[p].B
	}
	g.Bound = sim.Affine{A: g.Part[sim.Weights].A / 2, B: g.Part[sim.Weights].B / 2}
	g.Steps = 40
	return g
}

// TestWhatTokensWaitForIsTheSumOfTheirSteps: in runs of steps, behind others and after interruptions, of which some end
// before the warm-up does, or just as it does.
func TestWhatTokensWaitForIsTheSumOfTheirSteps(t *testing.T) {
	var before, after int
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 7))
		m, w := Recorder{Series: NewSeries()}, stepsTwin{series: NewSeries()}
		m.Warmup = sim.Time(r.Int64N(6e11))
		if seed%4 == 0 {
			m.Warmup = 2e11 // with a step
		}
		w.warmup = m.Warmup
		for range 8 {
			g, n, tokens := drawnSteps(r), 1+r.IntN(30), r.IntN(4)
			at := sim.Time(r.Int64N(6e11))
			if r.IntN(3) == 0 {
				at = m.Warmup.Add(-sim.Duration(r.IntN(2)) * g.First) // it begins, or its first step ends
			}
			if at < 0 {
				at = 0
			}
			m.Run(nil, at, &g, n, tokens)
			for i := range n {
				step := g.Tail(i)
				w.step(at.Add(g.Span(i)), &step, 0, tokens)
			}
			waited := sim.Duration(r.Int64N(3) * r.Int64N(1e10))
			m.Paused(nil, at.Add(-waited), at, &g, 1+tokens)
			w.step(at, &g, waited, 1+tokens)
			if at.Add(g.First) >= m.Warmup {
				w.stalls[Paused].Add(waited+g.First, uint64(1+tokens))
			}
			for c, stall := range map[sim.Cause]Stall{sim.Preempted: Preempted, sim.Swapped: Preempted, sim.Paused: Paused,
				sim.Transferred: Transferred, sim.Restarted: Restarted} {
				q := sim.Request{Record: sim.Record{Last: at.Add(-waited)}}
				m.Gap(nil, &q, at, c)
				w.series.gap(at, waited, 1)
				if at >= m.Warmup {
					w.itl.One(waited)
					w.stalls[stall].One(waited)
				}
			}
		}
		requireSame(t, &w.itl, &m.ITL, "seed %d", seed)
		require.Equal(t, w.series.Slots(), m.Series.Slots(), "seed %d", seed)
		for i := range w.stalls {
			requireSame(t, &w.stalls[i], &m.Stalls[i], "seed %d: stall %d", seed, i)
		}
		requireBound(t, &w, m.Bound())
		before, after = before+w.beforehand, after+w.afterwards
	}
	assert.Greater(t, before, 500)
	assert.Greater(t, after, 1000)
}

// requireBound compares the mean step of the tokens.
func requireBound(t *testing.T, w *stepsTwin, got Bound) {
	t.Helper()
	if w.tokens == 0 {
		require.Equal(t, Bound{}, got)
		return
	}
	step, n := 0.0, float64(w.tokens)
	for _, part := range w.parts {
		step += part
	}
	limit := "memory"
	if 2*w.compute > w.tokens {
		limit = "compute"
	}
	require.Equal(t, limit, got.Limit)
	for _, pair := range [][2]float64{{w.bound / n * 1e-12, got.ITLFloorS}, {step / n * 1e-12, got.StepS},
		{w.bound / step, got.FractionOfBound}, {w.paused / n * 1e-12, got.PausedS},
		{w.parts[sim.Weights] / step, got.Share.Weights}, {w.parts[sim.KV] / step, got.Share.KV},
		{w.parts[sim.Compute] / step, got.Share.Compute}, {w.parts[sim.Communication] / step, got.Share.Communication},
		{w.parts[sim.Overhead] / step, got.Share.Overhead}} {
		require.InEpsilon(t, 1+pair[0], 1+pair[1], 1e-9)
	}
}

// TestARunIsAttributedStepByStep: each step to the gaps of its length, whatever it is made of.
func TestARunIsAttributedStepByStep(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		g, n, tokens := drawnSteps(r), 2+r.IntN(38), uint64(1+r.IntN(5))
		if seed%3 == 0 { // it crosses an edge of a bin, by a few picoseconds
			edge := upper(bucket(g.First) | (1<<coarse - 1))
			g.Part[sim.Overhead] = sim.Affine{A: g.Part[sim.Overhead].A + edge - g.First - sim.Duration(r.Int64N(5))}
			g.First, g.Growth = 0, 0
			for p := range g.Part {
				g.Part[p].B = sim.Duration(r.Int64N(3))
				g.First, g.Growth = g.First+g.Part[p].A, g.Growth+g.Part[p].B
			}
		}
		var run, steps Attribution
		var parts sim.Parts
		g.Sum(0, n, &parts)
		run.run(&g, n, &parts, tokens, bucket(g.First), bucket(g.Step(n-1)))
		for i := range n {
			step := g.Tail(i)
			step.FirstParts(&parts)
			steps.bin(bucket(step.First)).steps(1, &parts, tokens)
		}
		require.Equal(t, steps.bins, run.bins, "seed %d: %+v", seed, g)
	}
}

// TestASpreadHasRoomOnBothSides: two values, two spreads of one each, and a run that ends in the bucket of the second,
// for all that are less than an eighth of an octave and a few buckets apart.
func TestASpreadHasRoomOnBothSides(t *testing.T) {
	const first, far = 5000, 1<<(subBits-3) + 3
	for away := -far; away <= far; away++ {
		a, b := upper(first)-1, upper(first+away)-1
		var want Hist
		want.Add(a, 2)
		want.Add(b, 3)
		var both, one, other, none spread
		both.add(a, 2)
		both.add(b, 3)
		one.add(a, 2)
		other.add(b, 3)
		one.merge(&other)
		one.merge(&none)
		none.merge(&one)
		for i, s := range []*spread{&both, &one, &none} {
			var got Hist
			s.addTo(&got)
			requireSame(t, &want, &got, "%d away: %d", away, i)
		}
		if away <= 0 {
			continue
		}
		for n := 2; n < 5; n++ {
			g := sim.Segment{First: a, Growth: (b - a) / sim.Duration(n-1), Steps: n}
			var s spread
			s.add(a, 1)
			s.addRun(&g, n, 2)
			var want, got Hist
			want.Add(a, 1)
			for i := range n {
				want.Add(g.Step(i), 2)
			}
			s.addTo(&got)
			requireSame(t, &want, &got, "%d away: a run of %d", away, n)
		}
	}
}

// requireSame compares what two histograms have counted, whatever room they have.
func requireSame(t *testing.T, want, got *Hist, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	buckets := max(len(want.count), len(got.count))
	require.True(t, slices.Equal(filled(want.count, buckets), filled(got.count, buckets)), what)
	require.Equal(t, [2]any{want.n, want.sum}, [2]any{got.n, got.sum}, what)
	require.Equal(t, want.max, got.max, what)
}
