package views_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// streamedTwin goes by the definitions, token by token.
type streamedTwin struct {
	requests, tokens            int64
	ttft, itl, chunk, tpot, e2e metrics.Hist
	delay, chunking             sim.Duration // of all tokens
}

// ended adds a request that was sent at an instant, of whose tokens the engine's clock and the client's are known.
func (w *streamedTwin) ended(send sim.Time, emitted, received []sim.Time, of []int) {
	last := len(received) - 1
	w.requests++
	w.ttft.One(received[0].Sub(send))
	w.e2e.One(received[last].Sub(send))
	if last > 0 {
		w.tpot.One(received[last].Sub(received[0]) / sim.Duration(last))
	}
	for i := range received {
		w.tokens++
		w.delay += received[i].Sub(emitted[i])
		complete := i
		for complete < last && of[complete+1] == of[i] {
			complete++
		}
		w.chunking += emitted[complete].Sub(emitted[i])
		switch {
		case i == 0:
		case of[i] == of[i-1]:
			w.itl.One(0)
		default:
			w.itl.One(received[i].Sub(received[i-1]))
			w.chunk.One(received[i].Sub(received[i-1]))
		}
	}
}

// emits tells a sample of a request whose tokens come in steps, of which a draft model makes some, and returns when.
func emits(s *views.Sample, r *sim.Request, random *rand.Rand, outcome sim.Outcome) (emitted []sim.Time) {
	now := r.Arrival.Add(sim.Duration(random.Int64N(1e11)))
	r.First, r.Last, r.Emitted = now, now, 1
	s.First(r)
	emitted = append(emitted, now)
	for range random.IntN(9) {
		now = now.Add(1 + sim.Duration(random.Int64N(3e10)))
		s.Delayed(r, r.Emitted, r.Last, now)
		more := random.Int32N(3)
		s.Accepted(r, r.Emitted+1, now, int(more))
		for range 1 + more {
			emitted = append(emitted, now)
		}
		r.Last, r.Emitted = now, r.Emitted+1+more
	}
	s.Done(r, now, outcome)
	return emitted
}

// TestClientsSeeTheirTokens: whatever lies between, what is said of clients is what a list of their tokens says, of the
// requests that were completed. A request of one token has no time per token.
func TestClientsSeeTheirTokens(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 5))
		maybe := func(most int64) sim.Duration { return sim.Duration(random.Int64N(2) * random.Int64N(most)) }
		wire := views.NewWire(views.Stream{Interval: 2 + random.Int32N(4), Detokenize: maybe(1e9), Frame: maybe(1e9),
			RTT: maybe(1e11), Jitter: maybe(1e9)}, seed)
		s, w := views.NewSample(&metrics.Full{}, 1, wire), streamedTwin{}
		for id := range int32(6) {
			r := &sim.Request{ID: id, Prompt: 1, Output: 99, Traced: true, Arrival: sim.Time(random.Int64N(1e12))}
			outcome := sim.Completed
			if id == 3 {
				outcome = sim.Failed
			}
			emitted := emits(s, r, random, outcome)
			if outcome == sim.Failed {
				continue
			}
			var steps []views.Chunk
			for _, at := range emitted {
				if last := len(steps) - 1; last >= 0 && steps[last].At == at {
					steps[last].Tokens++
				} else {
					steps = append(steps, views.Chunk{At: at, Tokens: 1})
				}
			}
			var received []sim.Time
			var of []int
			for i, c := range wire.Deliver(id, steps, true) {
				for range c.Tokens {
					received, of = append(received, c.At), append(of, i)
				}
			}
			w.ended(r.Arrival, emitted, received, of)
		}
		got := s.Streamed()
		require.Equal(t, w.requests, got.Requests)
		for name, pair := range map[string][2]metrics.Quantiles{"TTFT": {w.ttft.Quantiles(), got.TTFT},
			"ITL": {w.itl.Quantiles(), got.ITL}, "chunks": {w.chunk.Quantiles(), got.ITLChunk},
			"TPOT": {w.tpot.Quantiles(), got.TPOT}, "E2E": {w.e2e.Quantiles(), got.E2E}} {
			require.Equal(t, pair[0].N, pair[1].N, "seed %d: %s", seed, name)
			if pair[0].N > 0 {
				require.Equal(t, pair[0], pair[1], "seed %d: %s", seed, name)
			}
		}
		n := float64(w.tokens)
		assert.InDelta(t, w.delay.Seconds()/n, got.Delay.MeanS, 1e-12)
		assert.InDelta(t, w.chunking.Seconds()/n, got.Delay.ChunkS, 1e-12)
		assert.InDelta(t, (w.delay-w.chunking).Seconds()/n, got.Delay.DeliveryS, 1e-12)
	}
}

// TestWhatIsPlainIsInTheSummary already, and of no request there is no delay.
func TestWhatIsPlainIsInTheSummary(t *testing.T) {
	assert.Nil(t, views.NewSample(&metrics.Full{}, 1, views.NewWire(views.Stream{RTT: 7}, 1)).Streamed())
	none := views.NewSample(&metrics.Full{}, 1, views.NewWire(views.Stream{Interval: 2}, 1)).Streamed()
	require.NotNil(t, none)
	assert.Zero(t, none.Requests)
	assert.Equal(t, metrics.Delay{}, none.Delay)
}
