package progress

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/decodesim/decodesim/internal/text"
)

// Work is how far a command is.
type Work struct {
	What string  // is being done; empty: there is nothing else
	Done float64 // units; what is under way may count in part
	Of   float64 // units in all; 0: unknown
	Unit string  // singular, such as run, request or MB; empty: nothing is counted
	More string  // what else there is to say; empty: nothing
	Step bool    // other steps follow, of unknown length: the time that is left is of this one
}

// describe says how far work is that began so long ago with so much done: done, of what, the rate, and the time that is
// left at that rate. Nothing may have been done for longer than that, and then the rest takes as long again: the last
// units of many may be the long ones. When all units are done, what follows is not counted, and no time is left to say.
// Without anything done since it began there is no rate, and the line says how long it has been.
func (w *Work) describe(since, still time.Duration, from float64) string {
	if w.Unit == "" {
		return w.What + ": " + clock(since) + " so far"
	}
	done := text.Count(int64(w.Done))
	if w.Of > 0 {
		done += " of " + text.Count(int64(w.Of))
	}
	parts := []string{done + " " + plural(w.Unit, int64(max(w.Done, w.Of)))}
	if part := w.Done != math.Floor(w.Done); w.Of > 0 && (part || w.Of >= 100) {
		parts[0] += " (" + text.WholePercent(math.Floor(100*w.Done/w.Of)/100) + ")"
	}
	rate := (w.Done - from) / since.Seconds()
	switch {
	case !(rate > 0):
		parts = append(parts, clock(since)+" so far")
	case w.Of > w.Done:
		left := max(still, time.Duration((w.Of-w.Done)/rate*float64(time.Second))) // more than 0, which clock rounds up
		said := clock(left) + " left"
		if w.Step {
			said += " in this step"
		}
		parts = append(parts, perSecond(rate, w.Unit), said)
	default:
		parts = append(parts, perSecond(rate, w.Unit))
	}
	if w.More != "" {
		parts = append(parts, w.More)
	}
	line := strings.Join(parts, " · ")
	if w.What != "" {
		line = w.What + ": " + line
	}
	return line
}

// perSecond prints a rate, by the minute where less than one unit is done in a second.
func perSecond(rate float64, unit string) string {
	if rate < 1 {
		return text.Significant(60*rate) + " " + plural(unit, 0) + "/min"
	}
	return text.Significant(rate) + " " + plural(unit, 0) + "/s"
}

// plural is what so many units are called. The symbol of a unit has no plural.
func plural(unit string, n int64) string {
	if unit == "MB" {
		return unit
	}
	return text.Plural(unit, n)
}

// clock prints a time as people read a clock: 8 s, 1:05 min, 2:10 h.
func clock(d time.Duration) string {
	s := int64(math.Ceil(d.Seconds()))
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d:%02d min", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d h", s/3600, s/60%60)
}
