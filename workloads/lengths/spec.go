package lengths

import (
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/variates"
)

// Spec describes a law of token counts. Draws are rounded to the nearest token; those that round to less than 1 become
// 1 and those above Max become Max, which the law counts (Truncated). Mean, CV and Shape describe the law before
// truncation, so the mean of truncated draws differs.
//
//	fixed      mean                     every request alike; a whole number
//	uniform    mean, cv | min, max      cv at most 1/√3; with min and max every whole number from min to max
//	normal     mean, cv                 cv at most 1; beyond 1/3 a noticeable share falls below 1
//	lognormal  mean, cv                 the usual fit of prompts and outputs
//	gamma      mean, cv                 exponential where cv = 1
//	pareto     mean, cv | mean, shape   type I; the tail index shape is above 1, and above 2 where cv gives it
//	zipf       mean, max                P(k) ∝ k^−s on 1..max, with s ≥ 0 such that the mean is Mean
//	empirical  values[, weights]        those token counts
//	           edges, weights           a histogram: one more edge than weights, uniform within a bucket
//	           quantiles                linear between the given quantiles
//
// An empirical law with a Mean is scaled to it. A parameter that a law does not have must be zero or nil.
type Spec struct {
	Distribution string    `yaml:"distribution" names:"lengths" doc:"law of the counts"`
	Mean         float64   `yaml:"mean,omitempty" unit:"tokens" about:"mean before truncation"`
	CV           float64   `yaml:"cv,omitempty" about:"standard deviation / mean, before truncation"`
	Shape        float64   `yaml:"shape,omitempty" about:"tail index of pareto, in place of cv"`
	Min          int64     `yaml:"min,omitempty" unit:"tokens" about:"beginning of the support; uniform only"`
	Max          int64     `yaml:"max,omitempty" unit:"tokens" about:"truncation, or the end of the support; null: none below 2³⁰"`
	Values       []float64 `yaml:"values,omitempty" unit:"tokens" about:"of empirical"`
	Weights      []float64 `yaml:"weights,omitempty" about:"one for each value or bucket; null with values: all alike"`
	Edges        []float64 `yaml:"edges,omitempty" unit:"tokens" about:"ends of the buckets, rising"`

	Quantiles []Quantile `yaml:"quantiles,omitempty" about:"points of the inverse distribution, from p = 0 to p = 1"`
}

// Quantile is a point of an inverse distribution function: a share P of the requests has at most Tokens tokens.
type Quantile struct {
	P      float64 `yaml:"p" required:"p and tokens" about:"share of the requests"`
	Tokens float64 `yaml:"tokens" required:"p and tokens" unit:"tokens" about:"that many at most"`
}

// Fixed returns the law of one token count.
func Fixed(tokens float64) Spec { return Spec{Distribution: "fixed", Mean: tokens} }

// ConstantDistribution says that a number in the place of a law is the fixed law with that mean.
func (*Spec) ConstantDistribution() string { return "fixed" }

// Given reports whether s names a law.
func (s *Spec) Given() bool { return s.Distribution != "" }

// Names returns the names of the laws, in the order of the documentation.
func Names() []string {
	return []string{"fixed", "uniform", "normal", "lognormal", "gamma", "pareto", "zipf", "empirical"}
}

// meanMax and cvMax bound what laws are built from; beyond them float formulas lose their meaning before tokens do.
const (
	meanMax = check.TokensMax
	cvMax   = 100.0
)

// New returns the law that s describes; field names s in errors.
func New(field string, s Spec) (*Law, error) {
	if err := check.OneOf(field+".distribution", s.Distribution, Names()); err != nil {
		return nil, err
	}
	if err := s.check(field); err != nil {
		return nil, err
	}
	l := &Law{Max: check.TokensMax, Mean: s.Mean}
	if s.Max > 0 {
		l.Max = float64(s.Max)
	}
	return l, s.fill(field, l)
}

// parameters returns the YAML keys of the parameters that the law has beside distribution, and its name in errors.
func (s *Spec) parameters() (owner string, keys []string) {
	switch s.Distribution {
	case "fixed":
		keys = []string{"mean"}
	case "uniform":
		if s.ranged() {
			return "uniform with min", []string{"min", "max"}
		}
		keys = []string{"mean", "cv", "max"}
	case "pareto":
		keys = []string{"mean", "shape", "max"}
		if s.Shape == 0 {
			keys[1] = "cv"
		}
	case "zipf":
		keys = []string{"mean", "max"}
	case "empirical":
		keys = []string{"mean", "max", "values", "weights", "edges", "quantiles"}
	default:
		keys = []string{"mean", "cv", "max"}
	}
	return s.Distribution, keys
}

// ranged reports whether a uniform law is given by its bounds.
func (s *Spec) ranged() bool {
	return s.Distribution == "uniform" && (s.Min != 0 || s.CV == 0 && s.Mean == 0)
}

// check refuses parameters that the law does not have and values outside every law's range.
func (s *Spec) check(field string) error {
	owner, keys := s.parameters()
	if err := check.Parameters(field, owner, *s, append(keys, "distribution")...); err != nil {
		return err
	}
	if s.Max != 0 || s.Distribution == "zipf" || s.ranged() {
		if err := check.Count(field+".max", s.Max, check.TokensMax); err != nil {
			return err
		}
	}
	if s.ranged() && (s.Min < 1 || s.Min > s.Max) {
		return check.Refuse(field+".min", s.Min, fmt.Sprintf("a whole number from 1 to max = %d", s.Max))
	}
	if slices.Contains(keys, "mean") && (s.Distribution != "empirical" || s.Mean != 0) {
		if err := check.Within(field+".mean", s.Mean, 1, meanMax); err != nil {
			return err
		}
	}
	if slices.Contains(keys, "cv") {
		return check.Above(field+".cv", s.CV, 0, s.cvMax())
	}
	return nil
}

// cvMax returns the largest coefficient of variation of the law.
func (s *Spec) cvMax() float64 {
	switch s.Distribution {
	case "uniform":
		return 1 / math.Sqrt(3)
	case "normal":
		return 1
	}
	return cvMax
}

// fill derives the parameters of l.
func (s *Spec) fill(field string, l *Law) error {
	switch s.Distribution {
	case "fixed":
		if s.Mean != math.Floor(s.Mean) {
			return check.Refuse(field+".mean", s.Mean, "a whole number of tokens")
		}
		l.kind, l.a = fixed, s.Mean
	case "uniform":
		s.fillUniform(l)
	case "normal":
		l.kind, l.a, l.b = normal, s.Mean, s.Mean*s.CV
	case "lognormal":
		// σ² = ln(1 + cv²), µ = ln(mean) − σ²/2.
		s2 := math.Log1p(s.CV * s.CV)
		l.kind, l.exp = lognormal, variates.NewExpTable()
		l.a, l.b = math.Log(s.Mean)-float64(s2/2), math.Sqrt(s2)
	case "gamma":
		// Shape 1/cv², scale mean·cv².
		l.kind, l.gamma, l.b = gamma, variates.NewGamma(1/(s.CV*s.CV)), s.Mean*s.CV*s.CV
	case "pareto":
		return s.fillPareto(field, l)
	case "zipf":
		return s.fillZipf(field, l)
	case "empirical":
		return s.fillEmpirical(field, l)
	}
	return nil
}

// fillUniform makes the draw a + b·u, which tokens rounds. The half-width h of a uniform law is √3 standard deviations.
func (s *Spec) fillUniform(l *Law) {
	l.kind = uniform
	if s.Min > 0 {
		l.Mean = float64(s.Min+s.Max) / 2
		l.a, l.b = float64(s.Min)-0.5, float64(s.Max-s.Min+1)
		return
	}
	h := float64(s.Mean * s.CV * math.Sqrt(3))
	l.a, l.b = s.Mean-h, 2*h
}

// fillPareto makes the draw b·exp(e/α), e exponential. With tail index α and minimum b, mean = b·α/(α−1) and
// cv² = 1/(α(α−2)), so α = 1 + √(1 + 1/cv²).
func (s *Spec) fillPareto(field string, l *Law) error {
	alpha := s.Shape
	if alpha == 0 {
		alpha = 1 + math.Sqrt(1+1/(s.CV*s.CV))
	} else if err := check.Above(field+".shape", alpha, 1, 1000); err != nil {
		return err
	}
	l.kind, l.a, l.b = pareto, 1/alpha, s.Mean*(alpha-1)/alpha
	return nil
}

func (s *Spec) fillZipf(field string, l *Law) error {
	if top := float64(s.Max+1) / 2; s.Mean > top {
		return check.Refuse(field+".mean", s.Mean, fmt.Sprintf(
			"at most %g, the mean of a flat law on 1 to max = %d", top, s.Max))
	}
	n := float64(s.Max)
	l.kind, l.zipf = zipf, variates.NewZipf(variates.ZipfExponent(s.Mean, n), n)
	return nil
}
