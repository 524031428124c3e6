package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestRentsAreByTheWayAReplicaIsBought: of ten replicas four are reserved at 1 USD an hour and paid in any case, three
// are on demand at 2 and begin before the three spot ones at 0.5; more than ten are on demand, too.
func TestRentsAreByTheWayAReplicaIsBought(t *testing.T) {
	p := PoolDescription{Replicas: 10, USDPerHour: 2, Reserved: Purchase{4, 1}, Spot: Purchase{3, 0.5}}
	for up, want := range map[float64][3]float64{
		0: {4, 0, 0}, 2: {4, 0, 0}, 4: {4, 0, 0}, 5: {4, 2, 0}, 7: {4, 6, 0}, 8.5: {4, 6, 0.75}, 10: {4, 6, 1.5},
		12: {4, 10, 1.5},
	} {
		reserved, onDemand, spot := p.rents(up)
		assert.Equal(t, want, [3]float64{reserved, onDemand, spot}, "%g are up", up)
		assert.Equal(t, want[0]+want[1]+want[2], p.USDPerHourAt(up), "%g are up", up)
	}
	for up, want := range map[float64]float64{0: 0, 2.5: 5, 3: 6} {
		p = PoolDescription{Replicas: 3, USDPerHour: 2}
		assert.Equal(t, want, p.USDPerHourAt(up))
		p = PoolDescription{Replicas: 3, USDPerHour: 9, Spot: Purchase{3, 2}}
		assert.Equal(t, want, p.USDPerHourAt(up))
		p = PoolDescription{Replicas: 3, USDPerHour: 9, Reserved: Purchase{3, 2}}
		assert.Equal(t, 6.0, p.USDPerHourAt(up))
	}
}

// TestThePeakIsWhatTheBusiestWindowNeedsBeyondTheMean, over whole windows.
func TestThePeakIsWhatTheBusiestWindowNeedsBeyondTheMean(t *testing.T) {
	of := func(last float64, arrived ...int64) *OverTime {
		o := &OverTime{WidthS: 10}
		for i, n := range arrived {
			w := WindowResult{FromS: 10 * float64(i), ToS: 10 * float64(i+1), Arrived: n}
			if i == len(arrived)-1 {
				w.ToS = w.FromS + last
			}
			o.Windows = append(o.Windows, w)
		}
		return o
	}
	for i, c := range []struct {
		o    *OverTime
		want float64
	}{
		{nil, 0}, {of(10), 0}, {of(10, 5), 0}, {of(10, 0, 0), 0}, {of(10, 10, 20, 30), 1. / 3}, {of(10, 30, 10), 1. / 3},
		{of(9.99, 10, 20, 30), 1. / 3}, {of(9.98, 10, 20, 30), .25}, {of(10, 10, 20, 0), .25}, {of(10, 0, 30, 15), .5},
		{of(5, 10, 30), 0}, {of(10, 7, 7, 7), 0},
	} {
		assert.InDelta(t, c.want, peakShare(c.o), 1e-12, i)
	}
}

// TestQueuesAreObservedEvenly: however many requests come, there are from 32 to 64 observations from about the first
// arrival to the last one, and no two neighbours are further apart than twice the 64th part of all.
func TestQueuesAreObservedEvenly(t *testing.T) {
	l := load{cluster: new(sim.Cluster), schedule: schedule{every: 1}}
	due := l.next(0)
	for arrived := int64(1); arrived <= 5000; arrived++ {
		if arrived < due {
			continue
		}
		require.Equal(t, due, arrived)
		l.record(arrived)
		due = l.next(arrived)
		require.LessOrEqual(t, l.n, depthsMax)
		require.GreaterOrEqual(t, l.n, int(min(arrived, depthsMax/2)))
		require.Equal(t, arrived, l.depths[l.n-1].arrived)
		last, farthest := int64(0), max(1, arrived/(depthsMax/2))
		for _, d := range l.depths[:l.n] {
			require.Greater(t, d.arrived, last)
			require.LessOrEqual(t, d.arrived-last, farthest, "after %d", arrived)
			last = d.arrived
		}
	}
}

// TestASpreadIsAHistogram: values, runs of steps and sums of spreads are counted as a histogram counts them. Every
// other value is a bound between two buckets.
func TestASpreadIsAHistogram(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	value := func() sim.Duration {
		v := sim.Duration(random.Int64N(1 << (1 + random.IntN(45))))
		if random.IntN(2) == 0 {
			v = upper(bucket(v))
		}
		return v
	}
	for range 300 {
		var want Hist
		var parts [2]spread
		for range random.IntN(8) {
			s, w := &parts[random.IntN(2)], uint64(1+random.IntN(5))
			if random.IntN(2) == 0 {
				d := value()
				s.add(d, w)
				want.Add(d, w)
				continue
			}
			g := &sim.Segment{First: value(), Growth: sim.Duration(random.Int64N(1 << random.IntN(30))), Steps: 100}
			if random.IntN(2) == 0 {
				g.Growth = upper(random.IntN(100))
			}
			n := 1 + random.IntN(100)
			s.addRun(g, n, w)
			want.AddRun(g, n, w)
		}
		var got, several Hist
		parts[0].addTo(&several)
		parts[1].addTo(&several)
		parts[0].merge(&parts[1])
		parts[0].addTo(&got)
		for _, h := range []*Hist{&got, &several} {
			require.Equal(t, want.n, h.n)
			require.Equal(t, want.sum, h.sum)
			require.Equal(t, want.max, h.max)
			buckets := max(len(want.count), len(h.count))
			require.Equal(t, filled(want.count, buckets), filled(h.count, buckets))
		}
	}
}

// filled returns so many buckets: counts, and behind them zeros.
func filled(counts []uint64, buckets int) []uint64 {
	return append(slices.Clone(counts), make([]uint64, buckets-len(counts))...)
}

// TestJoulesArePowerOverTheTimeOfPhases: of 100 s up 60 are busy, 20 of them with prompts. Steps of decodes alone take
// the other 40, of which their bound is 10, or more than they took.
func TestJoulesArePowerOverTheTimeOfPhases(t *testing.T) {
	p := Power{IdleW: 100, PrefillW: 600, DecodeW: 300, PeakW: 500, HostW: 50}
	for bound, decode := range map[float64]float64{0: 300 * 40, 10: 300*40 + 200*10, 50: 500 * 40} {
		of := sim.PoolTotals{UpS: 100, BusyS: 60}
		of.Phases.PrefillS, of.Phases.DecodeBoundS = 20, bound
		assert.Equal(t, Phases{Idle: 100 * 40, Prefill: 600 * 20, Decode: decode, Host: 50 * 100}, p.Joules(&of))
	}
}

// TestAWindowOfAThousandthLessIsWhole: of 4, 0 and 2 arrivals the mean is half of the most, and without the window of
// none three quarters.
func TestAWindowOfAThousandthLessIsWhole(t *testing.T) {
	for end, want := range map[float64]float64{1: .5, .999: .5, .998: .25} {
		o := &OverTime{WidthS: 1, Windows: []WindowResult{{ToS: 1, Arrived: 4}, {ToS: end}, {ToS: 1, Arrived: 2}}}
		assert.InDelta(t, want, peakShare(o), 1e-12, "%g s", end)
	}
}
