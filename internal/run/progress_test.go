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

// TestReplicasThatAreBuiltAreProgress: a router that looks at each of a million has them built for the first request,
// in which nothing arrives or ends for half a minute. Those that are built as requests go to them are not worth a word.
func TestReplicasThatAreBuiltAreProgress(t *testing.T) {
	t.Parallel()
	var last Progress
	config := sim.Config{}
	f := newFollower(nil, func(p Progress) { last = p }, 10)
	f.follow(&config)
	say := func(built int) Progress {
		last, f.reported = Progress{}, time.Time{}
		assert.False(t, config.Building(built, 4000), "nobody has cancelled the run")
		return last
	}
	assert.Equal(t, Progress{Share: 0.125, Built: 1000, Replicas: 4000}, say(1000), "before the first event")
	config.Cancelled()
	assert.Zero(t, say(2000), "a request has arrived since")
	assert.Equal(t, Progress{Done: 0.5, Share: 0.4, Built: 3000, Replicas: 4000}, say(3000))
	assert.False(t, config.Building(3500, 4000))
	assert.Equal(t, 3000, last.Built, "it was said just now")
	assert.Equal(t, Progress{Done: 0.5, Share: 0.525}, say(4000), "half of the run is behind, as far as it is known")
	config.Cancelled()
	f.every.Store(1)
	f.reported = time.Time{}
	config.Cancelled()
	assert.Equal(t, Progress{Done: 1.5, Share: 0.575}, last)
	few := newFollower(nil, func(p Progress) { last = p }, 10)
	last = Progress{}
	require.False(t, few.building(2, 2))
	assert.Zero(t, last, "two replicas are no work")
}
