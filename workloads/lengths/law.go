package lengths

import (
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/workloads/variates"
)

type lawKind uint8

const (
	fixed lawKind = iota
	uniform
	normal
	lognormal
	gamma
	pareto
	zipf
	discrete
	inverse
)

// Law draws token counts. It is one type with a kind, not one type per kind, because it draws twice per request and a
// switch is cheaper than a call through an interface.
type Law struct {
	Mean      float64 // tokens, before truncation
	Max       float64 // tokens; the largest draw
	Truncated int64   // draws so far that truncation changed

	kind  lawKind
	a, b  float64 // parameters, by kind; see spec.go
	gamma variates.Gamma
	zipf  variates.Zipf
	exp   *variates.ExpTable // lognormal
	alias *variates.AliasTable
	curve *variates.InverseCurve
}

// Draw returns the next token count from r.
func (l *Law) Draw(r *rand.Rand) int32 {
	switch l.kind {
	case fixed:
		return int32(l.a)
	case uniform:
		return l.tokens(l.a + float64(l.b*r.Float64()))
	case normal:
		return l.tokens(l.a + float64(l.b*r.NormFloat64()))
	case lognormal:
		return l.tokens(l.exp.At(l.a + float64(l.b*r.NormFloat64())))
	case gamma:
		return l.tokens(float64(l.b * l.gamma.Draw(r)))
	case pareto:
		return l.tokens(float64(l.b * math.Exp(l.a*r.ExpFloat64())))
	case zipf:
		return l.tokens(l.zipf.Draw(r))
	case discrete:
		return l.tokens(l.alias.Draw(r))
	}
	return l.tokens(l.curve.At(r.Float64()))
}

// Scaled returns a draw multiplied by a factor, truncated as a draw is.
func (l *Law) Scaled(draw int32, factor float64) int32 {
	if factor == 1 {
		return draw
	}
	return l.tokens(float64(float64(draw) * factor))
}

// Fill draws every element of out.
func (l *Law) Fill(out []int32, r *rand.Rand) {
	if l.kind != lognormal {
		for i := range out {
			out[i] = l.Draw(r)
		}
		return
	}
	exp, a, b := l.exp, l.a, l.b
	for i := range out {
		out[i] = l.tokens(exp.At(a + float64(b*r.NormFloat64())))
	}
}

// tokens rounds x to the nearest token, truncates it to [1, Max], and counts it if truncation changed it.
func (l *Law) tokens(x float64) int32 {
	x += 0.5
	if x >= 1 && x < l.Max+1 {
		return int32(x)
	}
	l.Truncated++
	if x < 1 {
		return 1
	}
	return int32(l.Max)
}
