package variates

import (
	"math"
	"math/rand/v2"
)

// Gamma draws from the gamma distribution with unit scale: Marsaglia & Tsang, A simple method for generating gamma
// variables, ACM TOMS 26(3), 2000. For a shape below 1 it draws with shape + 1 and multiplies by u^(1/shape), u
// uniform.
type Gamma struct {
	d, c  float64
	power float64 // 1/shape where shape < 1, else 0
}

// NewGamma returns the distribution with the given shape, above 0.
func NewGamma(shape float64) Gamma {
	g := Gamma{}
	if shape < 1 {
		g.power = 1 / shape
		shape++
	}
	g.d = shape - 1.0/3
	g.c = 1 / math.Sqrt(9*g.d)
	return g
}

// Draw returns the next number.
func (g *Gamma) Draw(r *rand.Rand) float64 {
	x := g.body(r)
	if g.power > 0 {
		// u^power with u uniform is exp(−power·e) with e exponential.
		x *= math.Exp(-g.power * r.ExpFloat64())
	}
	return x
}

// body accepts d·v, v = (1 + c·x)³, if ln u < x²/2 + d − d·v + d·ln v.
func (g *Gamma) body(r *rand.Rand) float64 {
	for {
		x := r.NormFloat64()
		v := 1 + float64(g.c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if -r.ExpFloat64() < float64(float64(x*x)/2)+g.d-float64(g.d*v)+float64(g.d*math.Log(v)) {
			return g.d * v
		}
	}
}
