package measured

import "math"

// statistics are numbers that stand for many requests, each at its Stat; 0: not there.
type statistics [NumStats]float64

// add keeps a number unless one is there already. What is not above 0 was not measured.
func (s *statistics) add(stat Stat, x float64) {
	if s[stat] == 0 && x > 0 {
		s[stat] = x
	}
}

func (s *statistics) none() bool { return *s == statistics{} }

// values appends the numbers, the leading one first: the mean, or else the first there is.
func (s *statistics) values(values []Value, m Metric) []Value {
	lead := true
	for stat, x := range s {
		switch {
		case x == 0:
			continue
		case lead:
			values = append(values, Lead(m, Stat(stat), x))
		default:
			values = append(values, Other(m, Stat(stat), x))
		}
		lead = false
	}
	return values
}

// statKeys are the names that tools give to statistics.
var statKeys = []struct {
	stat  Stat
	names []string
}{
	{Mean, []string{"mean", "avg"}}, {P50, []string{"p50", "median"}}, {P90, []string{"p90"}}, {P95, []string{"p95"}},
	{P99, []string{"p99"}}, {Max, []string{"max"}},
}

// statisticsOf reads the statistics of a mapping, or of "percentiles" below it, times a factor to milliseconds.
func statisticsOf(o object, factor float64) statistics {
	var found statistics
	for _, k := range statKeys {
		for _, name := range k.names {
			for _, at := range []object{o, o.sub("percentiles")} {
				if x, ok := at.amount(name); ok {
					found.add(k.stat, factor*x)
				}
			}
		}
	}
	return found
}

// Quantile returns the p-quantile of sorted numbers, linear between them, as numpy and so the benchmark tools define it.
func Quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
