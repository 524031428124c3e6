package requests

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestClientsCancel: the earlier of the time-out and of their own patience, which has its mean and its share.
func TestClientsCancel(t *testing.T) {
	const n, arrival = 20_000, 5 * sim.Second
	waits := func(p Patience, seed uint64) (all []float64) { // seconds; 0: for ever
		d, err := NewDeadlines(p, seed)
		require.NoError(t, err)
		for range n {
			r := sim.Request{Arrival: sim.Time(arrival)}
			d.Mark(&r)
			if r.Deadline == 0 {
				all = append(all, 0)
				continue
			}
			require.Greater(t, r.Deadline, r.Arrival)
			all = append(all, r.Deadline.Sub(r.Arrival).Seconds())
		}
		return all
	}
	for _, wait := range waits(Patience{}, 1) {
		require.Zero(t, wait)
	}
	for _, wait := range waits(Patience{TimeoutS: 2.5}, 1) {
		require.Equal(t, 2.5, wait)
	}
	exponential := waits(Patience{CancelShare: 0.3, CancelAfterS: 4}, 1)
	cancelled, sum := 0.0, 0.0
	for _, wait := range exponential {
		if wait > 0 {
			cancelled, sum = cancelled+1, sum+wait
		}
	}
	require.InDelta(t, 0.3*n, cancelled, 5*math.Sqrt(0.21*n))
	require.InDelta(t, 4, sum/cancelled, 5*4/math.Sqrt(cancelled))
	// A time-out beside them changes none of the draws, and nobody waits longer.
	for i, wait := range waits(Patience{CancelShare: 0.3, CancelAfterS: 4, CancelLaw: "exponential", TimeoutS: 3}, 1) {
		want := exponential[i]
		if want == 0 || want > 3 {
			want = 3
		}
		require.Equal(t, want, wait)
	}
	for i, wait := range waits(Patience{CancelShare: 0.3, CancelAfterS: 4, CancelLaw: "fixed"}, 1) {
		want := 0.0
		if exponential[i] > 0 {
			want = 4
		}
		require.Equal(t, want, wait)
	}
	for _, wait := range waits(Patience{CancelShare: 1, CancelAfterS: 1e-15, CancelLaw: "fixed"}, 1) {
		require.Equal(t, 1e-12, wait, "a picosecond at least: none at all would be no deadline")
	}
}

// TestTurnsAreCancelledByKey: a turn waits as long whatever came before it, and otherwise than another turn or session.
func TestTurnsAreCancelledByKey(t *testing.T) {
	keyed := func(session, turn uint64, before int) sim.Time {
		k, err := NewKeyedDeadlines(Patience{CancelShare: 1, CancelAfterS: 4}, 1)
		require.NoError(t, err)
		r := sim.Request{}
		for range before {
			k.Mark(&r, 99, 0)
		}
		k.Mark(&r, session, turn)
		return r.Deadline
	}
	require.Equal(t, keyed(1, 2, 0), keyed(1, 2, 3))
	require.NotEqual(t, keyed(1, 2, 0), keyed(2, 1, 0))
	require.NotEqual(t, keyed(1, 2, 0), keyed(1, 3, 0))
	k, err := NewKeyedDeadlines(Patience{TimeoutS: 6}, 1)
	require.NoError(t, err)
	r := sim.Request{Arrival: 7}
	k.Mark(&r, 1, 1)
	require.Equal(t, sim.Time(7).Add(6*sim.Second), r.Deadline)
}
