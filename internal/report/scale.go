package report

import "math"

// scale maps values from lo to hi onto 0 to 1, linearly or by their logarithm.
type scale struct {
	lo, hi float64
	log    bool
	zero   bool // on a log scale: its left end is a bin for 0
	nines  int  // of shares: 90 %, 99 % and so on equally far apart, up to so many; 0: linear
}

// zeroBin is the share of a log scale that the bin for 0 and the gap beside it take.
const zeroBin = 0.08

// at returns the position of v.
func (s scale) at(v float64) float64 {
	if s.nines > 0 {
		return -math.Log10(math.Max(1-v, 1e-9)) / float64(s.nines)
	}
	if !s.log {
		return (v - s.lo) / (s.hi - s.lo)
	}
	if v <= 0 {
		return 0
	}
	f := math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	if s.zero {
		return zeroBin + (1-zeroBin)*f
	}
	return f
}

// linear returns a scale from 0 to a round number that is at least max, with about n intervals.
func linear(max float64, n int) scale {
	if !(max > 0) {
		return scale{lo: 0, hi: 1}
	}
	step := roundStep(max, n)
	return scale{lo: 0, hi: step * math.Ceil(max/step-1e-9)}
}

// roundStep returns a step of 1, 2 or 5 times a power of ten that divides span into at most n.
func roundStep(span float64, n int) float64 {
	step := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(m*step) <= float64(n)+1e-9 {
			return m * step
		}
	}
	return 10 * step
}

// logarithmic returns a log scale that holds lo and hi, ends at round numbers and spans at least a factor of 5.
func logarithmic(lo, hi float64) scale {
	a, b := grade(lo), grade(hi)
	if round125(b) < hi*(1-1e-9) {
		b++
	}
	for wide := false; round125(b) < 4.9*round125(a); wide = !wide {
		if wide {
			b++
		} else {
			a--
		}
	}
	return scale{lo: round125(a), hi: round125(b), log: true}
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
