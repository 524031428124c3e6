package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestArrivalsAreProgress: a run is said to get on before its first request ends, which is far where a router asks a
// hundred thousand replicas for each arrival. The clock is looked at as often as that takes, and whatever else can
// cancel the run still does.
func TestArrivalsAreProgress(t *testing.T) {
	t.Parallel()
	var last Progress
	stopped := false
	config := sim.Config{Cancelled: func() bool { return stopped }}
	f := newFollower(nil, func(p Progress) { last = p }, 1000)
	f.follow(&config)
	f.reported = time.Time{}
	require.False(t, config.Cancelled())
	assert.Equal(t, Progress{Done: 0.5, Share: 0.0005}, last, "the first arrival")
	for range 3 * betweenMax {
		config.Cancelled()
	}
	assert.EqualValues(t, betweenMax, f.every.Load(), "looks that are close together become few")
	done := f.done()
	for range 2000 {
		done(&sim.Request{}, sim.Time(3*sim.Second), sim.Completed)
	}
	for f.every.Load() > 1 {
		f.looked, f.reported = time.Now().Add(-time.Second), time.Time{}
		config.Cancelled()
	}
	f.reported = time.Time{}
	stopped = true
	require.True(t, config.Cancelled())
	assert.Equal(t, Progress{Ended: 2000, Done: 2000, Share: 1, SimulatedS: 3}, last)
}
