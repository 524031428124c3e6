package workloads

import (
	"fmt"
	"math"
)

// Length is a distribution of token counts. Draws are rounded to the nearest token; those that round to less than 1
// become 1 and those above Max become Max, which the source counts (Truncated). Mean, CV and Shape describe the law
// before that, so a truncated law has a mean of its own.
//
//	fixed      mean                     every request alike; a whole number
//	uniform    mean, cv | min, max      cv at most 1/√3; with min and max every whole number from min to max
//	normal     mean, cv                 cv at most 1; beyond 1/3 a noticeable share falls below 1
//	lognormal  mean, cv                 the usual fit of prompts and outputs
//	gamma      mean, cv                 exponential where cv = 1
//	pareto     mean, cv | mean, shape   type I; the tail index shape is above 1, and above 2 where cv gives it
//	zipf       mean, max                P(k) ∝ k^−s on 1..max, with s ≥ 0 such that the mean is Mean
//	empirical  values[, weights]        those token counts
//	           edges, weights           a histogram: one more edge than weights, uniform within a bin
//	           quantiles                linear between the given quantiles
//
// An empirical law with a Mean is scaled to it. A parameter that a law does not have must be zero or nil.
type Length struct {
	Distribution string
	Mean         float64    // tokens, before truncation
	CV           float64    // standard deviation / mean, before truncation
	Shape        float64    // tail index of pareto, instead of CV
	Min          int64      // tokens; uniform only
	Max          int64      // tokens, the truncation; 0: none below 2³⁰ (zipf and uniform by Min: the end of the support)
	Values       []float64  // tokens; empirical
	Weights      []float64  // one per value or per bin; nil with Values: all alike
	Edges        []float64  // tokens; ends of the bins, rising
	Quantiles    []Quantile // from P = 0 to P = 1, rising
}

// Quantile is a point of an inverse distribution function: a share P of the requests has at most Tokens tokens.
type Quantile struct{ P, Tokens float64 }

// LengthNames returns the names a Length may have, in the order of its documentation.
func LengthNames() []string {
	return []string{"fixed", "uniform", "normal", "lognormal", "gamma", "pareto", "zipf", "empirical"}
}

// meanMax and cvMax bound what laws are built from; beyond them float formulas lose their meaning before tokens do.
const (
	meanMax = tokensMax
	cvMax   = 100.0
)

// newLaw returns the law that c describes; field names c in errors.
func newLaw(field string, c Length) (*law, error) {
	if err := oneOf(field+".distribution", c.Distribution, LengthNames()); err != nil {
		return nil, err
	}
	if err := c.check(field); err != nil {
		return nil, err
	}
	l := &law{cap: tokensMax, mean: c.Mean}
	if c.Max > 0 {
		l.cap = float64(c.Max)
	}
	return l, c.fill(field, l)
}

// check refuses parameters that the law does not have and values outside every law's range.
func (c *Length) check(field string) error {
	d := c.Distribution
	empirical := d == "empirical"
	ranged := d == "uniform" && (c.Min != 0 || c.CV == 0 && c.Mean == 0)
	owner := d
	if ranged {
		owner = "uniform with min"
	}
	spread := d == "normal" || d == "lognormal" || d == "gamma" || d == "pareto" && c.Shape == 0 || d == "uniform" && !ranged
	err := first(
		absent(field+".cv", owner, !spread && c.CV != 0, c.CV),
		absent(field+".shape", d, d != "pareto" && c.Shape != 0, c.Shape),
		absent(field+".min", d, d != "uniform" && c.Min != 0, c.Min),
		absent(field+".max", d, d == "fixed" && c.Max != 0, c.Max),
		absent(field+".mean", owner, ranged && c.Mean != 0, c.Mean),
		absent(field+".values", d, !empirical && c.Values != nil, c.Values),
		absent(field+".weights", d, !empirical && c.Weights != nil, c.Weights),
		absent(field+".edges", d, !empirical && c.Edges != nil, c.Edges),
		absent(field+".quantiles", d, !empirical && c.Quantiles != nil, c.Quantiles),
	)
	if err != nil {
		return err
	}
	if (c.Max != 0 || d == "zipf" || ranged) && (c.Max < 1 || c.Max > tokensMax) {
		return refuse(field+".max", c.Max, fmt.Sprintf("a whole number from 1 to %d", tokensMax))
	}
	if ranged && (c.Min < 1 || c.Min > c.Max) {
		return refuse(field+".min", c.Min, fmt.Sprintf("a whole number from 1 to max = %d", c.Max))
	}
	if !ranged && (!empirical || c.Mean != 0) {
		if err := closed(field+".mean", c.Mean, 1, meanMax); err != nil {
			return err
		}
	}
	if spread {
		return above(field+".cv", c.CV, 0, c.cvMax())
	}
	return nil
}

// cvMax returns the largest coefficient of variation of the law.
func (c *Length) cvMax() float64 {
	switch c.Distribution {
	case "uniform":
		return 1 / math.Sqrt(3)
	case "normal":
		return 1
	}
	return cvMax
}

// fill derives the parameters of l, once.
func (c *Length) fill(field string, l *law) error {
	switch c.Distribution {
	case "fixed":
		if c.Mean != math.Floor(c.Mean) {
			return refuse(field+".mean", c.Mean, "a whole number of tokens")
		}
		l.kind, l.a = fixed, c.Mean
	case "uniform":
		c.fillUniform(l)
	case "normal":
		l.kind, l.a, l.b = normal, c.Mean, c.Mean*c.CV
	case "lognormal":
		// σ² = ln(1 + cv²), µ = ln(mean) − σ²/2.
		s2 := math.Log1p(c.CV * c.CV)
		l.kind, l.a, l.b, l.exp = lognormal, math.Log(c.Mean)-s2/2, math.Sqrt(s2), newExpTable()
	case "gamma":
		// Shape 1/cv², scale mean·cv².
		l.kind, l.gamma, l.b = gamma, newGammaLaw(1/(c.CV*c.CV)), c.Mean*c.CV*c.CV
	case "pareto":
		return c.fillPareto(field, l)
	case "zipf":
		return c.fillZipf(field, l)
	case "empirical":
		return c.fillEmpirical(field, l)
	}
	return nil
}

// fillUniform makes the draw a + b·u, which tokens rounds. The half-width h of a uniform law is √3 standard deviations.
func (c *Length) fillUniform(l *law) {
	l.kind = uniform
	if c.Min > 0 {
		l.mean = float64(c.Min+c.Max) / 2
		l.a, l.b = float64(c.Min)-0.5, float64(c.Max-c.Min+1)
		return
	}
	h := c.Mean * c.CV * math.Sqrt(3)
	l.a, l.b = c.Mean-h, 2*h
}

// fillPareto makes the draw b·exp(e/α), e exponential. With tail index α and minimum b, mean = b·α/(α−1) and
// cv² = 1/(α(α−2)), so α = 1 + √(1 + 1/cv²).
func (c *Length) fillPareto(field string, l *law) error {
	alpha := c.Shape
	if alpha == 0 {
		alpha = 1 + math.Sqrt(1+1/(c.CV*c.CV))
	} else if err := above(field+".shape", alpha, 1, 1000); err != nil {
		return err
	}
	l.kind, l.a, l.b = pareto, 1/alpha, c.Mean*(alpha-1)/alpha
	return nil
}

func (c *Length) fillZipf(field string, l *law) error {
	if top := float64(c.Max+1) / 2; c.Mean > top {
		return refuse(field+".mean", c.Mean, fmt.Sprintf("at most %g, the mean of a flat law on 1 to max = %d", top, c.Max))
	}
	l.kind, l.zipf = zipf, newZipfLaw(zipfExponent(c.Mean, float64(c.Max)), float64(c.Max))
	return nil
}
