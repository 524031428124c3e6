package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/decodesim/decodesim/internal/text"
)

// tick is a value with a grid line, and a label unless that is empty.
type tick struct {
	value float64
	label string
}

// logTicks marks the round numbers of a log scale. Labels thin out with the span: all of them, then powers of ten, then
// every second power and so on, so that at most nine are left.
func logTicks(s scale, label func(float64) string) []tick {
	var ticks []tick
	if s.zero {
		ticks = append(ticks, tick{0, "0"})
	}
	first, last := grade(s.lo), grade(s.hi)
	every := 1
	if last-first > 9 {
		decades := (last - first) / 3
		every = 3 * (1 + decades/9)
	}
	for g := first; g <= last; g++ {
		t := tick{value: round125(g)}
		if (g%every+every)%every == 0 {
			t.label = label(t.value)
		} else if every > 3 {
			continue
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// linearTicks marks multiples of a round step from 0 to the end of the scale.
func linearTicks(s scale, n int, label func(float64) string) []tick {
	step := roundStep(s.hi, n)
	var ticks []tick
	for i := 0; float64(i)*step <= s.hi*(1+1e-9); i++ {
		v := float64(i) * step
		ticks = append(ticks, tick{v, label(v)})
	}
	return ticks
}

// doublings marks the powers of two of a log scale of counts.
func doublings(s scale) []tick {
	first, last := math.Max(0, math.Ceil(math.Log2(s.lo)-1e-9)), math.Floor(math.Log2(s.hi)+1e-9)
	every := 1 + math.Floor((last-first)/14)
	var ticks []tick
	for e := first; e <= last; e += every {
		v := math.Exp2(e)
		ticks = append(ticks, tick{v, fmt.Sprint(v)})
	}
	return ticks
}

// countTicks labels counts or rates with one prefix for the whole axis.
func countTicks(s scale, n int) []tick {
	u := text.CountUnit(s.hi)
	return linearTicks(s, n, func(v float64) string {
		if v == 0 {
			return "0"
		}
		return text.Short(v/u.Size) + u.Name
	})
}

func percentTicks(s scale, n int) []tick {
	return linearTicks(s, n, func(v float64) string { return text.Short(100*v) + " %" })
}

// ninesTicks marks 0, 50 %, 90 %, 99 % and so on.
func ninesTicks(s scale) []tick {
	ticks := []tick{{0, "0 %"}, {0.5, "50 %"}}
	for n := 1; n <= s.nines; n++ {
		v := 1 - math.Pow(10, -float64(n))
		ticks = append(ticks, tick{v, strconv.FormatFloat(100*v, 'f', max(0, n-2), 64) + " %"})
	}
	return ticks
}

// timeTicks marks round values of a unit on a scale in seconds.
func timeTicks(s scale, u text.Unit) []tick {
	ticks := linearTicks(scale{hi: s.hi / u.Size}, 5, func(v float64) string { return text.Short(v) + " " + u.Name })
	for i := range ticks {
		ticks[i].value *= u.Size
	}
	return ticks
}
