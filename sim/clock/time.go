package clock

import (
	"fmt"
	"math"
	"time"
)

// Time is an instant: picoseconds since the start of the run.
type Time int64

// Duration is a span of simulated time in picoseconds.
//
// The clock is an integer so that adding spans is associative: n steps advanced at once end at exactly the instant at
// which n single steps end. It counts picoseconds, not nanoseconds, because the growth of a decode step (the KV of one
// token, 1–50 ns) must survive rounding over thousands of steps.
type Duration int64

// Units of Duration.
const (
	Picosecond  Duration = 1
	Nanosecond           = 1000 * Picosecond
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
)

// Forever is later than every instant of a run (106 days).
const Forever Time = math.MaxInt64

// HorizonS is the longest run in seconds: half the range of the clock, so that the sum of an instant and a span never
// overflows.
const HorizonS = 53 * 86400.0

// End is the last instant of the longest run.
const End Time = 53 * 86400 * Time(Second)

// Seconds converts s, rounding to the nearest picosecond. It panics if s is negative, NaN or beyond the clock: code
// that takes numbers from users checks them first, so such a value is a bug.
func Seconds(s float64) Duration {
	ps := float64(s*1e12) + 0.5
	if !(ps >= 0 && ps < 1<<63) {
		panic(fmt.Sprintf("sim: %g s is not a duration", s))
	}
	return Duration(ps)
}

// SecondsUp converts s, rounding up to the next picosecond: prices round up, so that no step is shorter than its bound.
func SecondsUp(s float64) Duration {
	return Seconds(math.Ceil(s*1e12) * 1e-12)
}

// Seconds returns d in seconds.
func (d Duration) Seconds() float64 { return float64(float64(d) * 1e-12) }

// Std returns d truncated to nanoseconds, for printing.
func (d Duration) Std() time.Duration { return time.Duration(d / Nanosecond) }

func (d Duration) String() string { return d.Std().String() }

// Add returns t+d.
func (t Time) Add(d Duration) Time { return t + Time(d) }

// Sub returns t-u.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Seconds returns the time since the start of the run in seconds.
func (t Time) Seconds() float64 { return float64(float64(t) * 1e-12) }

func (t Time) String() string { return Duration(t).String() }
