package transfer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/clock"
)

// TestInstancesHavePortsOfTheirOwn: two each, and none in a cluster without transfers.
func TestInstancesHavePortsOfTheirOwn(t *testing.T) {
	const n = 5
	l, seen := NewLinks(n), map[int32]bool{}
	for instance := range int32(n) {
		require.True(t, l.Between(instance))
		seen[Sending(instance)], seen[Receiving(instance)] = true, true
	}
	require.Len(t, seen, 2*n)
	require.False(t, l.Between(n))
	require.EqualValues(t, 2*n, l.AddPort(), "behind those of the instances")
	none := NewLinks(0)
	require.False(t, none.Between(0))
}

// TestWorkGrowsWithTheTokensThatAWindowStillSees: layers with a window of 50 tokens send no more of them.
func TestWorkGrowsWithTheTokensThatAWindowStillSees(t *testing.T) {
	link := Link{Latency: 1000, Fixed: 10, Token: 2, Windowed: 3, Window: 50}
	require.EqualValues(t, 10+20*2+20*3, link.Work(20))
	require.EqualValues(t, 10+50*2+50*3, link.Work(50))
	require.EqualValues(t, 10+100*2+50*3, link.Work(100))
}

// TestTakesIsWorkOverRate, rounded up, and no longer than the longest run.
func TestTakesIsWorkOverRate(t *testing.T) {
	for _, c := range []struct {
		work clock.Duration
		rate uint64
		want clock.Duration
	}{
		{0, One, 0}, {1, One, 1}, {100, One, 100}, {100, One / 2, 200}, {3, One / 4 * 3, 4}, {4, One / 4 * 3, 6},
		{1 << 62, 1, clock.Duration(clock.End)}, {clock.Duration(clock.End), One, clock.Duration(clock.End)},
		{clock.Duration(clock.End), One - 1, clock.Duration(clock.End)},
	} {
		require.Equal(t, c.want, Takes(c.work, c.rate), "%+v", c)
	}
}

// TestWhatIsReservedIsKeptFromTransfers: of a port with a quarter reserved, one transfer has three quarters, and one
// that takes half of a port all that it can.
func TestWhatIsReservedIsKeptFromTransfers(t *testing.T) {
	for weight, want := range map[uint64]uint64{One: One / 4 * 3, One / 2: One, One / 4 * 3: One} {
		l := NewLinks(0)
		port := l.AddPort()
		l.Reserve(port, One/4)
		through := [2]Use{{Port: port, Weight: weight}}
		require.Equal(t, want, l.Single(through))
		i := l.Add(Link{}, true, false)
		l.Transfer(i).Through = through
		l.Start(i, 0, 1000)
		l.Advance(0)
		require.Equal(t, want, rate(&l, i))
	}
}

// TestTransfersBesideShareAPort with one that passes it, by either of its ports.
func TestTransfersBesideShareAPort(t *testing.T) {
	l := NewLinks(6)
	for _, ends := range [][2]int32{{0, 1}, {0, 1}, {0, 2}, {3, 2}, {3, 4}} {
		i := l.Add(Link{}, true, false)
		l.Transfer(i).From, l.Transfer(i).To = End{ends[0], 0}, End{ends[1], 0}
		l.Start(i, 0, 1000)
	}
	require.Zero(t, l.Beside([2]Use{{Sending(0), One}, {Receiving(1), One}}), "none flows yet")
	for range 5 {
		l.Advance(0)
	}
	for ends, want := range map[[2]int32]int{{0, 1}: 3, {0, 2}: 4, {3, 1}: 4, {5, 2}: 2, {1, 0}: 0, {5, 5}: 0} {
		require.Equal(t, want, l.Beside([2]Use{{Sending(ends[0]), One}, {Receiving(ends[1]), One}}), "%v", ends)
	}
	require.Equal(t, 3, l.Beside([2]Use{{Port: Sending(0), Weight: One}, {Port: Sending(3)}}), "it passes one port")
	require.Equal(t, 2, l.Beside([2]Use{{Port: Sending(0)}, {Port: Sending(3), Weight: One}}), "the other")
}

// TestWhatStopsBeforeItFlowsLeavesNoTrace: of three transfers between different instances, the second stops before it
// begins. The others end as if it had never been, and its index is that of the next.
func TestWhatStopsBeforeItFlowsLeavesNoTrace(t *testing.T) {
	l := NewLinks(6)
	for k := range int32(3) {
		i := l.Add(Link{}, true, false)
		require.False(t, l.Transfer(0).Active())
		require.True(t, l.Transfer(i).Active())
		l.Transfer(i).From, l.Transfer(i).To = End{k, 0}, End{k + 3, 0}
		l.Start(i, clock.Time(10*(k+1)), 100)
	}
	require.Equal(t, clock.Time(10), l.At())
	l.Stop(1, 0)
	require.Equal(t, clock.Time(20), l.At())
	l.Stop(2, 5)
	require.Equal(t, clock.Time(30), l.At())
	l.Start(1, 40, 100)
	require.EqualValues(t, 2, l.Remove(2).Number)
	require.False(t, l.Transfer(2).Active())
	require.EqualValues(t, 2, l.Add(Link{}, false, true), "an index is used again")
	require.EqualValues(t, 4, l.Transfer(2).Number)
	require.EqualValues(t, 4, l.Len())
	var ends []clock.Time
	for l.At() != clock.Forever {
		now := l.At()
		if _, ended := l.Advance(now); ended {
			ends = append(ends, now)
		}
	}
	require.Equal(t, []clock.Time{130, 140}, ends)
}
