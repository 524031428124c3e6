package live

import (
	"sync/atomic"
	"time"

	"github.com/decodesim/decodesim/sim"
)

// Clock ties simulated time to the wall's. It is 0 until it is started.
type Clock struct {
	speed float64
	start atomic.Pointer[time.Time] // nil: it has not been started
}

// NewClock returns a clock on which so many simulated seconds pass in one.
func NewClock(speed float64) *Clock { return &Clock{speed: speed} }

// Start starts the clock at an instant of the wall, once.
func (c *Clock) Start(at time.Time) {
	c.start.CompareAndSwap(nil, &at)
}

// Simulated returns the simulated time at an instant of the wall.
func (c *Clock) Simulated(at time.Time) sim.Time {
	start := c.start.Load()
	if start == nil || at.Before(*start) {
		return 0
	}
	ps := float64(at.Sub(*start).Nanoseconds()) * c.speed * 1e3
	if ps >= float64(sim.ClockEnd) {
		return sim.ClockEnd
	}
	return sim.Time(ps)
}

// Until returns how long it is from an instant of the wall to a simulated one.
func (c *Clock) Until(at time.Time, t sim.Time) time.Duration {
	start, ns := c.start.Load(), float64(t)/c.speed/1e3
	if start == nil || ns > float64(farAway) {
		return farAway
	}
	return time.Duration(ns+1) - at.Sub(*start)
}

// Since returns how long before an instant of the wall a simulated one was, on the wall; 0: it is still to come.
func (c *Clock) Since(at time.Time, t sim.Time) time.Duration { return max(0, -c.Until(at, t)) }

// farAway is later than anything waits for.
const farAway = 24 * 365 * time.Hour
