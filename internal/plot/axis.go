package plot

import (
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"

	"github.com/decodesim/decodesim/internal/text"
)

// Axis is what one side of a chart shows.
type Axis struct {
	Name       string
	Min, Max   float64
	Scale      gonum.Normalizer
	Ticks      []gonum.Tick // a tick without a label has a grid line only
	Unlabelled bool         // has grid lines and no labels: those of a chart below it hold
	NoGrid     bool         // has labels and no grid lines
}

// Named returns the axis with a name.
func (a Axis) Named(name string) Axis {
	a.Name = name
	return a
}

// Linear returns an axis from low to high with ticks at multiples of a round step, about n of them.
func Linear(low, high float64, n int, label func(float64) string) Axis {
	step := RoundStep(high-low, n)
	a := Axis{Min: low, Max: high, Scale: gonum.LinearScale{}}
	for i := int(math.Ceil(low/step - 1e-9)); float64(i)*step <= high+float64(1e-9*step); i++ {
		v := float64(i) * step
		a.Ticks = append(a.Ticks, gonum.Tick{Value: v, Label: label(v)})
	}
	return a
}

// UpTo returns an axis from 0 to a round number that is at least most, with about n ticks.
func UpTo(most float64, n int, label func(float64) string) Axis {
	return Linear(0, roundUp(most, n), n, label)
}

// Counts returns an axis of counts or rates up to most, with one prefix for all of it.
func Counts(most float64, n int) Axis {
	u := text.CountUnit(roundUp(most, n))
	return UpTo(most, n, func(v float64) string {
		if v == 0 {
			return "0"
		}
		return text.Short(v/u.Size) + u.Name
	})
}

// Times returns an axis from 0 to at least so many seconds, with one unit for all of it.
func Times(mostS float64, n int) Axis {
	u := text.TimeUnit(mostS)
	a := UpTo(mostS/u.Size, n, func(v float64) string { return text.Short(v) + " " + u.Name })
	a.Max *= u.Size
	for i := range a.Ticks {
		a.Ticks[i].Value *= u.Size
	}
	return a
}

// Shares returns an axis from 0 to 100 % with about n ticks.
func Shares(n int) Axis {
	return Linear(0, 1, n, func(v float64) string { return text.Short(100*v) + " %" })
}

// Nines returns an axis of shares on which 90 %, 99 % and so on stand equally far apart, up to so many nines.
func Nines(n int) Axis {
	a := Axis{Max: 1 - math.Pow(10, -float64(n)), Scale: nines(n),
		Ticks: []gonum.Tick{{Label: "0 %"}, {Value: 0.5, Label: "50 %"}}}
	for i := 1; i <= n; i++ {
		v := 1 - math.Pow(10, -float64(i))
		a.Ticks = append(a.Ticks, gonum.Tick{Value: v, Label: strconv.FormatFloat(100*v, 'f', max(0, i-2), 64) + " %"})
	}
	return a
}

// Doublings returns a log axis of counts from low to high, with ticks at powers of two.
func Doublings(low, high float64) Axis {
	first, last := math.Max(0, math.Ceil(math.Log2(low)-1e-9)), math.Floor(math.Log2(high)+1e-9)
	every := 1 + math.Floor((last-first)/14)
	a := Axis{Min: low, Max: high, Scale: gonum.LogScale{}}
	for e := first; e <= last; e += every {
		v := math.Exp2(e)
		a.Ticks = append(a.Ticks, gonum.Tick{Value: v, Label: text.Count(int64(v))})
	}
	return a
}

// Log returns a log axis that holds low and high and ends at round numbers.
func Log(low, high float64, label func(float64) string) Axis {
	from, to := roundAround(low, high)
	return logBetween(from, to, false, label)
}

// logBetween returns a log axis between two round numbers, with ticks at the round numbers. Labels thin out with the
// span: all of them, then powers of ten, then every second power and so on, so that at most nine are left.
func logBetween(from, to float64, zero bool, label func(float64) string) Axis {
	a := Axis{Min: from, Max: to, Scale: gonum.LogScale{}}
	if zero {
		a.Scale = zeroLog{}
		a.Ticks = append(a.Ticks, gonum.Tick{Label: "0"})
	}
	first, last := grade(from), grade(to)
	every := 1
	if last-first > 9 {
		decades := (last - first) / 3
		every = 3 * (1 + decades/9)
	}
	for g := first; g <= last; g++ {
		t := gonum.Tick{Value: round125(g)}
		if (g%every+every)%every == 0 {
			t.Label = label(t.Value)
		} else if every > 3 {
			continue
		}
		a.Ticks = append(a.Ticks, t)
	}
	return a
}

// Labelled returns the axis with only those ticks that have a label.
func (a Axis) Labelled() Axis { return a.only(func(t gonum.Tick) bool { return t.Label != "" }) }

// Decades returns the axis with only those labelled ticks that are powers of ten, for a short axis.
func (a Axis) Decades() Axis {
	return a.only(func(t gonum.Tick) bool { return t.Label != "" && grade(t.Value)%3 == 0 })
}

func (a Axis) only(keep func(gonum.Tick) bool) Axis {
	var ticks []gonum.Tick
	for _, t := range a.Ticks {
		if keep(t) {
			ticks = append(ticks, t)
		}
	}
	a.Ticks = ticks
	return a
}

// at returns the position of v, from 0 to 1.
func (a Axis) at(v float64) float64 { return a.Scale.Normalize(a.Min, a.Max, v) }

// labels returns the ticks that have labels on the sheet.
func (a Axis) labels() gonum.ConstantTicks {
	if a.Unlabelled {
		return nil
	}
	return gonum.ConstantTicks(a.Ticks)
}
