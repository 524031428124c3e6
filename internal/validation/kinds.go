package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
)

// KindErrors are the errors of one metric of one kind of measurement, perhaps from one source, whatever their quality
// but C: such rows are secondary, read off a figure, or flagged.
type KindErrors struct {
	Kind        string `json:"kind"` // as kindOf has it
	Metric      string `json:"metric"`
	Source      string `json:"source,omitempty"` // empty: all of them
	Deployments int    `json:"deployments"`      // of the rows that are compared
	Errors      Errors `json:"errors"`
}

// poor is the quality that no error is summed up of.
const poor = "C"

// long reports whether the data have a value a row, of several kinds.
func (v *Validation) long() bool {
	return slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Labels.Kind != "" })
}

// compareKinds sums up errors by kind and metric, and then by source.
func (v *Validation) compareKinds() {
	if !v.long() {
		return
	}
	v.Kinds = v.kindsBy(func(*Row) string { return "" })
	bySource := v.kindsBy(func(r *Row) string { return r.Labels.Source })
	if slices.ContainsFunc(bySource, func(k KindErrors) bool { return k.Source != bySource[0].Source }) {
		v.Kinds = append(v.Kinds, bySource...)
	}
}

// kindsBy gathers the errors of the rows with equal kind, metric and source, in the order of these names.
func (v *Validation) kindsBy(source func(*Row) string) []KindErrors {
	type group struct {
		percents    []float64
		skipped     int
		deployments map[string]bool
	}
	groups := map[KindErrors]*group{}
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Labels.Quality == poor {
			continue
		}
		for _, x := range r.Values {
			key := KindErrors{Kind: kindOf(&r.Labels), Metric: x.Metric, Source: source(r)}
			g := groups[key]
			if g == nil {
				g = &group{deployments: map[string]bool{}}
				groups[key] = g
			}
			if x.ErrorPct == nil {
				g.skipped++
				continue
			}
			g.percents = append(g.percents, *x.ErrorPct)
			g.deployments[deploymentOf(&r.Labels)] = true
		}
	}
	var all []KindErrors
	for key, g := range groups {
		key.Errors, key.Deployments = ErrorsOf(g.percents), len(g.deployments)
		key.Errors.Skipped = g.skipped
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b KindErrors) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Metric, b.Metric),
			strings.Compare(a.Source, b.Source))
	})
	return all
}

// kindOf returns what a row is counted with. A server at a rate whose prompts are a dataset that the row only names is
// of a kind of its own, whatever it is off by: its latencies depend on how long the prompts and outputs are and on how
// unevenly, of which the row states a mean at best.
func kindOf(l *Labels) string {
	if l.Kind == "server" && strings.HasPrefix(l.Load, "dataset/") {
		return "server_of_unstated_prompts"
	}
	return l.Kind
}

// deploymentOf names what a row was run on.
func deploymentOf(l *Labels) string {
	return cmp.Or(l.Deployment, strings.Join([]string{l.Model, l.GPU, l.Engine, l.Precision, l.Parallel}, " "))
}

// kindErrors prints what rows of a kind are off by, and then by source.
func kindErrors(t *text.Page, v *Validation) {
	for _, sources := range []bool{false, true} {
		title := "errors, quality C left out"
		if !v.hasQuality() {
			title = "errors"
		}
		if sources {
			title = "by source"
		}
		table := [][]string{{title, "n", "deployments", "skipped", "median |error|", "p90 |error|", "bias"}}
		for i := range v.Kinds {
			k := &v.Kinds[i]
			if sources != (k.Source != "") || k.Errors.N == 0 {
				continue
			}
			e, name := &k.Errors, strings.ReplaceAll(k.Kind, "_", " ")
			if sources {
				name = k.Source + ", " + name
			}
			table = append(table, []string{name + ": " + MetricName(k.Metric),
				fmt.Sprint(e.N), fmt.Sprint(k.Deployments), fmt.Sprint(e.Skipped), text.UnsignedPercent(e.MedianPct),
				text.UnsignedPercent(e.P90Pct), text.SignedPercent(e.BiasPct)})
		}
		if len(table) == 1 && !sources {
			t.Line("nothing to compare: no row is predicted")
		}
		if len(table) > 1 {
			if sources {
				t.Blank()
			}
			t.Table(table)
		}
	}
}

func (v *Validation) hasQuality() bool {
	return slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Labels.Quality != "" })
}

// longRows prints each row with its value.
func longRows(t *text.Page, v *Validation) {
	table := [][]string{{"id", "metric", "measured", "predicted", "error", ""}}
	for i := range v.Rows {
		r := &v.Rows[i]
		for j := range r.Values {
			x := &r.Values[j]
			metric := MetricName(x.Metric)
			if x.Unit != "" && !strings.Contains(metric, "/s") {
				metric += ", " + x.Unit
			}
			table = append(table, []string{r.ID, metric, text.Significant(x.Measured), significantOf(x.Predicted),
				signedOf(x.ErrorPct), x.Skipped})
		}
	}
	t.Table(table)
}
