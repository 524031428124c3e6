package metrics

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/clock"
)

const (
	// subBits makes 512 buckets per octave: a bucket's midpoint is within 0.1 % of every value in it.
	subBits = 9
	// floorBits is the resolution, 2^10 ps ≈ 1 ns, below which values share buckets.
	floorBits = 10
)

// Hist is a log-linear histogram of durations (the bucketing of HdrHistogram). Counts are integers: merging is exact
// and the order of insertion irrelevant. The zero Hist is empty; its array grows to the range used.
type Hist struct {
	count []uint64
	n     uint64
	sum   clock.Uint128 // of values, in picoseconds
	max   sim.Duration
}

// bucket returns the bucket of d. Exponent and leading digits of a binary fraction are the bucket, but for an offset,
// and the conversion to one is exact: u has at most 53 bits.
func bucket(d sim.Duration) int {
	u := int64(uint64(d) >> floorBits)
	if u < 1<<subBits {
		return int(u)
	}
	const offset = (1023 + subBits - 1) << subBits // of the exponent of 2^subBits, in the form of IEEE 754
	return int(math.Float64bits(float64(u))>>(52-subBits)) - offset
}

// upper returns the exclusive upper bound of bucket i; −1 is that below the first one.
func upper(i int) sim.Duration {
	if i < 2<<subBits {
		return sim.Duration(i+1) << floorBits
	}
	shift := i>>subBits - 1
	return sim.Duration(i-shift<<subBits+1) << uint(shift) << floorBits
}

// midpoint returns the value that stands for bucket i.
func midpoint(i int) float64 {
	return (float64(upper(i-1)) + float64(upper(i))) / 2
}

// Add counts d, w times.
func (h *Hist) Add(d sim.Duration, w uint64) { h.addAt(bucket(d), d, w) }

// addAt counts d, of bucket i, w times.
func (h *Hist) addAt(i int, d sim.Duration, w uint64) {
	if i >= len(h.count) {
		h.grow(i)
	}
	h.count[i] += w
	h.n += w
	h.sum.AddProduct(uint64(d), w)
	h.max = max(h.max, d)
}

// One counts d once.
func (h *Hist) One(d sim.Duration) {
	i := bucket(d)
	if i >= len(h.count) {
		h.grow(i)
	}
	h.count[i]++
	h.n++
	h.sum.AddOne(uint64(d))
	h.max = max(h.max, d)
}

// AddRun counts the lengths of the first n steps of g, w times each. It costs one operation per bucket crossed, not per
// step.
func (h *Hist) AddRun(g *sim.Segment, n int, w uint64) {
	h.addRun(g, n, w, bucket(g.First), bucket(g.Step(n-1)))
}

// addRun is AddRun, where the first of the steps is of bucket i and the last of bucket end.
func (h *Hist) addRun(g *sim.Segment, n int, w uint64, i, end int) {
	if end >= len(h.count) {
		h.grow(end)
	}
	h.n += uint64(n) * w
	h.sum.AddProduct(uint64(g.Span(n)), w)
	h.max = max(h.max, g.Step(n-1))
	v := g.First
	for left := n; ; {
		if i == end {
			h.count[i] += uint64(left) * w
			return
		}
		k := int((upper(i) - v + g.Growth - 1) / g.Growth)
		h.count[i] += uint64(k) * w
		v += sim.Duration(k) * g.Growth
		left -= k
		i = bucket(v)
	}
}

// grow makes room for the half octave of bucket i, so that equal samples make equal histograms whatever their order.
func (h *Hist) grow(i int) {
	count := make([]uint64, (i>>(subBits-1)+1)<<(subBits-1))
	copy(count, h.count)
	h.count = count
}

// Merge adds the counts of o.
func (h *Hist) Merge(o *Hist) {
	if len(o.count) > len(h.count) {
		h.grow(len(o.count) - 1)
	}
	for i, c := range o.count {
		h.count[i] += c
	}
	h.n += o.n
	h.sum.Add(o.sum)
	h.max = max(h.max, o.max)
}

// N returns the number of values.
func (h *Hist) N() int64 { return int64(h.n) }

// MeanS returns the mean in seconds, NaN if there is none.
func (h *Hist) MeanS() float64 {
	if h.n == 0 {
		return math.NaN()
	}
	return float64(h.sum.Float() / float64(h.n) * 1e-12)
}

// MaxS returns the greatest value in seconds, NaN if there is none.
func (h *Hist) MaxS() float64 {
	if h.n == 0 {
		return math.NaN()
	}
	return h.max.Seconds()
}

// QuantileS returns the nearest-rank quantile in seconds, that of rank ⌈q·n⌉, as the midpoint of its bucket; NaN if
// there is none. It never exceeds the maximum.
func (h *Hist) QuantileS(q float64) float64 { return h.quantileAmong(q, 0) }

// quantileAmong is QuantileS with so many values more that are longer than all: +Inf if it is one of them.
func (h *Hist) quantileAmong(q float64, longer int64) float64 {
	all := h.n + uint64(longer)
	rank := max(1, uint64(math.Ceil(q*float64(all))))
	switch {
	case all == 0:
		return math.NaN()
	case rank > h.n:
		return math.Inf(1)
	}
	return h.valueS(h.bucketOf(rank))
}

// withoutZeros returns h without n of its values of zero.
func (h *Hist) withoutZeros(n uint64) Hist {
	rest := *h
	rest.count = append([]uint64(nil), h.count...)
	rest.count[0] -= n
	rest.n -= n
	return rest
}

// rank returns the bucket of the nearest-rank quantile; h must not be empty.
func (h *Hist) rank(q float64) int { return h.bucketOf(max(1, uint64(math.Ceil(q*float64(h.n))))) }

// bucketOf returns the bucket of the value of a rank, from 1.
func (h *Hist) bucketOf(rank uint64) int {
	seen := uint64(0)
	for i, c := range h.count {
		seen += c
		if seen >= rank {
			return i
		}
	}
	panic("metrics: a rank beyond all values")
}

// from returns how many values are in bucket i or above.
func (h *Hist) from(i int) uint64 {
	var n uint64
	for ; i < len(h.count); i++ {
		n += h.count[i]
	}
	return n
}

// Quantiles returns the summary of the distribution.
func (h *Hist) Quantiles() Quantiles {
	return Quantiles{
		N: h.N(), Mean: h.MeanS(), P50: h.QuantileS(.5), P90: h.QuantileS(.9), P95: h.QuantileS(.95),
		P99: h.QuantileS(.99), P999: h.QuantileS(.999), Max: h.MaxS(),
	}
}

// Each calls f for every occupied bucket in increasing order, with what quantiles in it are, in seconds, and its count.
func (h *Hist) Each(f func(seconds float64, count int64)) {
	for i, c := range h.count {
		if c > 0 {
			f(h.valueS(i), int64(c))
		}
	}
}

// valueS is what stands for a value in bucket i, in seconds: 0 in the first, and never more than the maximum.
func (h *Hist) valueS(i int) float64 {
	if i == 0 {
		return 0
	}
	return min(midpoint(i), float64(h.max)) * 1e-12
}

// Counts returns everything exact about h, for comparison: the counts up to the last occupied bucket, then n, the sum
// and the maximum.
func (h *Hist) Counts() []uint64 {
	last := len(h.count)
	for last > 0 && h.count[last-1] == 0 {
		last--
	}
	return slices.Concat(h.count[:last], []uint64{h.n, h.sum.Hi, h.sum.Lo, uint64(h.max)})
}
