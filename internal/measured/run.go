package measured

import (
	"cmp"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/measured/names"
)

// File is a file of measurements as simulations to be run and values to be compared with them.
type File struct {
	Path   string
	Schema string // how the file was recognised
	Runs   []Run
	Notes  []string // what a reader assumed for all rows
}

// Run is one simulation: how a deployment was set up and loaded. Several rows of a file may describe one run.
type Run struct {
	ID       string
	Scenario string // as YAML; holds no measured latency
	Over     string // YAML keys that go over a scenario given beside the data (File.On); empty: Scenario says all
	Skip     string // why it is not simulated; empty: it is
	Unlike   bool   // Skip is that no workload is like its load: it can be simulated where its requests are recorded
	Labels   Labels
	Rows     []Row
	Occupied Occupancy
	Priced   *Priced // what is priced in place of a simulation; nil: the scenario is simulated
}

// Refuse has a run not simulated whose requests failed, or whose load no workload is like, if one of these says why.
func (r *Run) Refuse(failed, unlike string) {
	r.Skip, r.Unlike = cmp.Or(failed, unlike), failed == "" && unlike != ""
}

// Occupancy is how full a server was, as its own counters tell. Zero values: they are not known.
type Occupancy struct {
	KVMean, KVMax          float64 // shares of the cache
	RunningMax, WaitingMax float64 // requests
	Requests               int     // sent in all
}

// Labels say what a run is one of. Results are grouped by them; an empty one is unknown.
type Labels struct {
	Source      string // schema, or origin within it
	Model       string // catalog name
	Class       string // dense, moe, moe-mla, …
	GPU         string // catalog name
	Engine      string // vllm sglang trtllm
	Version     string // of the engine
	Mode        string // agg, disagg
	Quality     string // A is what accuracy is claimed for
	Precision   string
	Parallel    string // layout, such as tp4 or tp4-dp2
	Load        string // profile of the load, such as 8192/1024
	Kind        string // what was measured, of tables that hold several kinds
	Own         string // name of the deployment in the data; empty: Deployment makes one
	Concurrency int    // clients of a closed loop; 0: an open one
}

// EagerStack is the engine of the rows: stacks from before CUDA graphs.
const EagerStack = "eager-2023"

// Deployment names what data are held out by: rows of one deployment are never split between fitting and scoring.
func (l *Labels) Deployment() string {
	if l.Own != "" {
		return l.Own
	}
	return strings.Join([]string{names.ShapeOf(l.Model), l.GPU, l.Engine, l.Precision, l.Parallel}, " ")
}

// Row is what was measured of some requests of a run.
type Row struct {
	ID      string
	FromS   float64 // only requests sent at FromS ≤ t < ToS, seconds from the start of the run
	ToS     float64 // 0: all
	Request int     // the one request, in order of arrival; −1: all in the window
	Values  []Value
}

// Value is one measured number: milliseconds, or per second.
type Value struct {
	Metric   Metric
	Stat     Stat
	Name     string // in predictions.csv; ttft tpot itl e2e for the statistic that the data lead with
	Measured float64
	Skip     string // why it is not compared; empty: it is
	Unit     Unit   // of Measured
}

// Unit is what a value counts in: milliseconds or per second, unless it says otherwise. What is priced counts in
// seconds. A value is Factor times that or, inverted, Factor divided by it.
type Unit struct {
	Name    string  // as the data spell it; empty: that of the metric
	Factor  float64 // 0: 1
	Inverse bool
}

// Of returns a prediction in the unit.
func (u Unit) Of(predicted float64) float64 {
	factor := u.Factor
	if factor == 0 {
		factor = 1
	}
	if u.Inverse {
		return factor / predicted
	}
	return factor * predicted
}

// Canonical returns the value in milliseconds, or per second of the whole system, whatever its unit.
func (v *Value) Canonical() Value {
	c := *v
	if v.Unit.Inverse {
		c.Measured = v.Unit.Of(v.Measured)
	} else {
		c.Measured = v.Measured / v.Unit.Of(1)
	}
	c.Unit = Unit{}
	return c
}

// Fittable returns the runs as a fit takes them: their values in milliseconds or per second, and those skipped of which
// no request was measured.
func Fittable(runs []Run) []Run {
	out := make([]Run, len(runs))
	for i, r := range runs {
		if r.Priced != nil && r.Skip == "" {
			r.Skip = "a step, a collective or a kernel by itself, to which nothing is fitted"
		}
		rows := r.Rows
		r.Rows = make([]Row, len(rows))
		for j, row := range rows {
			values := row.Values
			row.Values = make([]Value, len(values))
			for k := range values {
				row.Values[k] = values[k].Canonical()
			}
			r.Rows[j] = row
		}
		out[i] = r
	}
	return out
}

// Metric is what is measured of a request, or of all.
type Metric uint8

// The metrics.
const (
	TTFT Metric = iota
	TPOT        // (last token − first) / (tokens − 1), per request
	ITL         // between tokens, pooled over requests
	E2E
	OutputPerS   // output tokens per second, first send to last token
	RequestsPerS // completed requests per second, first send to last token
	Duration     // of what is priced
	Rate         // of what is priced: work per second
	numMetrics
)

// NumMetrics is how many metrics requests have, which are the first ones.
const NumMetrics = Duration

var metricNames = [numMetrics]string{"ttft", "tpot", "itl", "e2e", "output_tokens_per_s", "requests_per_s", "duration",
	"rate"}

func (m Metric) String() string { return metricNames[m] }

// Stat is which number stands for many requests.
type Stat uint8

// The statistics.
const (
	Mean Stat = iota
	P50
	P90
	P95
	P99
	Max
	NumStats
)

var statNames = [NumStats]string{"mean", "p50", "p90", "p95", "p99", "max"}

func (s Stat) String() string { return statNames[s] }

// Lead is a value with the name of its metric alone: the statistic that the data lead with.
func Lead(m Metric, s Stat, measured float64) Value {
	return Value{Metric: m, Stat: s, Name: m.String(), Measured: measured}
}

// Other is a value beside the leading one, such as ttft_p99.
func Other(m Metric, s Stat, measured float64) Value {
	return Value{Metric: m, Stat: s, Name: m.String() + "_" + s.String(), Measured: measured}
}

// Quantile returns the p-quantile of sorted numbers, linear between them, as numpy and so the benchmark tools define
// it.
func Quantile(sorted []float64, p float64) float64 {
	at := float64(p * float64(len(sorted)-1))
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}
