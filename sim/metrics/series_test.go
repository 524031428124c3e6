package metrics

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// observation is one value of the obvious series, which keeps them all.
type observation struct {
	of Of
	at sim.Time
	d  sim.Duration
	w  uint64
}

// TestASeriesIsWhatAListOfObservationsIs: whatever the order of reports, the parts of runs and the shards, slots and
// histograms have what a list of all observations has, sorted into slots of the final width.
func TestASeriesIsWhatAListOfObservationsIs(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		all, shards := NewSeries(), []*Series{NewSeries(), NewSeries(), NewSeries()}
		var list []observation
		var ended []sim.Request
		longest := 1 + r.Int64N(1<<uint(34+r.IntN(16)))
		for range 300 {
			shard := shards[r.IntN(3)]
			at := sim.Time(r.Int64N(longest))
			switch r.IntN(3) {
			case 0: // a run, in parts
				g := sim.Segment{First: sim.Duration(1 + r.Int64N(1<<36)), Growth: sim.Duration(r.Int64N(1 << 20))}
				n, tokens := 1+r.IntN(200), uint64(1+r.IntN(50))
				all.run(at, &g, n, tokens)
				for i := range n {
					list = append(list, observation{OfITL, at.Add(g.Span(i + 1)), g.Step(i), tokens})
				}
				cut := r.IntN(n + 1)
				if cut > 0 {
					shard.run(at, &g, cut, tokens)
				}
				if rest := g.Tail(cut); cut < n {
					shard.run(at.Add(g.Span(cut)), &rest, n-cut, tokens)
				}
			case 1:
				d := sim.Duration(r.Int64N(1 << 42))
				all.gap(at, d, 3)
				shard.gap(at, d, 3)
				list = append(list, observation{OfITL, at, d, 3})
			case 2:
				q := sim.Request{Arrival: at}
				d := sim.Duration(r.Int64N(1 << 42))
				for _, s := range []*Series{all, shard} {
					s.request(OfTTFT, &q, d)
					s.ended(&q, at.Add(d), sim.Completed, d < 1<<41)
				}
				list = append(list, observation{OfTTFT, at, d, 1})
				q.Last = at.Add(d)
				ended = append(ended, q)
			}
		}
		merged := shards[0]
		merged.merge(shards[1])
		merged.merge(shards[2])
		require.Equal(t, all.Slots(), merged.Slots(), "seed %d", seed)
		require.Equal(t, all.Arrivals(), merged.Arrivals(), "seed %d", seed)
		requireListed(t, all, list, ended)
	}
}

// requireListed compares a series with the obvious one.
func requireListed(t *testing.T, s *Series, list []observation, ended []sim.Request) {
	t.Helper()
	want := make([]Slot, len(s.Slots()))
	var coarse [slotsMax / GroupSlots]group
	for _, o := range list {
		i := int(o.at >> s.shift)
		v := &want[i].Sum[o.of]
		v.N += o.w
		v.Sum.AddProduct(uint64(o.d), o.w)
		g := &coarse[i/GroupSlots][o.of]
		for len(*g) <= bucket(o.d)>>coarseBits {
			*g = append(*g, 0)
		}
		(*g)[bucket(o.d)>>coarseBits] += o.w
	}
	for _, q := range ended {
		v := &want[q.Arrival>>s.shift]
		v.Arrived++
		v.Judged++
		if q.Last.Sub(q.Arrival) < 1<<41 {
			v.Good++
		}
		want[q.Last>>s.shift].Ended++
	}
	require.Equal(t, want, s.Slots())
	for i := range coarse {
		for of := range NumSeries {
			below := 0.0
			for at, n := range coarse[i][of] {
				if n > 0 {
					require.InDelta(t, below, s.Below(of, i, upper(at<<coarseBits-1)), 1e-6)
				}
				below += float64(n)
			}
			beyond := upper(len(s.groups[i][of])<<coarseBits - 1)
			require.InDelta(t, below, s.Below(of, i, beyond), 1e-6)
			require.InDelta(t, below, s.Below(of, i, 1<<60), 1e-6)
		}
	}
}

// A series needs no memory for more requests once it has slots and buckets for them.
func TestASeriesAllocatesNothingPerRequest(t *testing.T) {
	s := NewSeries()
	q := sim.Request{}
	g := sim.Segment{First: 1e10, Growth: 1e3}
	fill := func() {
		for i := range 1000 {
			q.Arrival = sim.Time(i) * 1e11
			s.request(OfTTFT, &q, 1e10)
			s.ended(&q, q.Arrival.Add(1e11), sim.Completed, true)
			s.run(q.Arrival, &g, 10, 4)
		}
	}
	fill()
	require.Zero(t, testing.AllocsPerRun(10, fill))
}

// TestStepsAreCountedInTheBucketsOfTheirLength: of steps that grow by a few picoseconds across an edge.
func TestStepsAreCountedInTheBucketsOfTheirLength(t *testing.T) {
	at := bucket(20*sim.Microsecond) >> coarseBits
	edge, high := upper(at<<coarseBits-1), upper((at+1)<<coarseBits-1)
	for growth := sim.Duration(1); growth < 4; growth++ {
		for before := sim.Duration(1); before < 7; before++ {
			s, n := NewSeries(), 10
			g := sim.Segment{First: edge - before, Growth: growth, Steps: n}
			s.run(0, &g, n, 2)
			list := []observation{}
			for i := range n {
				list = append(list, observation{OfITL, sim.Time(g.Span(i + 1)), g.Step(i), 2})
			}
			requireListed(t, s, list, nil)
			shorter, below, half := float64(2*((before+growth-1)/growth)), 0.0, 0.0
			for group := range s.groups {
				below += s.Below(OfITL, group, edge)
				half += s.Below(OfITL, group, edge+(high-edge)/2)
			}
			require.InDelta(t, shorter, below, 1e-9)
			require.InDelta(t, shorter+(20-shorter)/2, half, 1e-6, "half of the bucket")
		}
	}
}
