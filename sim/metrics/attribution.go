package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// Attribution sums what gaps between tokens are made of, by the length of the gap: which share of the p99 gap is
// prompts, which is reading weights. It counts each run of steps at once, and never a single token.
type Attribution struct {
	bins []bin // by bucket of the histogram, coarsened
}

// bin is the gaps of about one length: their number, and Σ of what they are made of.
type bin struct {
	n     uint64
	parts [sim.NumWaits]Uint128
}

// coarse is the bits by which buckets of the histogram are coarsened into bins: 32 bins per octave.
const coarse = subBits - 5

func (a *Attribution) bin(d sim.Duration) *bin {
	i := bucket(d) >> coarse
	for i >= len(a.bins) {
		a.bins = append(a.bins, bin{})
	}
	return &a.bins[i]
}

// one counts w gaps made of s.
func (a *Attribution) one(s *sim.Breakdown, w uint64) {
	var gap sim.Duration
	for _, d := range s {
		gap += d
	}
	b := a.bin(gap)
	b.n += w
	for p, d := range s {
		if d > 0 {
			b.parts[p].AddProduct(uint64(d), w)
		}
	}
}

// steps counts n steps of g that each emitted so many tokens.
func (a *Attribution) steps(in *sim.Instance, g *sim.Segment, n int, tokens uint64) {
	if n > 1 || in.DecodeOnly() {
		a.run(g, n, tokens)
		return
	}
	s := in.StepBreakdown()
	a.one(&s, tokens)
}

// run counts n decode-only steps of g, w times each: bin by bin, not step by step.
func (a *Attribution) run(g *sim.Segment, n int, w uint64) {
	for i := 0; i < n; {
		first := g.Step(i)
		b, k := a.bin(first), n-i
		if g.Growth > 0 {
			edge := upper(bucket(first)>>coarse<<coarse + 1<<coarse - 1)
			k = min(k, int((edge-first+g.Growth-1)/g.Growth))
		}
		b.n += uint64(k) * w
		for p := range g.Part {
			// Σ over the k steps of A + j·B, which is never negative although B may be.
			sum := sim.Duration(k)*g.Part[p].At(i) + g.Part[p].B*sim.Duration(k*(k-1)/2)
			b.parts[p].AddProduct(uint64(sum), w)
		}
		i += k
	}
}

// Gap is what a gap between two tokens is made of: the mean of the gaps of about its length.
type Gap struct {
	At    string  `json:"at"`      // mean, p50, p90, p95, p99, p999; of gaps between chunks
	GapS  float64 `json:"gap_s"`   // as in latency.itl_chunk_s
	Parts Parts   `json:"parts_s"` // their sum is the gap
}

// Parts is what a gap is made of, in seconds. The parts of prompts, speculation and copies are the time by which the
// step would be shorter without them.
type Parts struct {
	Weights       float64 `json:"weights"`
	KV            float64 `json:"kv"`
	Compute       float64 `json:"compute"`
	Communication float64 `json:"communication"`
	Overhead      float64 `json:"overhead"`
	Prefill       float64 `json:"prefill"`     // prompts in the same step, or in steps of their own before it
	Speculation   float64 `json:"speculation"` // drafting and verifying
	Copying       float64 `json:"copying"`     // between host memory and the GPU's
	Queueing      float64 `json:"queueing"`    // for admission, after a preemption, a failure or a KV transfer
	Recomputing   float64 `json:"recomputing"` // the KV cache that was dropped, from the next admission on
	KVTransfer    float64 `json:"kv_transfer"` // to another instance
}

// Gaps returns what the mean gap and the gaps at some quantiles are made of, without the tokens that came together.
func (a *Attribution) Gaps() []Gap {
	var all bin
	for i := range a.bins {
		all.add(&a.bins[i])
	}
	if all.n == 0 {
		return nil
	}
	gaps := []Gap{all.gap("mean")}
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", .5}, {"p90", .9}, {"p95", .95}, {"p99", .99}, {"p999", .999}} {
		rank, seen := uint64(max(1, math.Ceil(q.q*float64(all.n)))), uint64(0)
		for i := range a.bins {
			seen += a.bins[i].n
			if seen >= rank {
				gaps = append(gaps, a.bins[i].gap(q.name))
				break
			}
		}
	}
	return gaps
}

// fit makes gaps exactly as long as the quantiles that they stand for. A bin is 2 % wide and a quantile exact within
// 0.1 %, so that a reader of both would look for the reason of the difference. Parts are interpolated between the bin
// and the next one on that side; beyond the last bin they grow in proportion.
func (a *Attribution) fit(gaps []Gap, q *Quantiles) {
	for i, to := range [...]float64{q.Mean, q.P50, q.P90, q.P95, q.P99, q.P999} {
		if i == 0 || i >= len(gaps) || gaps[i].GapS == to || gaps[i].GapS == 0 {
			continue // the mean is exact
		}
		g := &gaps[i]
		beside := a.beside(g.GapS, to > g.GapS)
		share := (to - g.GapS) / (beside.GapS - g.GapS)
		other := beside.Parts.fields()
		for p, part := range g.Parts.fields() {
			*part += float64(share * (*other[p] - *part)) // rounds alike on any machine
		}
		g.GapS = to
	}
}

// beside returns the bin next to that of a gap, above or below, or an empty gap if there is none.
func (a *Attribution) beside(gapS float64, above bool) (near Gap) {
	for i := range a.bins {
		if a.bins[i].n == 0 {
			continue
		}
		switch g := a.bins[i].gap(""); {
		case !above && g.GapS < gapS:
			near = g
		case g.GapS > gapS:
			if above {
				near = g
			}
			return near
		}
	}
	return near
}

// N returns the number of gaps, without the tokens that came together.
func (a *Attribution) N() (n int64) {
	for i := range a.bins {
		n += int64(a.bins[i].n)
	}
	return n
}

func (b *bin) add(o *bin) {
	b.n += o.n
	for p := range b.parts {
		b.parts[p].Add(o.parts[p])
	}
}

// gap returns the mean gap of b.
func (b *bin) gap(at string) Gap {
	g := Gap{At: at}
	for p, part := range g.Parts.fields() {
		*part = b.parts[p].Float() / float64(b.n) * 1e-12
		g.GapS += *part
	}
	return g
}

// fields returns the parts in the order of sim.Wait.
func (p *Parts) fields() [sim.NumWaits]*float64 {
	return [...]*float64{
		sim.Weights: &p.Weights, sim.KV: &p.KV, sim.Compute: &p.Compute, sim.Communication: &p.Communication,
		sim.Overhead: &p.Overhead, sim.Prefill: &p.Prefill, sim.Drafting: &p.Speculation, sim.Copying: &p.Copying,
		sim.Queueing: &p.Queueing, sim.Recomputing: &p.Recomputing, sim.Transferring: &p.KVTransfer,
	}
}
