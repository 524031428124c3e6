package arrivals

import (
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/variates"
)

type exponentialGaps struct{}

func (exponentialGaps) fill(out []float64, r *rand.Rand) {
	for i := range out {
		out[i] = r.ExpFloat64()
	}
}

func (exponentialGaps) left(r *rand.Rand) float64 { return r.ExpFloat64() }

func poisson(s *Spec, _ uint64) (gaps, pace, error) { return exponentialGaps{}, steady(s.Rate), nil }

// gapsWithin are those of a process whose rate changes, in numbers of requests that the rate expects.
func gapsWithin(s *Spec) (gaps, error) {
	if s.CV == 0 {
		return exponentialGaps{}, nil
	}
	g, _, err := newGammaGaps(s, 0)
	return g, err
}

type equalGaps struct{}

func (equalGaps) fill(out []float64, _ *rand.Rand) {
	for i := range out {
		out[i] = 1
	}
}

func (equalGaps) left(r *rand.Rand) float64 { return r.Float64() }

func constant(s *Spec, _ uint64) (gaps, pace, error) { return equalGaps{}, steady(s.Rate), nil }

// gammaGaps have shape 1/cv² and scale cv². Weighted by their length they have a shape that is greater by 1.
type gammaGaps struct {
	gamma, longer variates.Gamma
	scale         float64
}

func newGammaGaps(s *Spec, _ uint64) (gaps, pace, error) {
	shape := 1 / (s.CV * s.CV)
	g := &gammaGaps{gamma: variates.NewGamma(shape), longer: variates.NewGamma(1 + shape), scale: s.CV * s.CV}
	return g, steady(s.Rate), check.Above("arrivals.cv", s.CV, 0, cvMax)
}

func (g *gammaGaps) fill(out []float64, r *rand.Rand) {
	for i := range out {
		out[i] = g.scale * g.gamma.Draw(r)
	}
}

func (g *gammaGaps) left(r *rand.Rand) float64 {
	return float64(r.Float64() * float64(g.scale*g.longer.Draw(r)))
}

// weibullGaps are scale·e^power with e exponential: the shape is 1/power, and the mean is 1 where scale = 1/Γ(1 +
// power). Weighted by their length, e has a gamma law of shape 1 + power.
type weibullGaps struct {
	scale, power float64
	longer       variates.Gamma
}

func newWeibullGaps(s *Spec, _ uint64) (gaps, pace, error) {
	if err := check.Above("arrivals.cv", s.CV, 0, cvMax); err != nil {
		return nil, nil, err
	}
	power := weibullPower(s.CV)
	g := &weibullGaps{scale: 1 / math.Gamma(1+power), power: power, longer: variates.NewGamma(1 + power)}
	return g, steady(s.Rate), nil
}

func (g *weibullGaps) fill(out []float64, r *rand.Rand) {
	for i := range out {
		out[i] = g.scale * math.Pow(r.ExpFloat64(), g.power)
	}
}

func (g *weibullGaps) left(r *rand.Rand) float64 {
	return float64(r.Float64() * float64(g.scale*math.Pow(g.longer.Draw(r), g.power)))
}

// weibullPower returns 1/shape of the Weibull law with the given cv. With power a,
//
//	cv² + 1 = Γ(1+2a) / Γ(1+a)²
//
// which rises with a, so it bisects.
func weibullPower(cv float64) float64 {
	lo, hi := 0.0, 64.0
	for range 100 {
		a := float64((lo + hi) / 2)
		twice, _ := math.Lgamma(1 + float64(2*a))
		once, _ := math.Lgamma(1 + a)
		if twice-2*once < math.Log1p(cv*cv) {
			lo = a
		} else {
			hi = a
		}
	}
	return (lo + hi) / 2
}
