package compare

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim/metrics"
)

// classNames returns the service classes of all runs, in the order in which they come.
func classNames(trials [][]*metrics.Summary) []string {
	var names []string
	for _, summaries := range trials {
		for _, s := range summaries {
			for i := range s.Classes {
				if name := s.Classes[i].Name; !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// classMetrics are those of the requests of one class.
func classMetrics(class string) []comparedMetric {
	ttft := sampleOf(class, func(s *Served) float64 { return s.TTFT.Seconds() })
	row := func(metric, name, unit string, of func(*metrics.ClassResult) float64) comparedMetric {
		return comparedMetric{metric: "classes." + class + "." + metric, name: name, unit: unit,
			of: func(s *metrics.Summary) float64 {
				i := slices.IndexFunc(s.Classes, func(c metrics.ClassResult) bool { return c.Name == class })
				if i < 0 {
					return math.NaN()
				}
				return of(&s.Classes[i])
			}}
	}
	paired := func(m comparedMetric, sample func(*Served) float64, reduce func([]float64) float64,
		perBatch int) comparedMetric {
		m.sample, m.reduce, m.perBatch = sample, reduce, perBatch
		return m
	}
	return []comparedMetric{
		paired(row("latency.ttft_s.mean", "TTFT mean", "s", func(c *metrics.ClassResult) float64 {
			return sampled(&c.Latency.TTFT, c.Latency.TTFT.Mean)
		}), ttft, mean, perMean),
		paired(row("latency.ttft_s.p99", "TTFT p99", "s", func(c *metrics.ClassResult) float64 {
			return sampled(&c.Latency.TTFT, c.Latency.TTFT.P99)
		}), ttft, quantile(.99), perTail),
		paired(row("latency.tpot_s.mean", "TPOT mean", "s", func(c *metrics.ClassResult) float64 {
			return sampled(&c.Latency.TPOT, c.Latency.TPOT.Mean)
		}), sampleOf(class, (*Served).tpotS), mean, perMean),
		row("slo.attainment", "SLO met", "share", func(c *metrics.ClassResult) float64 { return attainment(c.SLO) }),
		row("slo.goodput_per_s", "goodput", "requests/s", func(c *metrics.ClassResult) float64 { return goodput(c.SLO) }),
	}
}

// sampleOf is a sample of the requests of one class alone.
func sampleOf(class string, sample func(*Served) float64) func(*Served) float64 {
	return func(s *Served) float64 {
		if s.Class != class {
			return math.NaN()
		}
		return sample(s)
	}
}

// sampled returns a statistic of a distribution; NaN: it has no samples.
func sampled(q *metrics.Quantiles, x float64) float64 {
	if q.N == 0 {
		return math.NaN()
	}
	return x
}

// attainment and goodput are NaN without limits.

func attainment(o *metrics.SLO) float64 {
	if o == nil {
		return math.NaN()
	}
	return o.Attainment
}

func goodput(o *metrics.SLO) float64 {
	if o == nil {
		return math.NaN()
	}
	return o.GoodputPerS
}
