package validation

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/decodesim/decodesim/internal/text"
)

// What a table for people is spared; validation.json has it all.
const (
	rowsMax    = 40
	ReasonsMax = 16
	TooFastMax = 20
)

// WriteTable writes predictions beside measurements, and how far they are apart, for people.
func WriteTable(w io.Writer, v *Validation, colour bool) error {
	t := text.NewPage(colour)
	t.Heading(fmt.Sprintf("%s · %s · %s: %d simulated, %d skipped", v.File, v.Data, text.Counted(v.Counts.Rows, "row"),
		v.Counts.Simulated, v.Counts.Skipped))
	if v.Scenario != "" {
		t.Line("on scenario " + v.Scenario)
	}
	if len(v.Set) > 0 {
		t.Line("with " + strings.Join(v.Set, ", "))
	}
	switch {
	case len(v.Rows) > rowsMax:
	case v.long():
		t.Blank()
		longRows(t, v)
	default:
		t.Blank()
		scoredRows(t, v)
	}
	t.Blank()
	if v.long() {
		kindErrors(t, v)
	} else {
		sentences(t, v)
		metricErrors(t, v)
	}
	skips(t, v)
	tooFast(t, v)
	if len(v.Notes) > 0 {
		t.Blank()
	}
	for _, note := range v.Notes {
		t.Line("note: " + note)
	}
	_, err := t.WriteTo(w)
	return err
}

// scoredRows prints each row with its leading metrics.
func scoredRows(t *text.Page, v *Validation) {
	head, reasons := []string{"id"}, 0
	leads := leading(v)
	leads = leads[:min(3, len(leads))] // a line has no room for more
	for _, metric := range leads {
		head = append(head, MetricName(metric)+unitOf(metric), "predicted", "error")
	}
	for i := range v.Rows {
		reasons = max(reasons, utf8.RuneCountInString(v.Rows[i].Skipped))
	}
	table := [][]string{append(head, "")}
	for i := range v.Rows {
		r := &v.Rows[i]
		row := []string{r.ID}
		for _, lead := range leads {
			j := slices.IndexFunc(r.Values, func(x Value) bool { return x.Metric == lead })
			if j < 0 {
				row = append(row, "", "", "")
				continue
			}
			x := &r.Values[j]
			row = append(row, text.Significant(x.Measured), significantOf(x.Predicted), signedOf(x.ErrorPct))
		}
		table = append(table, append(row, fmt.Sprintf("%-*s", reasons, r.Skipped)))
	}
	t.Table(table)
}

// leading returns the metrics that the data lead with. Where there is a TPOT, ITL says the same.
func leading(v *Validation) []string {
	var leads []string
	for _, m := range v.Metrics {
		if m.Lead && !(m.Metric == "itl" && slices.Contains(leads, "tpot")) {
			leads = append(leads, m.Metric)
		}
	}
	return leads
}

// predicted reports whether a metric has any prediction.
func predicted(v *Validation, metric string) bool {
	found := false
	each(v, metric, func(*Row, *Value) { found = true })
	return found
}

// sentences say in words how wrong each leading metric may be.
func sentences(t *text.Page, v *Validation) {
	for i := range v.Metrics {
		if m := &v.Metrics[i]; m.Lead {
			t.Line(ErrorSentence(m, v.Quality))
		}
	}
	if len(v.Metrics) == 0 {
		t.Line("nothing to compare: no row has a measured value")
	}
}

// metricErrors prints a table for every metric that has groups, and one for all others.
func metricErrors(t *text.Page, v *Validation) {
	quality := ""
	if v.Quality != "" {
		quality = ", quality " + v.Quality
	}
	title, rest := "errors", [][]string(nil)
	for i := range v.Metrics {
		m := &v.Metrics[i]
		if !predicted(v, m.Metric) {
			continue
		}
		if rows := groupRows(m, v.Quality); len(rows) > 0 {
			title = "other statistics"
			t.Blank()
			t.Table(append([][]string{errorsHead(MetricName(m.Metric) + quality), errorsRow("all", &m.All)}, rows...))
		} else {
			rest = append(rest, errorsRow(MetricName(m.Metric), &m.All))
		}
	}
	if len(rest) > 0 {
		t.Blank()
		t.Table(append([][]string{errorsHead(title + quality)}, rest...))
	}
}

// groupRows are the errors of a metric by label.
func groupRows(m *MetricErrors, quality string) [][]string {
	var rows [][]string
	last := ""
	for i := range m.Groups {
		g := &m.Groups[i]
		if slices.Contains([]string{"parallel", "load"}, g.By) {
			continue // dozens of them
		}
		by := g.By
		if quality != "" && slices.Contains([]string{"quality", "mode"}, by) {
			by += " (of all)"
		}
		if by == last {
			by = ""
		} else {
			last = by
		}
		rows = append(rows, errorsRow(fmt.Sprintf("%-17s %s", by, g.Name), &g.Errors))
	}
	return rows
}

func errorsHead(title string) []string {
	return []string{title, "n", "skipped", "median |error|", "p90 |error|", "bias"}
}

func errorsRow(name string, e *Errors) []string {
	return []string{name, fmt.Sprint(e.N), fmt.Sprint(e.Skipped), text.UnsignedPercent(e.MedianPct),
		text.UnsignedPercent(e.P90Pct), text.SignedPercent(e.BiasPct)}
}
