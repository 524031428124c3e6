package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// ordinatesMax is how many averaged ordinates of a periodogram the spectrum near zero is fitted to, and ordinatesMin
// the fewest that are worth a fit of three coefficients.
const ordinatesMax, ordinatesMin = 25, 6

// HalfWidth returns half of the interval that holds Σz with probability Confidence, for residuals z of a stationary
// series, neighbours of which may be correlated; NaN: there are too few of them.
//
// The variance of a sum of n correlated values is n·p(0), with p their spectrum. It is extrapolated to zero by a
// parabola through the logarithm of the periodogram at low frequencies, each point of which averages two ordinates I:
//
//	J(k) = ln((I(2k−1) + I(2k))/2) + ln 2 − ψ(2)     at f(k) = (4k − 1)/2n
//	p(0) = e^(a − s/2)                               a: the parabola at f = 0, s: the variance of that estimate
//	t with 2/(e^s − 1) degrees of freedom            s = ψ'(2)·(XᵀX)⁻¹₀₀, X the powers of f
//
// (Heidelberger and Welch, "A spectral method for confidence interval generation and run length control in
// simulations", CACM 24(4), 1981). Batch means, which need no spectrum, cover less where correlation is long.
func HalfWidth(z []float64) float64 {
	n := len(z)
	k := min(ordinatesMax, (n-2)/4)
	if k < ordinatesMin {
		return math.NaN()
	}
	logs, powers := mat.NewVecDense(k, nil), mat.NewDense(k, 3, nil)
	for i := range k {
		power := (ordinate(z, 2*i+1) + ordinate(z, 2*i+2)) / 2
		if power <= 0 {
			return 0 // the values are all the same
		}
		logs.SetVec(i, math.Log(power)+math.Ln2-digamma2)
		f := float64(4*i+3) / float64(4*k-1)
		powers.SetRow(i, []float64{1, f, f * f})
	}
	var normal, inverse mat.Dense
	normal.Mul(powers.T(), powers)
	if err := inverse.Inverse(&normal); err != nil {
		return math.NaN()
	}
	var right, fit mat.VecDense
	right.MulVec(powers.T(), logs)
	fit.MulVec(&inverse, &right)
	s := trigamma2 * inverse.At(0, 0)
	zero := math.Exp(fit.AtVec(0) - float64(s/2))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 2 / math.Expm1(s)}.Quantile((1 + Confidence) / 2)
	return Settled(t*math.Sqrt(float64(n)*zero), digits)
}

// ψ(2) = 1 − γ and ψ'(2) = π²/6 − 1: mean and variance of the logarithm of an average of two exponential variates, but
// for ln 2.
const (
	digamma2  = 1 - 0.57721566490153286
	trigamma2 = math.Pi*math.Pi/6 - 1
)

// ordinate returns the periodogram of z at j cycles: |Σ z·e^(−2πijt/n)|²/n, by Goertzel's recurrence.
func ordinate(z []float64, j int) float64 {
	n := float64(len(z))
	angle := 2 * math.Pi * float64(j) / n
	twice := 2 * math.Cos(angle)
	last, before := 0.0, 0.0
	for _, x := range z {
		last, before = x+float64(twice*last)-before, last
	}
	return (float64(last*last) + float64(before*before) - float64(twice*last*before)) / n
}
