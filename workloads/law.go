package workloads

import (
	"math"
	"math/rand/v2"
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

// law draws token counts. It is one type with a kind, not one type per kind, because it is asked twice per request and
// a switch is cheaper than a call through an interface.
type law struct {
	kind  lawKind
	a, b  float64 // parameters, by kind; see the maker in length.go
	cap   float64 // tokens; the largest draw
	mean  float64 // tokens, before truncation
	cut   int64   // draws that truncation changed
	gamma gammaLaw
	zipf  zipfLaw
	exp   *expTable // lognormal
	alias *aliasTable
	curve *inverseCurve
}

// draw returns the next token count from r.
func (l *law) draw(r *rand.Rand) int32 {
	switch l.kind {
	case fixed:
		return int32(l.a)
	case uniform:
		return l.tokens(l.a + float64(l.b*r.Float64()))
	case normal:
		return l.tokens(l.a + float64(l.b*r.NormFloat64()))
	case lognormal:
		return l.tokens(l.exp.at(l.a + float64(l.b*r.NormFloat64())))
	case gamma:
		return l.tokens(l.b * l.gamma.draw(r))
	case pareto:
		return l.tokens(l.b * math.Exp(l.a*r.ExpFloat64()))
	case zipf:
		return l.tokens(l.zipf.draw(r))
	case discrete:
		return l.tokens(l.alias.draw(r))
	}
	return l.tokens(l.curve.at(r.Float64()))
}

// fill draws every element of out.
func (l *law) fill(out []int32, r *rand.Rand) {
	if l.kind != lognormal {
		for i := range out {
			out[i] = l.draw(r)
		}
		return
	}
	exp, a, b := l.exp, l.a, l.b
	for i := range out {
		out[i] = l.tokens(exp.at(a + float64(b*r.NormFloat64())))
	}
}

// tokens rounds x to the nearest token, truncates it to [1, cap] and counts it if truncation changed it.
func (l *law) tokens(x float64) int32 {
	x += 0.5
	if x >= 1 && x < l.cap+1 {
		return int32(x)
	}
	l.cut++
	if x < 1 {
		return 1
	}
	return int32(l.cap)
}
