package workloads

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Arrivals is a process of independent arrivals. The first request comes after the first gap.
//
//	poisson    rate                         exponential gaps
//	gamma      rate, cv                     gamma gaps; burstier than poisson where cv > 1
//	weibull    rate, cv                     Weibull gaps
//	constant   rate                         equal gaps
//	on-off     on_rate, off_rate, on_s, off_s
//	                                        Poisson at one of two rates; the time in each state is exponential with the
//	                                        given mean, and the first state is drawn by its share of the time
//	piecewise  points[, period_s][, rate]   Poisson at a rate that is linear between the points and holds after the
//	                                        last one, or starts over every period
//	sinusoid   rate, amplitude, period_s    Poisson at rate·(1 + amplitude·sin(2πt/period)), as 360 straight pieces
//
// Rate scales on-off and piecewise to that mean; 0 leaves them as written. A parameter that the process does not have
// must be zero or nil.
type Arrivals struct {
	Process   string
	Rate      float64     // requests/s, mean
	CV        float64     // of the gaps: standard deviation / mean
	OnRate    float64     // requests/s
	OffRate   float64     // requests/s
	OnS       float64     // seconds, mean
	OffS      float64     // seconds, mean
	Points    []RatePoint // from AtS = 0, in order; two at one instant are a jump
	Amplitude float64     // share of the mean rate, 0 to 1
	PeriodS   float64     // seconds; 0 with points: they do not repeat
}

// RatePoint is the rate at an instant.
type RatePoint struct{ AtS, Rate float64 }

// ArrivalNames returns the names a process may have, in the order of its documentation.
func ArrivalNames() []string {
	return []string{"poisson", "gamma", "weibull", "constant", "on-off", "piecewise", "sinusoid"}
}

// rateMax is the highest rate: one request per picosecond-sized gap has no meaning long before it overflows.
const rateMax = 1e9

// expectedMax leaves a random number of requests room below requestsMax.
const expectedMax = 2e9

// clock yields the arrivals of a process. Gaps have mean 1 and are summed as integers of 2^−32, so that the sum is exact
// and does not depend on the last bit of a logarithm, which differs between processors. The k-th arrival is the instant
// by which the rate has accumulated to the sum of the first k gaps: a time change, which draws once per request.
type clock struct {
	kind   gapKind
	gaps   *rand.Rand
	a, b   float64
	gamma  gammaLaw
	unit   uint64 // sum of gaps, in 2^−32
	rate   float64
	curve  *rateCurve // nil: not piecewise
	bursts *bursts    // nil: not on-off
}

type gapKind uint8

const (
	exponentialGap gapKind = iota
	gammaGap
	weibullGap
	equalGap
)

// newClock returns the arrivals that a describes.
func newClock(a Arrivals, seed uint64) (*clock, error) {
	if err := oneOf("arrivals.process", a.Process, ArrivalNames()); err != nil {
		return nil, err
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	c := &clock{gaps: rng.Stream(seed, "workloads.gaps"), rate: a.Rate}
	var err error
	switch a.Process {
	case "gamma":
		c.kind, c.b, c.gamma = gammaGap, a.CV*a.CV, newGammaLaw(1/(a.CV*a.CV))
	case "weibull":
		// Gap b·e^a with e exponential: shape 1/a, and mean 1 where b = 1/Γ(1+a).
		c.kind, c.a = weibullGap, weibullPower(a.CV)
		c.b = 1 / math.Gamma(1+c.a)
	case "constant":
		c.kind = equalGap
	case "on-off":
		c.bursts, c.rate, err = newBursts(a, seed)
	case "piecewise", "sinusoid":
		c.curve, err = newRateCurve(a)
		if err == nil {
			c.rate = c.curve.mean()
		}
	}
	return c, err
}

// check refuses parameters that the process does not have and values out of range.
func (a *Arrivals) check() error {
	p := a.Process
	bursty, listed, wave := p == "on-off", p == "piecewise", p == "sinusoid"
	spread := p == "gamma" || p == "weibull"
	err := first(
		absent("arrivals.cv", p, !spread && a.CV != 0, a.CV),
		absent("arrivals.on_rate", p, !bursty && a.OnRate != 0, a.OnRate),
		absent("arrivals.off_rate", p, !bursty && a.OffRate != 0, a.OffRate),
		absent("arrivals.on_s", p, !bursty && a.OnS != 0, a.OnS),
		absent("arrivals.off_s", p, !bursty && a.OffS != 0, a.OffS),
		absent("arrivals.points", p, !listed && a.Points != nil, a.Points),
		absent("arrivals.amplitude", p, !wave && a.Amplitude != 0, a.Amplitude),
		absent("arrivals.period_s", p, !listed && !wave && a.PeriodS != 0, a.PeriodS),
	)
	if err != nil {
		return err
	}
	if !(bursty || listed) || a.Rate != 0 {
		if err := above("arrivals.rate", a.Rate, 0, rateMax); err != nil {
			return err
		}
	}
	if spread {
		return above("arrivals.cv", a.CV, 0, cvMax)
	}
	return nil
}

// next returns the seconds of the next arrival; +Inf where the rate has fallen to zero for good.
func (c *clock) next() float64 {
	gap := 1.0
	switch c.kind {
	case exponentialGap:
		gap = c.gaps.ExpFloat64()
	case gammaGap:
		gap = c.b * c.gamma.draw(c.gaps)
	case weibullGap:
		gap = c.b * math.Pow(c.gaps.ExpFloat64(), c.a)
	}
	c.unit += uint64(gap*(1<<32) + 0.5)
	return c.at(float64(c.unit) * (1.0 / (1 << 32)))
}

// at returns the instant in seconds by which the rate has accumulated to mass.
func (c *clock) at(mass float64) float64 {
	switch {
	case c.curve != nil:
		return c.curve.at(mass)
	case c.bursts != nil:
		return c.bursts.at(mass)
	}
	return mass / c.rate
}

// extent returns the number of requests to expect, and refuses what would not fit the clock or the ids.
func (c *clock) extent(requests int64, durationS float64) (expected float64, err error) {
	expected = float64(requests)
	if durationS > 0 {
		mass := c.rate * durationS
		if c.curve != nil {
			mass = c.curve.mass(durationS)
		}
		if requests == 0 || mass < expected {
			expected = mass
		}
		if expected > expectedMax {
			return 0, refuse("duration_s", durationS, fmt.Sprintf(
				"a duration in which at most %d requests are expected, not %.3g", int64(expectedMax), expected))
		}
	} else if c.span(expected) > sim.HorizonS {
		return 0, refuse("requests", requests, fmt.Sprintf(
			"at most the %.3g that this arrival process offers within the %g s of the clock", c.offered(sim.HorizonS), sim.HorizonS))
	}
	return expected, nil
}

// span returns the seconds in which n requests are expected to arrive.
func (c *clock) span(n float64) float64 {
	if c.curve != nil {
		return c.curve.at(n)
	}
	return n / c.rate
}

// offered returns the requests expected within s seconds.
func (c *clock) offered(s float64) float64 {
	if c.curve != nil {
		return c.curve.mass(s)
	}
	return c.rate * s
}

// weibullPower returns 1/shape of the Weibull law with the given cv, by bisection: with power a,
// cv² + 1 = Γ(1+2a)/Γ(1+a)², which rises with a.
func weibullPower(cv float64) float64 {
	lo, hi := 0.0, 64.0
	for range 100 {
		a := (lo + hi) / 2
		twice, _ := math.Lgamma(1 + 2*a)
		once, _ := math.Lgamma(1 + a)
		if twice-2*once < math.Log1p(cv*cv) {
			lo = a
		} else {
			hi = a
		}
	}
	return (lo + hi) / 2
}
