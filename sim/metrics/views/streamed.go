package views

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// streamed collects what clients saw, by the definitions of the summary.
type streamed struct {
	requests                    int64
	ttft, itl, chunk, tpot, e2e metrics.Hist
	delay, chunking             metrics.Hist // of a token; the part until its chunk is complete
}

// Streamed returns what the clients of the sample saw of the completed requests, or nil if all tokens take the same
// time, which the summary already includes.
func (s *Sample) Streamed() *metrics.Streamed {
	if s.wire.stream.Plain() {
		return nil
	}
	var all streamed
	for _, r := range s.Records() {
		if r.Outcome == sim.Completed {
			all.add(&r)
		}
	}
	delay := metrics.Delay{MeanS: all.delay.MeanS(), ChunkS: all.chunking.MeanS()}
	if all.requests == 0 {
		delay = metrics.Delay{}
	}
	delay.DeliveryS = delay.MeanS - delay.ChunkS
	return &metrics.Streamed{
		Requests: all.requests, TTFT: all.ttft.Quantiles(), ITL: all.itl.Quantiles(), ITLChunk: all.chunk.Quantiles(),
		TPOT: all.tpot.Quantiles(), E2E: all.e2e.Quantiles(), Delay: delay,
	}
}

func (a *streamed) add(r *Record) {
	first, last, n := r.Chunks[0].At, r.Chunks[len(r.Chunks)-1].At, sim.Duration(r.Tokens())
	a.requests++
	a.ttft.One(first.Sub(r.Send))
	a.e2e.One(last.Sub(r.Send))
	if n > 1 {
		a.tpot.One(last.Sub(first) / (n - 1))
	}
	i := 0 // the next of the engine's steps
	for j, c := range r.Chunks {
		if j > 0 {
			gap := c.At.Sub(r.Chunks[j-1].At)
			a.chunk.One(gap)
			a.itl.One(gap)
		}
		a.itl.Add(0, uint64(c.Tokens-1))
		begin := i
		for in := int32(0); in < c.Tokens; i++ {
			in += r.Steps[i].Tokens
		}
		for _, step := range r.Steps[begin:i] {
			a.delay.Add(c.At.Sub(step.At), uint64(step.Tokens))
			a.chunking.Add(r.Steps[i-1].At.Sub(step.At), uint64(step.Tokens))
		}
	}
}
