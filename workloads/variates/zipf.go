package variates

import (
	"math"
	"math/rand/v2"
)

// Zipf draws k from 1..n with probability proportional to k^−s by rejection-inversion: Hörmann & Derflinger,
// Rejection-inversion to generate variates from monotone discrete distributions, ACM TOMACS 6(3), 1996. It needs no
// table, whatever n is.
type Zipf struct {
	s, n   float64
	lo, hi float64 // the integral of the hat at its two ends
	sure   float64 // a draw at most this far below its integer is accepted without a test
}

// NewZipf returns the distribution over 1..n with exponent s.
func NewZipf(s, n float64) Zipf {
	z := Zipf{s: s, n: n}
	z.lo = z.area(1.5) - 1
	z.hi = z.area(n + 0.5)
	z.sure = 2 - z.point(z.area(2.5)-math.Pow(2, -s))
	return z
}

// Draw returns the next number.
func (z *Zipf) Draw(r *rand.Rand) float64 {
	for {
		u := z.hi + float64(r.Float64()*(z.lo-z.hi))
		x := z.point(u)
		k := min(max(1, math.Floor(x+0.5)), z.n)
		if k-x <= z.sure || u >= z.area(k+0.5)-math.Pow(k, -z.s) {
			return k
		}
	}
}

// area returns ∫₁ˣ t^−s dt = (x^(1−s) − 1)/(1−s), or ln x where s = 1.
func (z *Zipf) area(x float64) float64 {
	q := 1 - z.s
	if math.Abs(q) < 1e-12 {
		return math.Log(x)
	}
	return math.Expm1(q*math.Log(x)) / q
}

// point is the inverse of area.
func (z *Zipf) point(u float64) float64 {
	q := 1 - z.s
	if math.Abs(q) < 1e-12 {
		return math.Exp(u)
	}
	return math.Exp(math.Log1p(q*u) / q)
}

// ZipfExponent returns the s ≥ 0 for which the mean over 1..n is the given one. It bisects, since the mean falls with
// s.
func ZipfExponent(mean, n float64) float64 {
	lo, hi := 0.0, 64.0
	for range 100 {
		s := float64((lo + hi) / 2)
		if powerSum(n, 1-s) > mean*powerSum(n, -s) {
			lo = s
		} else {
			hi = s
		}
	}
	return (lo + hi) / 2
}

// powerSum returns Σ k^p over k = 1..n. It sums the first 64 terms one by one and the others by the Euler–Maclaurin
// formula up to the first derivative.
func powerSum(n, p float64) float64 {
	m := min(n, 64)
	sum := 0.0
	for k := 1.0; k <= m; k++ {
		sum += math.Pow(k, p)
	}
	if m == n {
		return sum
	}
	integral := math.Log(n / m)
	if q := p + 1; math.Abs(q) > 1e-12 {
		integral = float64(math.Pow(m, q) * math.Expm1(q*math.Log(n/m)) / q)
	}
	ends := float64((math.Pow(n, p) - math.Pow(m, p)) / 2)
	slopes := float64(p * (math.Pow(n, p-1) - math.Pow(m, p-1)) / 12)
	return sum + integral + ends + slopes
}
