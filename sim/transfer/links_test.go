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
	require.Empty(t, l.active)
}
