package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// Viewed is a run in the terms of benchmark tools, and what its readers notice.
type Viewed struct {
	Run        *views.Run
	Views      []*views.View
	Smoothness views.Smoothness
	Pace       views.Pace
}

// Views writes a table for each tool, in its own words and units, and one of what readers notice.
func Views(w io.Writer, v *Viewed, c text.Caption, o Options) error {
	t := text.NewPage(o.Colour)
	t.Heading(c.String())
	t.Line(sampleSentence(v.Run))
	for _, view := range v.Views {
		t.Blank()
		toolTable(t, view)
	}
	t.Blank()
	smoothness(t, v)
	_, err := t.WriteTo(w)
	return err
}

// sampleSentence says what the rows are of.
func sampleSentence(run *views.Run) string {
	n, all := int64(len(run.Records)), run.Counts.Completed+run.Counts.Failed
	if n >= all {
		return fmt.Sprintf("Every request is followed token by token: %s.", text.Count(n))
	}
	return fmt.Sprintf(
		"Rows marked * are of the traced sample, every %s request in order of arrival: %s of %s. The others are of the "+
			"whole run.",
		text.Ordinal(run.Every), text.Count(n), text.Count(all))
}

// toolTable prints one tool's table.
func toolTable(t *text.Page, v *views.View) {
	rows := [][]string{{v.Tool.Title, "mean", "p50", "p90", "p95", "p99", "max", "", "n", "", ""}}
	for i := range v.Rows {
		rows = append(rows, viewRow(&v.Rows[i]))
	}
	t.Table(rows, -1)
	for i, rate := range v.Tool.Rates {
		t.Line(strings.TrimRight(fmt.Sprintf("%s  %s %s", rate.Key, text.Significant(v.Rates[i]), rate.Unit), " "))
	}
	if g := v.Goodput; g != nil {
		t.Line(goodputLine(v.Tool.Good, g))
	}
	for _, note := range v.Tool.Notes {
		t.Line("note: " + note)
	}
}

func viewRow(r *views.Row) []string {
	cells := []string{r.Key}
	for _, x := range []float64{r.Mean(), r.Percentile(.5), r.Percentile(.9), r.Percentile(.95), r.Percentile(.99),
		r.Max()} {
		cells = append(cells, text.Significant(x/r.Unit.Size))
	}
	mark := ""
	if r.Sampled {
		mark = "*"
	}
	return append(cells, r.Unit.Name, text.Count(r.Count), mark, r.Formula)
}

func goodputLine(rule *views.Rule, g *views.Goodput) string {
	line := fmt.Sprintf("%s  %s req/s", rule.Key, text.Significant(g.PerS))
	if g.Judged > 0 {
		line += fmt.Sprintf(", %s of %s", text.Percent(g.Share), text.Count(g.Judged))
	}
	if g.Sampled {
		line += " *"
	}
	return line + "  " + rule.Formula
}

// smoothness prints what readers notice.
func smoothness(t *text.Page, v *Viewed) {
	s, p := &v.Smoothness, v.Pace
	rows := [][]string{{"what readers notice *", "mean", "p50", "p90", "p95", "p99", "max", "", "n", "", ""}}
	for _, r := range []struct {
		name, formula string
		d             *views.Distribution
		n             int64
	}{
		{"ITL, per token", "tokens of one chunk are 0 apart", &s.Token, s.Token.Weight()},
		{"ITL, per chunk", "every gap between chunks", &s.Chunk, s.Chunk.Weight()},
		{"time to read", fmt.Sprintf("from the request to the last token, at %s tokens/s", text.Short(p.ReaderTokensPerS)),
			&s.Read, s.Requests},
		{"reader waits", "of it, for tokens, once the first has come", &s.Wait, s.Requests},
	} {
		u := text.TimeUnit(r.d.Mean())
		cells := []string{r.name}
		for _, x := range []float64{r.d.Mean(), r.d.Quantile(.5), r.d.Quantile(.9), r.d.Quantile(.95), r.d.Quantile(.99),
			r.d.Max()} {
			cells = append(cells, text.Significant(x/u.Size))
		}
		rows = append(rows, append(cells, u.Name, text.Count(r.n), "", r.formula))
	}
	t.Table(rows, -1)
	t.Line(fmt.Sprintf("stalls > %s  %s per 1,000 tokens, in %s of the requests", text.Limit(p.StallS),
		text.Significant(s.StallsPer1000Tokens), text.Percent(s.StalledShare)))
	t.Line(fmt.Sprintf("readers who wait  %s of the requests", text.Percent(s.WaitingShare)))
	if p.ITLP99S > 0 {
		t.Line(fmt.Sprintf("own p99 ITL ≤ %s  %s of the requests", text.Limit(p.ITLP99S), text.Percent(s.ITLP99Share)))
	}
}
