package metrics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// chunksTwin is what a client receives of a list of tokens, one after the other, and what is recorded of that.
type chunksTwin struct {
	interval, waiting int32
	warmup, sent      sim.Time
	gaps              Hist
	together          int64
	series            *Series
	windows           *Windows
}

// tokens says that n tokens have come at t.
func (w *chunksTwin) tokens(t sim.Time, n int32) {
	w.waiting += n
	if w.waiting >= w.interval {
		w.send(t)
	}
}

func (w *chunksTwin) send(t sim.Time) {
	w.series.gap(t, t.Sub(w.sent), 1)
	if t >= w.warmup {
		w.gaps.One(t.Sub(w.sent))
		w.windows.at(t).of[RuleITL].add(t.Sub(w.sent), 1)
		w.join(t, w.waiting-1)
	}
	w.sent, w.waiting = t, 0
}

func (w *chunksTwin) join(t sim.Time, n int32) {
	w.together += int64(n)
	for range n {
		x := w.windows.at(t)
		x.of[RuleITL].add(0, 1)
		x.burst++
	}
}

// draw has both hear of tokens of q after now, in steps, one by one and with drafts, and returns when the last came.
func (w *chunksTwin) draw(c *Chunks, q *sim.Request, now sim.Time, r *rand.Rand,
	span func(most int64) sim.Duration) sim.Time {
	for range r.IntN(8) {
		if r.IntN(2) == 0 {
			n := 1 + r.IntN(30)
			g := &sim.Segment{First: span(1 << 37), Growth: sim.Duration(r.Int64N(1 << 30)), Steps: n}
			if g.First%sim.Second == 0 {
				g.Growth = 0
			}
			c.Tokens(q, now, g, n)
			for i := range n {
				w.tokens(now.Add(g.Span(i+1)), 1)
			}
			now = now.Add(g.Span(n))
			continue
		}
		now = now.Add(span(1 << 38))
		c.One(q, now)
		more := r.Int32N(4)
		if more > 0 {
			c.Accepted(q, now, int(more))
		}
		w.tokens(now, 1+more)
	}
	return now
}

// TestChunksAreThoseOfAListOfTokens: of requests one after the other, whose tokens come in runs of steps, one by one
// and with accepted drafts. Those that are not completed get the tokens of the step in which they ended, and lose what
// waits.
func TestChunksAreThoseOfAListOfTokens(t *testing.T) {
	const width = sim.Second
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 17))
		interval := 1 + r.Int32N(6)
		span := func(most int64) sim.Duration { // of every fourth, whole seconds, so that warm-ups end with tokens
			d := sim.Duration(1 + r.Int64N(most))
			if seed%4 == 3 {
				d = (d/sim.Second + 1) * sim.Second
			}
			return d
		}
		warmup := sim.Time(0).Add(span(int64(20 * sim.Second)))
		windowed := seed%2 == 0
		c := NewChunks(interval)
		c.Warmup, c.Series = warmup, NewSeries()
		w := &chunksTwin{interval: interval, warmup: warmup, series: NewSeries(),
			windows: NewWindows(WindowArguments{Width: width})}
		if windowed {
			c.Windows = NewWindows(WindowArguments{Width: width})
		}
		now := sim.Time(0)
		for id := range int32(12) {
			q := &sim.Request{ID: id, Traced: true}
			now = now.Add(sim.Second)
			q.First = now
			c.First(q)
			w.sent, w.waiting = now, 0
			now = w.draw(c, q, now, r, span)
			if id%3 == 0 {
				c.Done(q, now, sim.Failed)
				c.One(q, now)
				w.tokens(now, 1)
				continue
			}
			c.Done(q, now, sim.Completed)
			if w.waiting > 0 {
				w.send(now)
			}
		}
		what := fmt.Sprintf("seed %d", seed)
		require.Empty(t, c.open, "%s: of requests that have ended nothing is left", what)
		require.Equal(t, w.gaps.Counts(), c.Gaps().Counts(), what)
		require.Equal(t, w.gaps.N()+w.together, c.TokenGaps().N(), what)
		require.Equal(t, w.series.Slots(), c.Series.Slots(), what)
		if windowed {
			require.Len(t, c.Windows.list, len(w.windows.list), what)
			for i := range w.windows.list {
				var want, got Hist
				w.windows.list[i].of[RuleITL].addTo(&want)
				c.Windows.list[i].of[RuleITL].addTo(&got)
				require.Equal(t, want.Counts(), got.Counts(), "%s: window %d", what, i)
				require.Equal(t, w.windows.list[i].burst, c.Windows.list[i].burst, "%s: window %d", what, i)
			}
		}
	}
}
