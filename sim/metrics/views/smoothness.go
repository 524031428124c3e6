package views

import (
	"github.com/decodesim/decodesim/sim"
)

// Pace is what a reader tolerates.
type Pace struct {
	StallS           float64 // a gap between chunks that is longer is a stall
	ReaderTokensPerS float64
	ITLP99S          float64 // limit on the p99 of a request's own gaps between chunks; 0: none
}

// Smoothness is what readers notice of the sampled requests beside their latencies: a stream that begins fast and then
// pauses has a good TTFT and a good TPOT.
type Smoothness struct {
	Requests, Tokens    int64
	Chunk, Token        Distribution // gaps between chunks; between tokens, which are 0 within a chunk
	Stalls              int64
	StallsPer1000Tokens float64
	StalledShare        float64      // of the requests
	Read                Distribution // seconds from the request to the last token read
	Wait                Distribution // seconds thereof in which a reader that has begun waits for the next token
	WaitingShare        float64      // of the requests: the reader waits at least once
	ITLP99Share         float64      // of the requests: they keep the limit
}

// SmoothnessOf measures the completed requests of a sample.
func SmoothnessOf(records []Record, p Pace) Smoothness {
	var s Smoothness
	var chunk, token, read, wait []weighted
	var stalled, waiting, smooth int64
	for i := range records {
		r := &records[i]
		if r.Outcome != sim.Completed {
			continue
		}
		s.Requests++
		s.Tokens += int64(r.Tokens())
		var own []weighted
		before := s.Stalls
		gaps(r, func(x float64, w int64) {
			own = append(own, weighted{x, w})
			if x > p.StallS {
				s.Stalls++
			}
		})
		chunk, token = append(chunk, own...), append(token, tokenGaps(r)...)
		if s.Stalls > before {
			stalled++
		}
		readS, waitS := r.client().read(p.ReaderTokensPerS)
		read, wait = append(read, weighted{readS, 1}), append(wait, weighted{waitS, 1})
		if waitS > 0 {
			waiting++
		}
		if d := distributionOf(own); p.ITLP99S == 0 || d.Count == 0 || d.Quantile(.99) <= p.ITLP99S {
			smooth++
		}
	}
	s.Chunk, s.Token = distributionOf(chunk), distributionOf(token)
	s.Read, s.Wait = distributionOf(read), distributionOf(wait)
	n := float64(s.Requests)
	s.StallsPer1000Tokens = ratio(1000*float64(s.Stalls), float64(s.Tokens))
	s.StalledShare = ratio(float64(stalled), n)
	s.WaitingShare = ratio(float64(waiting), n)
	s.ITLP99Share = ratio(float64(smooth), n)
	return s
}

// tokenGaps are the gaps between tokens as the client receives them: gaps within a chunk are 0.
func tokenGaps(r *Record) []weighted {
	t := r.client()
	var all []weighted
	together := int64(0)
	for j, c := range t.chunks {
		together += int64(c.Tokens) - 1
		if j > 0 {
			all = append(all, weighted{t.gap(j), 1})
		}
	}
	return append(all, weighted{0, together})
}

// read returns how long a reader takes that needs 1/pace for a token and begins with the first, counted from the
// request, and for how much of that time it waits:
//
//	r_i = max(t_i, r_{i−1} + 1/pace)    read = r_n + 1/pace − t_send    wait = r_n − t_1 − (n − 1)/pace
func (t timing) read(pace float64) (readS, waitS float64) {
	each := 1 / pace
	next, idle := t.chunks[0].At.Sub(t.send).Seconds(), 0.0 // when the reader is ready for the next token
	for _, c := range t.chunks {
		if at := c.At.Sub(t.send).Seconds(); at > next {
			idle, next = idle+at-next, at
		}
		next += float64(float64(c.Tokens) * each)
	}
	return next, idle
}
