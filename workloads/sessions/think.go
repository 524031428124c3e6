package sessions

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/variates"
)

// Span is a law of times. The zero Span is no time at all.
//
//	fixed        mean
//	exponential  mean
//	lognormal    mean, cv
//	gamma        mean, cv
type Span struct {
	Distribution string  `yaml:"distribution" names:"spans" doc:"law of the seconds"`
	MeanS        float64 `yaml:"mean" required:"seconds" unit:"s" doc:"seconds"`
	CV           float64 `yaml:"cv,omitempty" about:"standard deviation / mean"`
}

// ConstantDistribution says that a number in the place of a law is the fixed law with that mean.
func (*Span) ConstantDistribution() string { return "fixed" }

// SpanNames returns the names a Span may have, in the order of its documentation.
func SpanNames() []string { return []string{"fixed", "exponential", "lognormal", "gamma"} }

// spanMax leaves a clock room for a hundred mean times.
const spanMax = sim.HorizonS / 100

// span draws times. Lognormal ones are drawn in microseconds, whose logarithms suit variates.ExpTable.
type span struct {
	kind  spanKind
	meanS float64
	a, b  float64 // lognormal: of ln µs; gamma: b is the scale in seconds
	gamma variates.Gamma
	exp   *variates.ExpTable
}

type spanKind uint8

const (
	fixedSpan spanKind = iota
	exponentialSpan
	lognormalSpan
	gammaSpan
)

// newSpan returns the law that c describes; field names c in errors.
func newSpan(field string, c Span) (span, error) {
	if c == (Span{}) {
		return span{}, nil
	}
	if err := check.OneOf(field+".distribution", c.Distribution, SpanNames()); err != nil {
		return span{}, err
	}
	if err := check.Within(field+".mean", c.MeanS, 0, spanMax); err != nil {
		return span{}, err
	}
	l := span{meanS: c.MeanS}
	switch c.Distribution {
	case "exponential":
		l.kind = exponentialSpan
	case "lognormal":
		// σ² = ln(1 + cv²), µ = ln(mean) − σ²/2.
		s2 := math.Log1p(c.CV * c.CV)
		l.kind, l.exp = lognormalSpan, variates.NewExpTable()
		l.a, l.b = math.Log(c.MeanS*1e6)-float64(s2/2), math.Sqrt(s2)
	case "gamma":
		// Shape 1/cv², scale mean·cv².
		l.kind, l.gamma, l.b = gammaSpan, variates.NewGamma(1/(c.CV*c.CV)), c.MeanS*c.CV*c.CV
	}
	if l.kind < lognormalSpan {
		return l, check.Absent(field+".cv", c.Distribution, c.CV != 0, c.CV)
	}
	return l, cmp.Or(check.Above(field+".mean", c.MeanS, 0, spanMax), check.Above(field+".cv", c.CV, 0, cvMax))
}

// draw returns the next time from r, no longer than the clock.
func (l *span) draw(r *rand.Rand) sim.Duration {
	s := l.meanS
	switch l.kind {
	case exponentialSpan:
		s *= r.ExpFloat64()
	case lognormalSpan:
		s = 1e-6 * l.exp.At(l.a+float64(l.b*r.NormFloat64()))
	case gammaSpan:
		s = l.b * l.gamma.Draw(r)
	}
	return sim.Seconds(min(s, sim.HorizonS))
}

const cvMax = 100.0 // beyond it float formulas lose their meaning

// thoughts draws how long users think, by session and turn.
type thoughts struct {
	law   span
	draws *rng.Keyed
}

func newThoughts(c Span, seed uint64) (h thoughts, err error) {
	h.draws = rng.NewKeyed(seed, "workloads.session-thoughts")
	h.law, err = newSpan("sessions.think_time_s", c)
	return h, err
}

// after returns the time that the user of a session thinks before a turn.
func (h *thoughts) after(session, turn uint64) sim.Duration {
	return h.law.draw(h.draws.At(session, turn))
}
