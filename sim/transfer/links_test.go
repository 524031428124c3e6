package transfer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/clock"
)

// run starts transfers of so many tokens from instance 0 to the instances named, one per time unit, and returns when
// each of them ends.
func run(tokens int32, to ...int32) []clock.Time {
	l := NewLinks(4)
	link := Link{Latency: 5, Fixed: 10, Token: 2}
	for k, instance := range to {
		i := l.Add(link, true, false)
		t := l.Transfer(i)
		t.From, t.To = End{0, 0}, End{instance, 0}
		l.Start(i, clock.Time(k).Add(link.Latency), link.Work(tokens))
	}
	ends := make([]clock.Time, len(to))
	for l.At() != clock.Forever {
		now := l.At()
		if i, ended := l.Advance(now); ended {
			ends[i-1] = now
			l.Remove(i)
		}
	}
	return ends
}

// TestOneTransferTakesItsLink: latency, what does not grow, and every token.
func TestOneTransferTakesItsLink(t *testing.T) {
	require.Equal(t, []clock.Time{5 + 10 + 2*100}, run(100, 1))
}

// TestTransfersShareAPort: two transfers from one instance take twice as long while both flow, wherever they go.
func TestTransfersShareAPort(t *testing.T) {
	for _, to := range [][]int32{{1, 1}, {1, 2}} {
		require.Equal(t, []clock.Time{5 + 2*210 - 1, 5 + 2*210}, run(100, to...))
	}
}

// TestATransferThatStopsLeavesItsPorts: the other one goes on at full speed.
func TestATransferThatStopsLeavesItsPorts(t *testing.T) {
	l := NewLinks(2)
	for range 2 {
		i := l.Add(Link{}, true, false)
		l.Transfer(i).From, l.Transfer(i).To = End{0, 0}, End{1, 0}
		l.Start(i, 0, 100)
	}
	l.Advance(0)
	l.Advance(0)
	require.Equal(t, clock.Time(200), l.At())
	l.Stop(1, 100)
	require.Equal(t, clock.Time(150), l.At(), "half of it was transferred at half speed")
	i, ended := l.Advance(150)
	require.Equal(t, int32(2), i)
	require.True(t, ended)
	require.Empty(t, l.paths[0].flows)
}

// TestRatesAreMaxMinFair: of four transfers three leave instance 0, which has a third for each; the fourth shares a
// receiver with one of them and has what that cannot use, two thirds.
func TestRatesAreMaxMinFair(t *testing.T) {
	l := NewLinks(6)
	var transfers []int32
	for _, ends := range [][2]int32{{0, 2}, {0, 3}, {0, 4}, {1, 4}} {
		i := l.Add(Link{}, true, false)
		l.Transfer(i).From, l.Transfer(i).To = End{ends[0], 0}, End{ends[1], 0}
		l.Start(i, 0, 3000)
		transfers = append(transfers, i)
	}
	for range transfers {
		l.Advance(0)
	}
	for k, want := range []float64{1. / 3, 1. / 3, 1. / 3, 2. / 3} {
		require.InDelta(t, want, float64(rate(&l, transfers[k]))/One, 1e-8)
	}
	i, ended := l.Advance(l.At())
	require.True(t, ended)
	require.Equal(t, transfers[3], i)
	require.InDelta(t, 1./3, float64(rate(&l, transfers[2]))/One, 1e-8, "its sender has no more")
}

// TestPortsAreFilledByWeight: two transfers that take half of a port each when alone do not slow each other down; a
// third that takes all of it leaves the three of them a half each.
func TestPortsAreFilledByWeight(t *testing.T) {
	l := NewLinks(0)
	port := l.AddPort()
	for _, weight := range []uint64{One / 2, One / 2, One} {
		i := l.Add(Link{}, true, false)
		l.Transfer(i).Through = [2]Use{{Port: port, Weight: weight}}
		l.Start(i, 0, 1000)
		l.Advance(0)
		want := map[uint64]uint64{One / 2: One, One: One / 2}[weight]
		require.Equal(t, want, rate(&l, i))
	}
	require.Equal(t, uint64(One/2), rate(&l, 1))
}

func rate(l *Links, i int32) uint64 { return l.paths[l.Transfer(i).path].rate }
