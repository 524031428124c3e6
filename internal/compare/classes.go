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
	var all []comparedMetric
	for _, r := range latencyRows() {
		whole := r.metric()
		if !slices.Contains([]string{"TTFT mean", "TTFT p99", "TPOT mean"}, whole.name) {
			continue
		}
		own := row(whole.metric, whole.name, "s", func(c *metrics.ClassResult) float64 {
			return sampled(r.of(&c.Latency), r.statistic)
		})
		own.sample, own.statistic = sampleOf(class, r.sample), r.statistic
		all = append(all, own)
	}
	return append(all,
		row("slo.attainment", "SLO met", "share",
			func(c *metrics.ClassResult) float64 { return attainment(c.SLO, c.Measured()) }),
		row("slo.goodput_per_s", "goodput", "requests/s",
			func(c *metrics.ClassResult) float64 { return goodput(c.SLO, c.Measured()) }))
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
func sampled(q *metrics.Quantiles, s statistic) float64 {
	if q.N == 0 {
		return math.NaN()
	}
	return s.of(q)
}

// attainment and goodput are NaN without limits, and where no request was measured.

func attainment(o *metrics.SLO, measured bool) float64 {
	if o == nil || !measured {
		return math.NaN()
	}
	return o.Attainment
}

func goodput(o *metrics.SLO, measured bool) float64 {
	if o == nil || !measured {
		return math.NaN()
	}
	return o.GoodputPerS
}
