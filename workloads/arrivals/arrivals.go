package arrivals

import (
	"slices"

	"github.com/decodesim/decodesim/workloads/check"
)

// Spec describes a process of independent arrivals. The first request comes after the first gap. A parameter that the
// process does not have must be zero or nil.
type Spec struct {
	Process   string  `yaml:"process" names:"arrivals" doc:"law of the gaps between requests"`
	Rate      float64 `yaml:"rate,omitempty" unit:"requests/s" doc:"requests/s, the long-run mean; null: as the points or the bursts say"`
	CV        float64 `yaml:"cv,omitempty" about:"standard deviation / mean of the gaps; where the rate changes, of gaps counted in requests that it expects, and null: 1, Poisson"`
	OnRate    float64 `yaml:"on_rate,omitempty" unit:"requests/s" about:"rate within bursts"`
	OffRate   float64 `yaml:"off_rate,omitempty" unit:"requests/s" about:"rate between bursts"`
	OnS       float64 `yaml:"on_s,omitempty" about:"mean length of a burst"`
	OffS      float64 `yaml:"off_s,omitempty" about:"mean gap between bursts"`
	Points    []Point `yaml:"points,omitempty" about:"rates at instants from 0 s on, in order; two at one instant are a jump"`
	Amplitude float64 `yaml:"amplitude,omitempty" about:"swing of the rate, as a share of its mean, 0 to 1"`
	PeriodS   float64 `yaml:"period_s,omitempty" about:"length of a period; null: points do not repeat"`
}

// Point is the rate at an instant.
type Point struct {
	AtS  float64 `yaml:"at_s" required:"at_s and rate" about:"instant after the start"`
	Rate float64 `yaml:"rate" required:"at_s and rate" unit:"requests/s" about:"rate at that instant"`
}

// Scaled returns the process at so many times its rate.
func (s *Spec) Scaled(factor float64) Spec {
	t := *s
	if s.Rate > 0 {
		t.Rate *= factor
		return t
	}
	t.OnRate, t.OffRate = s.OnRate*factor, s.OffRate*factor
	t.Points = slices.Clone(s.Points)
	for i := range t.Points {
		t.Points[i].Rate *= factor
	}
	return t
}

// kind is a process by its name.
type kind struct {
	name       string
	parameters []string // YAML keys beside process and rate
	paced      bool     // it has a mean rate without Spec.Rate, which scales that mean; 0 leaves it as it is
	build      func(s *Spec, seed uint64) (gaps, pace, error)
}

// kinds returns the processes, in the order of the documentation.
func kinds() []kind {
	return []kind{
		// Exponential gaps.
		{"poisson", nil, false, poisson},
		// Gamma gaps, burstier than poisson where cv > 1.
		{"gamma", []string{"cv"}, false, newGammaGaps},
		// Weibull gaps.
		{"weibull", []string{"cv"}, false, newWeibullGaps},
		// Equal gaps.
		{"constant", nil, false, constant},
		// Poisson, or with gamma gaps of a cv, at one of two rates. The time in each state is exponential with the given
		// mean, and the first state is drawn by its share of the time.
		{"on-off", []string{"on_rate", "off_rate", "on_s", "off_s", "cv"}, true, newBursts},
		// Poisson, or with gamma gaps of a cv, at a rate that is linear between the points and stays at that of the last
		// one, or starts over every period.
		{"piecewise", []string{"points", "period_s", "cv"}, true, newPiecewise},
		// Poisson, or with gamma gaps of a cv, at rate·(1 + amplitude·sin(2πt/period)), as 360 straight pieces.
		{"sinusoid", []string{"amplitude", "period_s", "cv"}, false, newWave},
	}
}

// Names returns the names of the processes, in the order of the documentation.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

const (
	rateMax = 1e9   // requests/s: one request per gap of picoseconds has no meaning long before it overflows
	cvMax   = 100.0 // beyond it float formulas lose their meaning
)

// check refuses parameters that a process of this kind does not have, and a rate out of range.
func (k *kind) check(s *Spec) error {
	keys := append([]string{"process", "rate"}, k.parameters...)
	if err := check.Parameters("arrivals", k.name, *s, keys...); err != nil {
		return err
	}
	if k.paced && s.Rate == 0 {
		return nil
	}
	return check.Above("arrivals.rate", s.Rate, 0, rateMax)
}
