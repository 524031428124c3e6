package arrivals

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/variates"
)

// rateCurve is a rate that is linear between points, with the requests expected up to each of them.
type rateCurve struct {
	t, rate, sum []float64 // seconds, requests/s, requests
	period       float64   // seconds; 0: the last rate goes on
}

// newPiecewise returns the rate between listed points.
func newPiecewise(s *Spec, _ uint64) (gaps, pace, error) {
	if err := s.checkPoints(); err != nil {
		return nil, nil, err
	}
	c := &rateCurve{period: s.PeriodS}
	for _, p := range s.Points {
		c.t, c.rate = append(c.t, p.AtS), append(c.rate, p.Rate)
	}
	c.close()
	mean := c.mean()
	if mean == 0 && (s.Rate > 0 || c.rate[len(c.rate)-1] == 0) {
		return nil, nil, check.Refuse("arrivals.points", s.Points, "at least one rate above 0 before the last point")
	}
	if s.Rate > 0 {
		variates.ScaleAll(c.rate, s.Rate/mean)
		c.accumulate()
	}
	g, err := gapsWithin(s)
	return g, c, cmp.Or(err, c.checkPeriod())
}

func (s *Spec) checkPoints() error {
	if len(s.Points) == 0 || s.Points[0].AtS != 0 {
		return check.Refuse("arrivals.points", s.Points, "a list of {at_s, rate} that starts with at_s = 0")
	}
	at := 0.0
	for i, p := range s.Points {
		field := fmt.Sprintf("arrivals.points[%d]", i)
		err := cmp.Or(
			check.Within(field+".at_s", p.AtS, at, sim.HorizonS),
			check.Within(field+".rate", p.Rate, 0, rateMax),
		)
		if err != nil {
			return err
		}
		at = p.AtS
	}
	if s.PeriodS == 0 {
		return nil
	}
	return cmp.Or(
		check.Above("arrivals.period_s", s.PeriodS, 0, sim.HorizonS),
		check.Within("arrivals.period_s", s.PeriodS, at, sim.HorizonS),
	)
}

// wavePoints is how many straight pieces stand for a sine: they are within 4e-5 of its amplitude, and its mean is
// exact.
const wavePoints = 360

// newWave returns a sine of rates, rounded to 2^−30, so that its last bit, which differs between processors, does not
// matter.
func newWave(s *Spec, _ uint64) (gaps, pace, error) {
	err := cmp.Or(
		check.Within("arrivals.amplitude", s.Amplitude, 0, 1),
		check.Above("arrivals.period_s", s.PeriodS, 0, sim.HorizonS),
	)
	if err != nil {
		return nil, nil, err
	}
	c := &rateCurve{period: s.PeriodS}
	for i := range wavePoints + 1 {
		sine := math.Round(math.Sin(2*math.Pi*float64(i)/wavePoints)*(1<<30)) / (1 << 30)
		c.t = append(c.t, s.PeriodS*float64(i)/wavePoints)
		c.rate = append(c.rate, s.Rate*(1+float64(s.Amplitude*sine)))
	}
	c.close()
	g, err := gapsWithin(s)
	return g, c, cmp.Or(err, c.checkPeriod())
}

// checkPeriod refuses periods so short that the arithmetic of thousands of them between two arrivals would blur.
func (c *rateCurve) checkPeriod() error {
	if c.period == 0 || c.total() >= 1e-4 {
		return nil
	}
	return check.Refuse("arrivals.period_s", c.period, "a period in which at least 0.0001 requests are expected")
}

// close extends the last rate to the end of the period and accumulates.
func (c *rateCurve) close() {
	n := len(c.t)
	if c.period > c.t[n-1] {
		c.t, c.rate = append(c.t, c.period), append(c.rate, c.rate[n-1])
	}
	c.accumulate()
}

func (c *rateCurve) accumulate() {
	c.sum = make([]float64, len(c.t))
	for i := 1; i < len(c.t); i++ {
		c.sum[i] = c.sum[i-1] + float64(float64((c.t[i]-c.t[i-1])*(c.rate[i]+c.rate[i-1]))/2)
	}
}

// total returns the requests expected over the points.
func (c *rateCurve) total() float64 { return c.sum[len(c.sum)-1] }

// mean returns the mean rate over the points, or the rate of a single point.
func (c *rateCurve) mean() float64 {
	if end := c.t[len(c.t)-1]; end > 0 {
		return c.total() / end
	}
	return c.rate[len(c.rate)-1]
}

// meanRate returns the mean over a period or, without one, over the time in which so many requests are expected.
func (c *rateCurve) meanRate(requests float64) float64 {
	if c.period == 0 && requests > 0 {
		return requests / c.at(requests)
	}
	return c.mean()
}

func (c *rateCurve) instants(requests []float64) {
	for i, n := range requests {
		requests[i] = c.at(n)
	}
}

func (c *rateCurve) span(requests float64) float64 { return c.at(requests) }

// at returns the instant by which so many requests are expected.
func (c *rateCurve) at(mass float64) float64 {
	base, last := 0.0, len(c.t)-1
	if mass > c.sum[last] {
		if c.period == 0 {
			return c.t[last] + (mass-c.sum[last])/c.rate[last]
		}
		k := math.Ceil(mass/c.sum[last]) - 1
		base, mass = float64(k*c.period), min(max(0, mass-float64(k*c.sum[last])), c.sum[last])
	}
	i := sort.SearchFloat64s(c.sum, mass) // the first point with sum ≥ mass
	if i == 0 {
		return base
	}
	return base + c.within(i, mass-c.sum[i-1])
}

// within returns the instant by which d requests have come in the piece that ends at point i. It solves
//
//	r·x + s·x²/2 = d     in the form that is stable for any slope s:  x = 2d / (r + √(r² + 2sd))
func (c *rateCurve) within(i int, d float64) float64 {
	width := c.t[i] - c.t[i-1]
	r := c.rate[i-1]
	slope := (c.rate[i] - r) / width
	x := 2 * d / (r + math.Sqrt(max(0, float64(r*r)+float64(2*slope*d))))
	return c.t[i-1] + min(x, width)
}

// expected returns the requests expected by t seconds.
func (c *rateCurve) expected(t float64) float64 {
	base, last := 0.0, len(c.t)-1
	if t >= c.t[last] {
		if c.period == 0 {
			return c.sum[last] + float64((t-c.t[last])*c.rate[last])
		}
		k := math.Floor(t / c.period)
		base, t = k*c.sum[last], max(0, t-float64(k*c.period))
	}
	i := sort.SearchFloat64s(c.t, t)
	if i == 0 || i > last {
		return base
	}
	x, width := t-c.t[i-1], c.t[i]-c.t[i-1]
	return base + c.sum[i-1] + float64(x*(c.rate[i-1]+float64((c.rate[i]-c.rate[i-1])*x/width/2)))
}
