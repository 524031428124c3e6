package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/clock"
)

// Series keeps a run in order of time, in bounded memory: counts and sums for each of at most 512 slots of equal width,
// and coarse histograms for each two of them. Where a run outlasts the slots it merges them in pairs and doubles their
// width. All of it is integers that belong to an instant, so neither the order in which a run is reported nor the parts
// in which it is simulated make a difference.
//
// A request belongs to the slot in which it arrived, a task to that in which it began, and a gap between chunks of
// tokens to that of its second chunk. The warm-up of the Recorder does not count here: where a warm-up ends is one of
// the things a series is asked.
type Series struct {
	shift  uint     // a slot is 2^shift ps wide
	last   sim.Time // arrival of a request that has ended
	used   int      // slots up to the last one with anything in it
	slots  [slotsMax]Slot
	groups [slotsMax / GroupSlots]group
}

// Slot is what belongs to one slot of time.
type Slot struct {
	Arrived, Ended int64 // requests
	Judged, Good   int64 // requests that arrived in it and had an outcome, and those that met the SLO
	Sum            [NumSeries]SlotSum
}

// SlotSum is the number of observations of a slot and their sum in picoseconds.
type SlotSum struct {
	N   uint64
	Sum clock.Uint128
}

// Of is a latency that a Series follows.
type Of uint8

// The latencies of a Series.
const (
	OfTTFT Of = iota
	OfITL
	OfTPOT
	OfE2E
	OfTask
	NumSeries
)

const (
	slotsMax   = 512
	slotShift  = 33 // the first slots are 2^33 ps wide, about 8.6 ms
	GroupSlots = 2  // slots that share a histogram
	coarseBits = subBits - 3
)

// group is the histograms of the slots of a group, with 8 buckets per octave.
type group [NumSeries][]uint64

// NewSeries returns a series without observations.
func NewSeries() *Series { return &Series{shift: slotShift} }

// slot returns the slot of an instant.
func (s *Series) slot(t sim.Time) int {
	if i := uint64(t) >> (s.shift & 63); i < uint64(s.used) { // nearly always
		return int(i)
	}
	return s.newSlot(t)
}

// newSlot returns the slot of an instant that may lie after all the slots used so far.
func (s *Series) newSlot(t sim.Time) int {
	i := uint64(t) >> (s.shift & 63)
	for i >= slotsMax {
		s.coarsen()
		i >>= 1
	}
	s.used = max(s.used, int(i)+1)
	return int(i)
}

// coarsen merges slots and groups in pairs.
func (s *Series) coarsen() {
	s.shift++
	s.used = (s.used + 1) / 2
	for i := range s.slots {
		if 2*i >= slotsMax {
			s.slots[i] = Slot{}
			continue
		}
		v := s.slots[2*i]
		v.add(&s.slots[2*i+1])
		s.slots[i] = v
	}
	for i := range s.groups {
		if 2*i >= len(s.groups) {
			s.groups[i] = group{}
			continue
		}
		v := s.groups[2*i]
		v.add(&s.groups[2*i+1])
		s.groups[i] = v
	}
}

func (v *Slot) add(o *Slot) {
	v.Arrived += o.Arrived
	v.Ended += o.Ended
	v.Judged += o.Judged
	v.Good += o.Good
	for m := range v.Sum {
		v.Sum[m].N += o.Sum[m].N
		v.Sum[m].Sum.Add(o.Sum[m].Sum)
	}
}

// add adds the counts of o, and may keep its memory.
func (v *group) add(o *group) {
	for m, counts := range o {
		if len(v[m]) < len(counts) {
			v[m], counts = counts, v[m]
		}
		for i, n := range counts {
			v[m][i] += n
		}
	}
}

// count counts d, of an instant in slot i, w times.
func (s *Series) count(m Of, i int, d sim.Duration, w uint64) {
	v := &s.slots[i].Sum[m]
	v.N += w
	v.Sum.AddProduct(uint64(d), w)
	s.coarse(m, i, bucket(d)>>coarseBits, w)
}

// coarse adds to a bucket of the group of slot i.
func (s *Series) coarse(m Of, i, at int, w uint64) {
	g := &s.groups[i/GroupSlots][m]
	if at >= len(*g) {
		more := make([]uint64, at+1<<(subBits-coarseBits))
		copy(more, *g)
		*g = more
	}
	(*g)[at] += w
}

// run counts n steps of g, from start on, that each emitted so many tokens: each in the slot in which it ends.
func (s *Series) run(start sim.Time, g *sim.Segment, n int, tokens uint64) {
	if n == 1 {
		s.gap(start.Add(g.First), g.First, tokens)
		return
	}
	last := s.slot(start.Add(g.Span(n))) // first, for it may widen the slots
	i := s.slot(start.Add(g.First))
	if i == last {
		s.steps(i, g, n, tokens)
		return
	}
	rest := *g
	for n > 0 {
		i = s.slot(start.Add(rest.First))
		end := sim.Time(uint64(i+1) << (s.shift & 63))
		k := min(n, rest.Ended(end.Sub(start)-1))
		s.steps(i, &rest, k, tokens)
		start = start.Add(rest.Span(k))
		rest = rest.Tail(k)
		n -= k
	}
}

// steps counts n steps of g, all of which end in slot i.
func (s *Series) steps(i int, g *sim.Segment, n int, tokens uint64) {
	v := &s.slots[i].Sum[OfITL]
	v.N += uint64(n) * tokens
	v.Sum.AddProduct(uint64(g.Span(n)), tokens)
	at, end := bucket(g.First)>>coarseBits, bucket(g.Step(n-1))>>coarseBits
	for d, left := g.First, n; ; at = bucket(d) >> coarseBits {
		if at == end {
			s.coarse(OfITL, i, at, uint64(left)*tokens)
			return
		}
		k := int((upper(at<<coarseBits|(1<<coarseBits-1)) - d + g.Growth - 1) / g.Growth)
		s.coarse(OfITL, i, at, uint64(k)*tokens)
		d += sim.Duration(k) * g.Growth
		left -= k
	}
}

// gap counts gaps between chunks of tokens that end at t.
func (s *Series) gap(t sim.Time, d sim.Duration, tokens uint64) { s.count(OfITL, s.slot(t), d, tokens) }

// request counts a latency of a request in the slot of its arrival.
func (s *Series) request(m Of, r *sim.Request, d sim.Duration) {
	i := s.slot(r.Arrival)
	v := &s.slots[i].Sum[m]
	v.N++
	v.Sum.AddOne(uint64(d))
	s.coarse(m, i, bucket(d)>>coarseBits, 1)
}

// task counts the time of a task that was completed.
func (s *Series) task(t *Task) { s.count(OfTask, s.slot(t.Begun), t.Ended.Sub(t.Begun), 1) }

// ended counts a request that ended at an instant, and whether it met the SLO.
func (s *Series) ended(r *sim.Request, at sim.Time, o sim.Outcome, good bool) {
	s.last = max(s.last, r.Arrival)
	i := s.slot(max(at, r.Arrival)) // first, for it may widen the slots
	v := &s.slots[s.slot(r.Arrival)]
	v.Arrived++
	if o == sim.Unfinished {
		return
	}
	s.slots[i].Ended++
	v.Judged++
	if good {
		v.Good++
	}
}

// merge adds what another series of the same run has counted.
func (s *Series) merge(o *Series) {
	for s.shift < o.shift {
		s.coarsen()
	}
	for o.shift < s.shift {
		o.coarsen()
	}
	s.used, s.last = max(s.used, o.used), max(s.last, o.last)
	for i := range s.slots {
		s.slots[i].add(&o.slots[i])
	}
	for i := range s.groups {
		s.groups[i].add(&o.groups[i])
	}
}

// Slots returns the slots, from the start of the run to the last one with anything in it.
func (s *Series) Slots() []Slot { return s.slots[:s.used] }

// Arrivals returns the slots before that of the last arrival: while requests arrive.
func (s *Series) Arrivals() []Slot { return s.slots[:min(s.used, int(uint64(s.last)>>(s.shift&63)))] }

// WidthS returns the width of a slot in seconds.
func (s *Series) WidthS() float64 { return math.Ldexp(1e-12, int(s.shift)) }

// Below returns about how many observations of a group of slots are at most d: those of the bucket that holds d are
// spread evenly over it.
func (s *Series) Below(m Of, group int, d sim.Duration) float64 {
	at := bucket(d) >> coarseBits
	low, high := upper(at<<coarseBits-1), upper(at<<coarseBits|(1<<coarseBits-1))
	share := float64(d-low) / float64(high-low)
	counts, sum := s.groups[group][m], 0.0
	for i := range min(at, len(counts)) {
		sum += float64(counts[i])
	}
	if at < len(counts) {
		sum += float64(share * float64(counts[at]))
	}
	return sum
}
