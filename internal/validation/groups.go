package validation

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
)

// MetricErrors are the errors of one name of predictions.csv.
type MetricErrors struct {
	Metric string  `json:"metric"`
	Lead   bool    `json:"lead"` // the statistic that the data lead with
	All    Errors  `json:"all"`
	Groups []Group `json:"groups,omitempty"` // of leading statistics
}

// Group are the errors of the rows with one value of a label. All have the quality that errors are of, but those by
// quality and by mode, for what is the mode of few rows of the best quality is the mode of many others.
type Group struct {
	By     string `json:"by"`
	Name   string `json:"name"`
	Errors Errors `json:"errors"`

	order int
}

// dimension is a label by which errors are grouped.
type dimension struct {
	name string
	all  bool // over rows of every quality
	of   func(*Labels) (name string, order int)
}

func dimensions() []dimension {
	text := func(name string, of func(*Labels) string) dimension {
		return dimension{name: name, of: func(l *Labels) (string, int) { return of(l), 0 }}
	}
	everywhere := func(d dimension) dimension { d.all = true; return d }
	return []dimension{
		everywhere(text("quality", func(l *Labels) string { return l.Quality })),
		everywhere(text("mode", func(l *Labels) string { return l.Mode })),
		text("of", func(l *Labels) string { return l.Of }),
		text("kind", func(l *Labels) string { return l.Kind }),
		text("source", func(l *Labels) string { return l.Source }),
		text("engine", func(l *Labels) string { return l.Engine }),
		text("gpu", func(l *Labels) string { return l.GPU }),
		text("class", func(l *Labels) string { return l.Class }),
		text("model", func(l *Labels) string { return l.Model }),
		text("precision", func(l *Labels) string { return l.Precision }),
		text("parallel", func(l *Labels) string { return l.Parallel }),
		text("load", func(l *Labels) string { return l.Load }),
		{name: "concurrency", of: func(l *Labels) (string, int) { return octave(l.Concurrency) }},
	}
}

// octave names the power of two at or below n and the counts up to the next; without any, an open loop.
func octave(n int) (name string, order int) {
	if n < 1 {
		return "open loop", 0
	}
	order = bits.Len(uint(n))
	if low := 1 << (order - 1); low > 1 {
		return fmt.Sprintf("%d–%d", low, 2*low-1), order
	}
	return "1", order
}

// compare finds the errors of each metric, in the order of metrics and then of names.
func (v *Validation) compare() {
	names := map[string]measured.Metric{}
	for i := range v.Rows {
		for _, x := range v.Rows[i].Values {
			names[x.Metric] = x.of
		}
	}
	ordered := make([]string, 0, len(names))
	for name := range names {
		ordered = append(ordered, name)
	}
	slices.SortFunc(ordered, func(a, b string) int {
		return cmp.Or(cmp.Compare(names[a], names[b]), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	for _, name := range ordered {
		m := MetricErrors{Metric: name, Lead: name == names[name].String()}
		m.All = v.errors(name, func(r *Row) bool { return v.Headline(r) })
		if m.Lead {
			m.Groups = v.groups(name)
		}
		v.Metrics = append(v.Metrics, m)
	}
}

// Headline reports whether a row has the quality that errors are of.
func (v *Validation) Headline(r *Row) bool {
	return r.Labels.Quality == v.Quality || v.Quality == ""
}

// errors reduces the values of a metric in the rows that are kept.
func (v *Validation) errors(metric string, keep func(*Row) bool) Errors {
	var percents []float64
	skipped := 0
	for i := range v.Rows {
		r := &v.Rows[i]
		if !keep(r) {
			continue
		}
		for _, x := range r.Values {
			switch {
			case x.Metric != metric:
			case x.ErrorPct == nil:
				skipped++
			default:
				percents = append(percents, *x.ErrorPct)
			}
		}
	}
	e := ErrorsOf(percents)
	e.Skipped = skipped
	return e
}

// groups are the errors of a metric by each label that has more than one value.
func (v *Validation) groups(metric string) []Group {
	var all []Group
	for _, d := range dimensions() {
		var found []Group
		for i := range v.Rows {
			r := &v.Rows[i]
			if !d.all && !v.Headline(r) || !slices.ContainsFunc(r.Values, func(x Value) bool { return x.Metric == metric }) {
				continue
			}
			name, order := d.of(&r.Labels)
			if !slices.ContainsFunc(found, func(g Group) bool { return g.Name == name }) {
				found = append(found, Group{By: d.name, Name: name, order: order})
			}
		}
		slices.SortFunc(found, func(a,
			b Group) int {
			return cmp.Or(cmp.Compare(a.order, b.order), strings.Compare(a.Name, b.Name))
		})
		for i := range found {
			g := &found[i]
			g.Errors = v.errors(metric, func(r *Row) bool {
				name, _ := d.of(&r.Labels)
				return name == g.Name && (d.all || v.Headline(r))
			})
		}
		// skipped before it was known
		found = slices.DeleteFunc(found, func(g Group) bool { return g.Name == "" && g.Errors.N == 0 })
		if len(found) < 2 {
			continue
		}
		for i := range found {
			found[i].Name = cmp.Or(found[i].Name, "not stated")
		}
		all = append(all, found...)
	}
	return all
}

// Has reports whether a metric was measured.
func (v *Validation) Has(metric string) bool {
	return slices.ContainsFunc(v.Metrics, func(m MetricErrors) bool { return m.Metric == metric })
}
