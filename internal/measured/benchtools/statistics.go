package benchtools

import (
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// Schemas are the result files of benchmark tools.
func Schemas() []datafile.Schema {
	return []datafile.Schema{vllmBench, aiperf, guidellm, inferencePerf}
}

// statistics are numbers that stand for many requests, each at its Stat; 0: not there.
type statistics [measured.NumStats]float64

// add keeps a number unless one is there already. What is not above 0 was not measured.
func (s *statistics) add(stat measured.Stat, x float64) {
	if s[stat] == 0 && x > 0 {
		s[stat] = x
	}
}

func (s *statistics) none() bool { return *s == statistics{} }

// values appends the numbers, the leading one first: the mean, or else the first there is.
func (s *statistics) values(values []measured.Value, m measured.Metric) []measured.Value {
	lead := true
	for stat, x := range s {
		switch {
		case x == 0:
			continue
		case lead:
			values = append(values, measured.Lead(m, measured.Stat(stat), x))
		default:
			values = append(values, measured.Other(m, measured.Stat(stat), x))
		}
		lead = false
	}
	return values
}

// statKeys are the names that tools give to statistics.
var statKeys = []struct {
	stat  measured.Stat
	names []string
}{
	{measured.Mean, []string{"mean", "avg"}}, {measured.P50, []string{"p50", "median"}}, {measured.P90, []string{"p90"}},
	{measured.P95, []string{"p95"}},
	{measured.P99, []string{"p99"}}, {measured.Max, []string{"max"}},
}

// statisticsOf reads the statistics of a mapping, or of "percentiles" below it, times a factor to milliseconds.
func statisticsOf(o datafile.Object, factor float64) statistics {
	var found statistics
	for _, k := range statKeys {
		for _, name := range k.names {
			for _, at := range []datafile.Object{o, o.Sub("percentiles")} {
				if x, ok := at.Amount(name); ok {
					found.add(k.stat, factor*x)
				}
			}
		}
	}
	return found
}

// percentiles are the names tools give to shares, in order.
var percentiles = []struct {
	names []string
	p     float64
}{
	{[]string{"min"}, 0}, {[]string{"p001"}, 0.001}, {[]string{"p0.1"}, 0.001}, {[]string{"p01", "p1"}, 0.01},
	{[]string{"p05", "p5"}, 0.05},
	{[]string{"p10"}, 0.1}, {[]string{"p25"}, 0.25}, {[]string{"p50", "median"}, 0.5}, {[]string{"p75"}, 0.75},
	{[]string{"p90"}, 0.9},
	{[]string{"p95"}, 0.95}, {[]string{"p99"}, 0.99}, {[]string{"p999", "p99.9"}, 0.999}, {[]string{"max"}, 1},
}

// summarised reads counts of which a file has statistics: the mean under a key, and percentiles beside it or below
// "percentiles".
func summarised(o datafile.Object, mean string) setup.Counts {
	c := setup.Counts{Mean: o.Required(mean, "a mean number of tokens above 0")}
	if !o.Has("min", "max") {
		return c
	}
	inner := o.Sub("percentiles")
	for _, q := range percentiles {
		for _, name := range q.names {
			x, ok := o.Optional(name)
			if !ok {
				x, ok = inner.Optional(name)
			}
			if n := len(c.Points); ok && x >= 0 && (n == 0 || x >= c.Points[n-1].Tokens && q.p > c.Points[n-1].P) {
				c.Points = append(c.Points, setup.Point{P: q.p, Tokens: x})
				break
			}
		}
	}
	if n := len(c.Points); n < 2 || c.Points[0].P != 0 || c.Points[n-1].P != 1 {
		c.Points = nil
	}
	return c
}

// measuredModel returns the catalog's name of a model, or the name as the file has it.
func measuredModel(name string) string {
	if known, unknown := names.CatalogModel(name); unknown == "" {
		return known
	}
	return name
}

// notesOfLoad are what every reader assumes of a load whose deployment the user describes.
func notesOfLoad(f *measured.File) {
	f.Notes = append(f.Notes, noteOfDeployment,
		"prompt and output lengths are drawn independently of each other, with the distribution that the data tell: from "+
			"each request's length, from percentiles, or else all at the mean")
}

const noteOfDeployment = "the load is that of the data and the deployment that of the scenario; what the data do not " +
	"say, such as prompts that share a beginning, is the scenario's too"
