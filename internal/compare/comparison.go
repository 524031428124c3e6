package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Schema names the format of compare.json. Fields are added, never renamed.
const Schema = "decodesim/compare/v1"

// Comparison is scenarios that served the same requests, each beside the first. Scenarios, Seeds, Diff and what they
// name are the caller's to fill; Add and Close fill the rest.
type Comparison struct {
	Schema     string      `json:"schema"`
	Version    string      `json:"version"`
	Seeds      []uint64    `json:"seeds"`
	Requests   Likeness    `json:"requests"`  // the least alike
	Intervals  string      `json:"intervals"` // what they are made of: IntervalsByBatches or IntervalsBySeeds
	Confidence float64     `json:"confidence"`
	Scenarios  []Candidate `json:"scenarios"`
	Diff       []KeyDiff   `json:"diff"`
	Metrics    []Item      `json:"metrics"`
	Notes      []string    `json:"notes"`

	Seedable bool               `json:"-"` // other seeds would make other requests
	Pairing  func(done, of int) `json:"-"` // how many metrics of how many are computed; nil: nobody asks

	trials [][]*metrics.Summary // by seed
	pairs  []pairing            // by scenario, of the only seed
}

// The ways to an interval.
const (
	IntervalsByBatches = "batch means of one run"
	IntervalsBySeeds   = "replications by seed"
)

// Likeness says how alike the requests of the scenarios are.
type Likeness string

// From alike to not.
const (
	SameRequests Likeness = "same"         // arrivals and lengths
	SameLengths  Likeness = "same lengths" // sent at other times, as clients do that wait for their answers
	NotTheSame   Likeness = "different"
)

// Candidate is one of the scenarios.
type Candidate struct {
	Name     string           `json:"name"` // of its column and of its folder
	Source   string           `json:"source"`
	Is       string           `json:"is"`       // model and hardware
	Requests Likeness         `json:"requests"` // to those of the first
	Why      string           `json:"why"`      // its tail looks as it does
	Summary  *metrics.Summary `json:"summary"`  // of the first seed
}

// KeyDiff is a key that the scenarios do not agree on, and its value in each; "": the scenario has no such key.
type KeyDiff struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Item is one metric of every scenario.
type Item struct {
	Metric      string         `json:"metric"`          // where it stands in summary.json, a class under its name
	Class       string         `json:"class,omitempty"` // of the requests that it is of; absent: of all
	Name        string         `json:"name"`
	Unit        string         `json:"unit"`
	Values      []stats.Number `json:"values"`      // means over the seeds
	Differences []*Difference  `json:"differences"` // to the first scenario, whose own is null
}

// Difference is a value less that of the first scenario.
type Difference struct {
	Mean     stats.Number    `json:"mean"`
	Relative stats.Number    `json:"relative"`
	Interval *stats.Interval `json:"interval"` // null: one run tells none
}

// Trial is one run of a scenario.
type Trial struct {
	Summary  *metrics.Summary
	Requests []Served // by ID
	WarmupS  float64
}

// Add takes the runs of all scenarios under the next seed.
func (c *Comparison) Add(trials []Trial) {
	var summaries []*metrics.Summary
	for _, t := range trials {
		summaries = append(summaries, t.Summary)
	}
	c.trials = append(c.trials, summaries)
	for i := range trials {
		p := pair(&trials[0], &trials[i])
		c.Scenarios[i].Requests = lessAlike(c.Scenarios[i].Requests, p.likeness())
		c.Requests = lessAlike(c.Requests, c.Scenarios[i].Requests)
		if len(c.Seeds) == 1 {
			c.pairs = append(c.pairs, p)
		}
	}
}

// lessAlike returns the less alike of two; "" is more than alike.
func lessAlike(a, b Likeness) Likeness {
	order := []Likeness{"", SameRequests, SameLengths, NotTheSame}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// Close computes the metrics and their differences once every run was added.
func (c *Comparison) Close() {
	c.Schema, c.Confidence, c.Intervals = Schema, stats.Confidence, IntervalsByBatches
	if len(c.Seeds) > 1 {
		c.Intervals = IntervalsBySeeds
	}
	for i := range c.Scenarios {
		c.Scenarios[i].Summary = c.trials[0][i]
	}
	lists := []metricList{{"", comparedMetrics(bursts(c.trials))}, {"", ruleMetrics(rules(c.trials, ""), "")}}
	for _, class := range classNames(c.trials) {
		lists = append(lists, metricList{class, append(classMetrics(class), ruleMetrics(rules(c.trials, class), class)...)})
	}
	of := 0
	for _, l := range lists {
		of += len(l.metrics)
	}
	done := 0
	for _, l := range lists {
		for i := range l.metrics {
			c.report(done, of)
			c.list(l.class, &l.metrics[i])
			done++
		}
	}
	c.note()
	c.trials, c.pairs = nil, nil
}

// metricList is the metrics of a class, or of all requests.
type metricList struct {
	class   string
	metrics []comparedMetric
}

// report says how many metrics of how many are computed: those of a million requests take longer than their runs.
func (c *Comparison) report(done, of int) {
	if c.Pairing != nil {
		c.Pairing(done, of)
	}
}

// list computes a metric of a class, or of all requests.
func (c *Comparison) list(class string, m *comparedMetric) {
	if item, ok := c.item(m); ok {
		item.Class = class
		c.Metrics = append(c.Metrics, item)
	}
}

// item computes a metric; false: no scenario has it.
func (c *Comparison) item(m *comparedMetric) (item Item, ok bool) {
	item = Item{Metric: m.metric, Name: m.name, Unit: m.unit}
	for i := range c.Scenarios {
		values := make([]float64, len(c.trials))
		for seed, summaries := range c.trials {
			values[seed] = m.of(summaries[i])
		}
		item.Values = append(item.Values, stats.Number(mean(values)))
		ok = ok || !math.IsNaN(mean(values))
	}
	for i := range c.Scenarios {
		item.Differences = append(item.Differences, c.difference(m, &item, i))
	}
	return item, ok
}

func (c *Comparison) difference(m *comparedMetric, item *Item, i int) *Difference {
	if i == 0 {
		return nil
	}
	first, other := item.Values[0], item.Values[i]
	d := &Difference{Mean: other - first, Relative: (other - first) / first}
	switch {
	case math.IsNaN(float64(d.Mean)):
	case len(c.trials) > 1:
		paired := make([]float64, len(c.trials))
		for seed, summaries := range c.trials {
			paired[seed] = m.of(summaries[i]) - m.of(summaries[0])
		}
		d.Interval = stats.IntervalAround(mean(paired), paired)
	case m.sample != nil && c.Scenarios[i].Requests != NotTheSame:
		d.Interval = c.pairs[i].interval(m)
	}
	return d
}

// note says what a reader must know of the intervals.
func (c *Comparison) note() {
	c.Notes = []string{}
	if c.zeroGaps() {
		c.Notes = append(c.Notes, "ITL, tokens: the tokens of one chunk come at once, 0 ms apart, and where the p50 "+
			"is 0, most gaps are of this kind. Waiting is in ITL, chunks.")
	}
	if len(c.trials) > 1 {
		return
	}
	for i, p := range c.pairs[1:] {
		if n := len(p.both); n < p.sent && !p.unlike {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: intervals are of the %s of %s requests that both it and %s completed",
				c.Scenarios[i+1].Name, text.Count(n), text.Count(p.sent), c.Scenarios[0].Name))
		}
	}
}

// zeroGaps reports whether the median gap between tokens is 0 in some scenario.
func (c *Comparison) zeroGaps() bool {
	return slices.ContainsFunc(c.Metrics, func(item Item) bool {
		return item.Name == "ITL p50, tokens" && slices.Contains(item.Values, 0)
	})
}
