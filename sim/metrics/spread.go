package metrics

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/clock"
)

// spread is a Hist of few values: with the same buckets, of which it has only those between its least and its greatest
// value. A run has a few of them for each window.
type spread struct {
	first int // the bucket of count[0]
	count []uint64
	n     uint64
	sum   clock.Uint128 // of values, in picoseconds
	max   sim.Duration
}

// room makes room for the buckets from i to j, and an eighth of an octave on the sides that grow.
func (s *spread) room(i, j int) {
	const more = 1 << (subBits - 3)
	first, end := max(0, i-more), j+more
	if len(s.count) == 0 {
		s.first = first
	}
	first, end = min(first, s.first), max(end, s.first+len(s.count))
	count := make([]uint64, end-first)
	copy(count[s.first-first:], s.count)
	s.first, s.count = first, count
}

// add counts d, w times.
func (s *spread) add(d sim.Duration, w uint64) {
	i := bucket(d)
	if i < s.first || i >= s.first+len(s.count) {
		s.room(i, i)
	}
	s.count[i-s.first] += w
	s.n += w
	s.sum.AddProduct(uint64(d), w)
	s.max = max(s.max, d)
}

// addRun is Hist.AddRun.
func (s *spread) addRun(g *sim.Segment, n int, w uint64) {
	v, last := g.First, g.Step(n-1)
	i, end := bucket(v), bucket(last)
	if i < s.first || end >= s.first+len(s.count) {
		s.room(i, end)
	}
	s.n += uint64(n) * w
	s.sum.AddProduct(uint64(g.Span(n)), w)
	s.max = max(s.max, last)
	for left := n; ; {
		if i == end {
			s.count[i-s.first] += uint64(left) * w
			return
		}
		k := int((upper(i) - v + g.Growth - 1) / g.Growth)
		s.count[i-s.first] += uint64(k) * w
		v += sim.Duration(k) * g.Growth
		left -= k
		i = bucket(v)
	}
}

// merge adds the counts of o.
func (s *spread) merge(o *spread) {
	if o.n == 0 {
		return
	}
	if end := o.first + len(o.count) - 1; o.first < s.first || end >= s.first+len(s.count) {
		s.room(o.first, end)
	}
	for i, c := range o.count {
		s.count[o.first-s.first+i] += c
	}
	s.n += o.n
	s.sum.Add(o.sum)
	s.max = max(s.max, o.max)
}

// addTo adds the counts to h.
func (s *spread) addTo(h *Hist) {
	if end := s.first + len(s.count); end > len(h.count) {
		h.grow(end - 1)
	}
	for i, c := range s.count {
		h.count[s.first+i] += c
	}
	h.n += s.n
	h.sum.Add(s.sum)
	h.max = max(h.max, s.max)
}

// reset empties h.
func (h *Hist) reset() {
	if h.n > 0 {
		clear(h.count)
	}
	h.n, h.sum, h.max = 0, clock.Uint128{}, 0
}
