package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/clock"
)

// Attribution sums what gaps between tokens are made of, by the length of the gap: which share of the p99 gap is
// prompts, which is reading weights. It counts each run of steps at once, and never a single token.
type Attribution struct {
	bins []bin // by bucket of the histogram, coarsened
}

// bin is the gaps of about one length: their number, and Σ of what they are made of.
type bin struct {
	n     uint64
	parts [sim.NumWaits]clock.Uint128
}

// coarse is the bits by which buckets of the histogram are coarsened into bins: 32 bins per octave.
const coarse = subBits - 5

// bin returns the bin of the gaps in bucket i of a histogram.
func (a *Attribution) bin(i int) *bin {
	i >>= coarse
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
	a.bin(bucket(gap)).gaps(s, w)
}

// step counts the step of in that is being reported, of bucket i, which consists of parts and emitted so many tokens.
func (a *Attribution) step(in *sim.Instance, parts *sim.Parts, tokens uint64, i int) {
	b := a.bin(i)
	if in.DecodeOnly() {
		b.steps(1, parts, tokens)
		return
	}
	s := in.StepBreakdown()
	b.gaps(&s, tokens)
}

// run counts n decode-only steps of g, w times each, which consist of parts in all: bin by bin, not step by step. The
// first of them is of bucket first and the last of bucket last, mostly in one bin.
func (a *Attribution) run(g *sim.Segment, n int, parts *sim.Parts, w uint64, first, last int) {
	b := a.bin(first)
	if first>>coarse == last>>coarse {
		b.steps(n, parts, w)
		return
	}
	for i := 0; i < n; {
		d := g.Step(i)
		first = bucket(d)
		edge := upper(first | (1<<coarse - 1))
		k := min(n-i, int((edge-d+g.Growth-1)/g.Growth))
		g.Sum(i, k, parts)
		a.bin(first).steps(k, parts, w)
		i += k
	}
}

// gaps adds w gaps made of s.
func (b *bin) gaps(s *sim.Breakdown, w uint64) {
	b.steps(1, (*sim.Parts)(s[:sim.NumParts]), w)
	for p := sim.Prefill; p < sim.NumWaits; p++ {
		if s[p] > 0 {
			b.parts[p].AddProduct(uint64(s[p]), w)
		}
	}
}

// steps adds n steps that consist of parts in all, w times.
func (b *bin) steps(n int, parts *sim.Parts, w uint64) {
	b.n += uint64(n) * w
	(*partSums)(b.parts[:sim.NumParts]).add(parts, w)
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
	Prefill       float64 `json:"prefill"`            // prompts in the same step, or in steps of their own before it
	Speculation   float64 `json:"speculation"`        // drafting and verifying
	Copying       float64 `json:"copying"`            // between host memory and the GPU's
	Pipeline      float64 `json:"pipeline,omitempty"` // waiting for stages that work on other batches
	Queueing      float64 `json:"queueing"`           // for admission, after a preemption, a failure or a KV transfer
	Recomputing   float64 `json:"recomputing"`        // the KV cache that was dropped, from the next admission on
	KVTransfer    float64 `json:"kv_transfer"`        // to another instance
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
		*part = float64(b.parts[p].Float() / float64(b.n) * 1e-12)
		g.GapS += *part
	}
	return g
}

// fields returns the parts in the order of sim.Wait.
func (p *Parts) fields() [sim.NumWaits]*float64 {
	return [...]*float64{
		sim.Weights: &p.Weights, sim.KV: &p.KV, sim.Compute: &p.Compute, sim.Communication: &p.Communication,
		sim.Overhead: &p.Overhead, sim.Prefill: &p.Prefill, sim.Drafting: &p.Speculation, sim.Copying: &p.Copying,
		sim.Staging: &p.Pipeline, sim.Queueing: &p.Queueing, sim.Recomputing: &p.Recomputing, sim.Transferring: &p.KVTransfer,
	}
}
