package clock

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestSecondsAreRoundedToTheNearestPicosecond, halves up, and prices to the next of what a binary fraction is exactly.
func TestSecondsAreRoundedToTheNearestPicosecond(t *testing.T) {
	for s, want := range map[float64][2]Duration{
		0: {0, 0}, 0.25e-12: {0, 1}, 0.5e-12: {1, 1}, 1e-12: {1, 1}, 1.25e-12: {1, 2}, 1.75e-12: {2, 2},
		2.5e-3: {2500 * Microsecond, 2500 * Microsecond}, 1: {Second, Second},
	} {
		assert.Equal(t, want, [2]Duration{Seconds(s), SecondsUp(s)}, "%g s", s)
	}
}

// TestTheClockEndsWhereItSays: 2^63 ps are no duration, the float before is one, and what is below 0 is none.
func TestTheClockEndsWhereItSays(t *testing.T) {
	end := math.Ldexp(1, 63) / 1e12
	assert.Panics(t, func() { Seconds(end) })
	assert.InDelta(t, end, Seconds(math.Nextafter(end, 0)).Seconds(), 1e-8)
	for _, bad := range []float64{-1e-12, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.Panics(t, func() { Seconds(bad) }, bad)
	}
	assert.Equal(t, Time(0).Add(Seconds(HorizonS)), End)
	assert.Greater(t, Forever.Sub(End), Duration(End), "an instant and a span of a run are within the clock")
}

// TestInstantsAndSpans, to and from seconds and as they are printed.
func TestInstantsAndSpans(t *testing.T) {
	at := Time(0).Add(3 * Second).Add(250 * Millisecond)
	assert.Equal(t, 3250*Millisecond, at.Sub(0))
	assert.Equal(t, -3250*Millisecond, Time(0).Sub(at))
	assert.InDelta(t, 3.25, at.Seconds(), 0)
	assert.InDelta(t, 0.25, (250 * Millisecond).Seconds(), 0)
	assert.Equal(t, 3250*time.Millisecond, at.Sub(0).Std())
	assert.Equal(t, 1*time.Nanosecond, Duration(1999).Std(), "without what is less than a nanosecond")
	assert.Equal(t, []string{"3.25s", "1ns"}, []string{at.String(), Duration(1999).String()})
}
