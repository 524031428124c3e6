package plot

import "math"

// zeroBin is the share of a log scale that the bin for 0 and the gap beside it take.
const zeroBin = 0.08

// zeroLog is a log scale with a bin for 0 at its left end, which gonum's LogScale refuses.
type zeroLog struct{}

// Normalize implements the scale of gonum/plot.
func (zeroLog) Normalize(low, high, x float64) float64 {
	if x <= 0 {
		return 0
	}
	return zeroBin + (1-zeroBin)*math.Log(x/low)/math.Log(high/low)
}

// nines is a scale of shares on which 90 %, 99 % and so on stand equally far apart, up to so many nines.
type nines int

// Normalize implements the scale of gonum/plot.
func (n nines) Normalize(_, _, share float64) float64 {
	return -math.Log10(math.Max(1-share, 1e-9)) / float64(n)
}

// RoundStep returns a step of 1, 2 or 5 times a power of ten that divides span into at most n.
func RoundStep(span float64, n int) float64 {
	step := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(m*step) <= float64(n)+1e-9 {
			return m * step
		}
	}
	return 10 * step
}

// roundUp returns a round number that is at least most, in about n steps from 0.
func roundUp(most float64, n int) float64 {
	if !(most > 0) {
		return 1
	}
	step := RoundStep(most, n)
	return step * math.Ceil(most/step-1e-9)
}

// roundAround returns round numbers around low and high that are at least a factor of 5 apart.
func roundAround(low, high float64) (from, to float64) {
	a, b := grade(low), grade(high)
	if round125(b) < high*(1-1e-9) {
		b++
	}
	for wide := false; round125(b) < 4.9*round125(a); wide = !wide {
		if wide {
			b++
		} else {
			a--
		}
	}
	return round125(a), round125(b)
}

// round125 enumerates the round numbers: 0 is 1, 1 is 2, 2 is 5, 3 is 10, and so on, downwards too.
func round125(grade int) float64 {
	decade := int(math.Floor(float64(grade) / 3))
	return [...]float64{1, 2, 5}[grade-3*decade] * math.Pow(10, float64(decade))
}

// grade returns the highest grade whose round number is at most v, within rounding.
func grade(v float64) int {
	g := 3 * int(math.Floor(math.Log10(v)))
	for round125(g) > v*(1+1e-9) {
		g--
	}
	for round125(g+1) <= v*(1+1e-9) {
		g++
	}
	return g
}
