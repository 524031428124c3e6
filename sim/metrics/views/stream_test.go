package views_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// at are chunks of so many tokens, a millisecond apart.
func at(tokens ...int32) []views.Chunk {
	var chunks []views.Chunk
	for i, k := range tokens {
		chunks = append(chunks, views.Chunk{At: ms(i + 1), Tokens: k})
	}
	return chunks
}

func ms(n int) sim.Time { return sim.Time(n) * sim.Time(sim.Millisecond) }

func TestChunksFollowTheInterval(t *testing.T) {
	for _, c := range []struct {
		interval int32
		steps    []views.Chunk
		complete bool
		want     []views.Chunk
	}{
		{0, at(1, 1, 1), true, at(1, 1, 1)},
		{1, at(1, 2, 1), true, at(1, 2, 1)},
		{3, at(1, 1, 1, 1, 1, 1), true,
			[]views.Chunk{{At: ms(1), Tokens: 1}, {At: ms(4), Tokens: 3}, {At: ms(6), Tokens: 2}}},
		{3, at(1, 1, 1, 1, 1, 1), false, []views.Chunk{{At: ms(1), Tokens: 1}, {At: ms(4), Tokens: 3}}},
		{3, at(1, 2, 2, 1, 3), true, []views.Chunk{{At: ms(1), Tokens: 1}, {At: ms(3), Tokens: 4}, {At: ms(5), Tokens: 4}}},
		{9, at(4), true, at(4)},
		{9, nil, false, []views.Chunk{}},
	} {
		got := views.NewWire(views.Stream{Interval: c.interval}, 1).Deliver(7, c.steps, c.complete)
		assert.Equal(t, c.want, got, "interval %d of %v", c.interval, c.steps)
	}
}

// TestAServerThatIsBusyDelays: tokens of 0.4 ms, chunks of 0.3 ms and 10 ms of network on the way back, one after
// another.
func TestAServerThatIsBusyDelays(t *testing.T) {
	w := views.NewWire(views.Stream{
		Interval: 2, Detokenize: 400 * sim.Microsecond, Frame: 300 * sim.Microsecond, RTT: 20 * sim.Millisecond,
	}, 1)
	µs := func(n int) sim.Time { return sim.Time(n) * sim.Time(sim.Microsecond) }
	require.Equal(t, []views.Chunk{
		{At: µs(1000 + 400 + 300 + 10000), Tokens: 1},
		{At: µs(2000 + 4*400 + 300 + 10000), Tokens: 4}, // until 3.9 ms
		{At: µs(3900 + 1200 + 300 + 10000), Tokens: 3},  // which came at 3 ms, before the server was free
	}, w.Deliver(1, at(1, 4, 3), true))
}

// TestWiresKeepTokensAndOrder: whatever lies between, no token is lost, none comes early or overtakes another, and
// what a wire draws depends on request and position alone.
func TestWiresKeepTokensAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := views.Stream{
			Interval:   rapid.Int32Range(0, 12).Draw(t, "interval"),
			Detokenize: sim.Duration(rapid.Int64Range(0, 1e9).Draw(t, "detokenize")),
			Frame:      sim.Duration(rapid.Int64Range(0, 1e9).Draw(t, "frame")),
			RTT:        sim.Duration(rapid.Int64Range(0, 1e11).Draw(t, "rtt")),
			Jitter:     sim.Duration(rapid.Int64Range(0, 1e10).Draw(t, "jitter")),
		}
		var steps []views.Chunk
		now, n := sim.Time(0), int32(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += sim.Time(rapid.Int64Range(1, 3e10).Draw(t, "step"))
			k := rapid.Int32Range(1, 4).Draw(t, "tokens")
			steps, n = append(steps, views.Chunk{At: now, Tokens: k}), n+k
		}
		w := views.NewWire(s, 3)
		got := w.Deliver(5, steps, true)
		emitted, due, last := int32(0), 0, sim.Time(0)
		for i, c := range got {
			emitted += c.Tokens
			for due < len(steps) && tokens(steps[:due]) < emitted {
				due++
			}
			require.GreaterOrEqual(t, c.At, steps[due-1].At.Add(s.Down()+s.Frame), "before its last token and the way")
			require.GreaterOrEqual(t, c.At, last)
			if i > 0 && i < len(got)-1 {
				require.GreaterOrEqual(t, c.Tokens, s.Interval)
			}
			last = c.At
		}
		require.Equal(t, n, emitted)
		w.Deliver(6, steps, true)
		require.Equal(t, got, w.Deliver(5, steps, true))
	})
}

func tokens(chunks []views.Chunk) int32 {
	r := views.Record{Chunks: chunks}
	return r.Tokens()
}

func TestJitterHasItsMean(t *testing.T) {
	w := views.NewWire(views.Stream{RTT: 10 * sim.Millisecond, Jitter: 5 * sim.Millisecond}, 1)
	sum := 0.0
	const n = 4000
	for id := range int32(n) {
		sum += w.Deliver(id, at(1), true)[0].At.Sub(ms(6)).Seconds()
	}
	assert.InDelta(t, .005, sum/n, 4*.005/63, "four standard deviations of the mean")
}
