package validation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/internal/measured"
)

// SchemaValidation names the format of validation.json. Fields are added, never renamed.
const Schema = "decodesim/validation/v1"

// Validation is how far predictions are from measurements. Errors are predicted/measured − 1 in percent; latencies are
// in milliseconds, as measured.
type Validation struct {
	Schema   string         `json:"schema"`
	Version  string         `json:"version"` // of the program
	File     string         `json:"file"`
	Data     string         `json:"data"` // how the file was recognised
	Notes    []string       `json:"notes"`
	Counts   Counts         `json:"counts"`
	Quality  string         `json:"quality,omitempty"` // of the rows that errors are of; empty: of all
	Metrics  []MetricErrors `json:"metrics"`
	Kinds    []KindErrors   `json:"kinds,omitempty"` // of tables that hold several kinds of measurement
	Skips    []Skip         `json:"skips"`
	TooFast  []TooFast      `json:"faster_than_bound"`
	Rows     []Row          `json:"rows"`
	Scenario string         `json:"scenario,omitempty"` // that the runs were put on
	Set      []string       `json:"set,omitempty"`      // over every run's scenario
}

// Counts says what became of every row and value: rows are simulated or skipped, values compared or skipped.
type Counts struct {
	Rows      int `json:"rows"`
	Simulated int `json:"rows_simulated"` // with at least one value compared
	Skipped   int `json:"rows_skipped"`
	Values    int `json:"values"`
	Compared  int `json:"values_compared"`
}

// Skip is a reason and how often it applies.
type Skip struct {
	Reason string `json:"reason"`
	Rows   int    `json:"rows"`   // of which nothing is compared
	Values int    `json:"values"` // of other rows
}

// TooFast is a row whose measured TPOT is less than the least time that a step can take.
type TooFast struct {
	ID         string  `json:"id"`
	MeasuredMS float64 `json:"measured_ms"`
	FloorMS    float64 `json:"floor_ms"`
}

// Row is a row of the data with its predictions.
type Row struct {
	ID      string  `json:"id"`
	Labels  Labels  `json:"labels"`
	Skipped string  `json:"skipped,omitempty"` // why nothing of it is compared
	Values  []Value `json:"values"`
}

// Labels are the labels of a row that are known.
type Labels struct {
	Quality     string `json:"quality,omitempty"`
	Mode        string `json:"mode,omitempty"`
	Source      string `json:"source,omitempty"`
	Engine      string `json:"engine,omitempty"`
	Version     string `json:"version,omitempty"`
	GPU         string `json:"gpu,omitempty"`
	Class       string `json:"class,omitempty"`
	Model       string `json:"model,omitempty"`
	Precision   string `json:"precision,omitempty"`
	Parallel    string `json:"parallel,omitempty"`
	Load        string `json:"load,omitempty"`
	Kind        string `json:"kind,omitempty"`
	Deployment  string `json:"deployment,omitempty"` // as the data call it
	Concurrency int    `json:"concurrency,omitempty"`
	Of          string `json:"of"` // whose requests: of a run, of a stage of it, or one request
}

// Value is a measured value beside the simulated one.
type Value struct {
	Metric    string   `json:"metric"`
	Measured  float64  `json:"measured"`
	Predicted *float64 `json:"predicted"` // nil: it is skipped
	ErrorPct  *float64 `json:"error_pct"`
	Skipped   string   `json:"skipped,omitempty"`
	Unit      string   `json:"unit,omitempty"` // absent: milliseconds or per second

	of  measured.Metric
	per float64 // of Unit in a millisecond, of latencies
}

// Score sums up predictions of all values of the file's runs, in their order.
func Score(f *measured.File, predictions []Prediction) *Validation {
	v := &Validation{
		Schema: Schema, File: f.Path, Data: f.Schema, Notes: append([]string{}, f.Notes...),
		Metrics: []MetricErrors{}, Skips: []Skip{}, TooFast: []TooFast{}, Rows: []Row{},
	}
	next := 0
	for i := range f.Runs {
		run := &f.Runs[i]
		for j := range run.Rows {
			row := &run.Rows[j]
			v.add(run, row, predictions[next:next+len(row.Values)])
			next += len(row.Values)
		}
	}
	if next != len(predictions) {
		panic("validation: predictions of other runs than are scored")
	}
	v.countSkips()
	if slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Labels.Quality == best && r.Skipped == "" }) {
		v.Quality = best
	}
	v.compare()
	v.compareKinds()
	return v
}

// best is the quality that accuracy is claimed for, where a row of it is compared.
const best = "A"

// nothing is why a row without values is not compared, unless its run says why.
const nothing = "nothing was measured"

func (v *Validation) add(run *measured.Run, row *measured.Row, predictions []Prediction) {
	r := Row{ID: row.ID, Labels: labelsOf(run, row), Values: make([]Value, len(predictions))}
	compared := 0
	for i := range predictions {
		p := &predictions[i]
		r.Values[i] = scored(p)
		if p.Skip != "" {
			continue
		}
		compared++
		if p.tooFast() {
			v.TooFast = append(v.TooFast, TooFast{row.ID, digits(p.Value.Measured, 12), digits(p.FloorMS, 7)})
		}
	}
	switch {
	case compared > 0:
		v.Counts.Simulated++
	case len(predictions) > 0:
		r.Skipped = predictions[0].Skip
		v.Counts.Skipped++
	default:
		r.Skipped = cmp.Or(run.Skip, nothing)
		v.Counts.Skipped++
	}
	v.Counts.Rows++
	v.Counts.Values += len(predictions)
	v.Counts.Compared += compared
	v.Rows = append(v.Rows, r)
}

func scored(p *Prediction) Value {
	x := Value{
		Metric: p.Value.Name, Measured: digits(p.Value.Measured, 12), Skipped: p.Skip, Unit: p.Value.Unit.Name,
		of: p.Value.Metric, per: p.Value.Unit.Of(1),
	}
	if p.Run.Priced != nil { // which counts in seconds
		x.per /= 1e3
	}
	if p.Skip == "" {
		predicted, percent := digits(p.Predicted, 7), digits(100*p.Error(), 7)
		x.Predicted, x.ErrorPct = &predicted, &percent
	}
	return x
}

// digits rounds x to n significant digits: those that follow are noise of the arithmetic.
func digits(x float64, n int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', n-1, 64), 64)
	if err != nil {
		panic("validation: a number that does not read back: " + err.Error())
	}
	return rounded
}

// tooFast reports whether tokens came faster, on average over all requests, than the data sheet allows the steps of the
// simulated run. A single request may see smaller batches than the mean of the run.
func (p *Prediction) tooFast() bool {
	return p.Value.Metric == measured.TPOT && p.Value.Stat == measured.Mean && p.Row.Request < 0 && p.Row.ToS == 0 &&
		p.Value.Unit.Of(1) == 1 && p.Value.Measured < p.FloorMS
}

func labelsOf(run *measured.Run, row *measured.Row) Labels {
	l := &run.Labels
	of := "run"
	switch {
	case row.Request >= 0:
		of = "request"
	case row.ToS > 0:
		of = "stage"
	}
	return Labels{
		Quality: l.Quality, Mode: l.Mode, Source: l.Source, Engine: l.Engine, Version: l.Version, GPU: l.GPU, Class: l.Class,
		Model: l.Model, Precision: l.Precision, Parallel: l.Parallel, Load: l.Load, Concurrency: l.Concurrency, Of: of,
		Kind: l.Kind, Deployment: l.Own,
	}
}

// countSkips gathers the reasons, the most frequent first.
func (v *Validation) countSkips() {
	place := map[string]int{}
	of := func(reason string) *Skip {
		i, ok := place[reason]
		if !ok {
			i = len(v.Skips)
			place[reason] = i
			v.Skips = append(v.Skips, Skip{Reason: reason})
		}
		return &v.Skips[i]
	}
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Skipped != "" {
			of(r.Skipped).Rows++
			continue
		}
		for _, x := range r.Values {
			if x.Skipped != "" {
				of(x.Skipped).Values++
			}
		}
	}
	slices.SortStableFunc(v.Skips, func(a, b Skip) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(b.Values, a.Values), cmp.Compare(a.Reason, b.Reason))
	})
}
