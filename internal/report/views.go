package report

import (
	"fmt"
	"io"
	"strings"

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
func Views(w io.Writer, v *Viewed, c Caption, o Options) error {
	t := &text{colour: o.Colour}
	t.heading(c.String())
	t.line(sampleSentence(v.Run))
	for _, view := range v.Views {
		t.blank()
		t.view(view)
	}
	t.blank()
	t.smoothness(v)
	_, err := w.Write(t.buf.Bytes())
	return err
}

// sampleSentence says what the rows are of.
func sampleSentence(run *views.Run) string {
	n, all := int64(len(run.Records)), run.Counts.Completed+run.Counts.Failed
	if n >= all {
		return fmt.Sprintf("Every request is followed token by token: %d.", n)
	}
	return fmt.Sprintf("Rows marked * are of the traced sample, every %s request in order of arrival: %d of %d. The others are of the whole run.",
		ordinal(run.Every), n, all)
}

func ordinal(n int32) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprint(n) + suffix
}

// view prints one tool's table.
func (t *text) view(v *views.View) {
	rows := [][]string{{v.Tool.Title, "mean", "p50", "p90", "p95", "p99", "max", "", "n", "", ""}}
	for i := range v.Rows {
		rows = append(rows, viewRow(&v.Rows[i]))
	}
	t.columnsNoted(rows)
	for i, rate := range v.Tool.Rates {
		t.line(strings.TrimRight(fmt.Sprintf("%s  %s %s", rate.Key, Significant(v.Rates[i]), rate.Unit), " "))
	}
	if g := v.Goodput; g != nil {
		t.line(goodputLine(v.Tool.Good, g))
	}
	for _, note := range v.Tool.Notes {
		t.line("note: " + note)
	}
}

func viewRow(r *views.Row) []string {
	cells := []string{r.Key}
	for _, x := range []float64{r.Mean(), r.Percentile(.5), r.Percentile(.9), r.Percentile(.95), r.Percentile(.99), r.Max()} {
		cells = append(cells, Significant(x/r.Unit.Size))
	}
	mark := ""
	if r.Sampled {
		mark = "*"
	}
	return append(cells, r.Unit.Name, fmt.Sprint(r.Count), mark, r.Formula)
}

func goodputLine(rule *views.Rule, g *views.Goodput) string {
	line := fmt.Sprintf("%s  %s req/s", rule.Key, Significant(g.PerS))
	if g.Judged > 0 {
		line += fmt.Sprintf(", %s of %d", percent(g.Share), g.Judged)
	}
	if g.Sampled {
		line += " *"
	}
	return line + "  " + rule.Formula
}

// smoothness prints what readers notice.
func (t *text) smoothness(v *Viewed) {
	s, p := &v.Smoothness, v.Pace
	rows := [][]string{{"what readers notice *", "mean", "p50", "p90", "p95", "p99", "max", "", "n", "", ""}}
	for _, r := range []struct {
		name, formula string
		d             *views.Distribution
		n             int64
	}{
		{"ITL, per token", "tokens of one chunk are 0 apart", &s.Token, s.Token.Weight()},
		{"ITL, per chunk", "every gap between chunks", &s.Chunk, s.Chunk.Weight()},
		{"time to read", fmt.Sprintf("from the request to the last token, at %s tokens/s", Tidy(p.ReaderTokensPerS)), &s.Read, s.Requests},
		{"reader waits", "of it, for tokens, once the first has come", &s.Wait, s.Requests},
	} {
		u := timeUnit(r.d.Mean())
		cells := []string{r.name}
		for _, x := range []float64{r.d.Mean(), r.d.Quantile(.5), r.d.Quantile(.9), r.d.Quantile(.95), r.d.Quantile(.99), r.d.Max()} {
			cells = append(cells, Significant(x/u.size))
		}
		rows = append(rows, append(cells, u.name, fmt.Sprint(r.n), "", r.formula))
	}
	t.columnsNoted(rows)
	t.line(fmt.Sprintf("stalls > %s  %s per 1000 tokens, in %s of the requests", limit(p.StallS), Significant(s.StallsPer1000Tokens), percent(s.StalledShare)))
	t.line(fmt.Sprintf("readers who wait  %s of the requests", percent(s.WaitingShare)))
	if p.ITLP99S > 0 {
		t.line(fmt.Sprintf("own p99 ITL ≤ %s  %s of the requests", limit(p.ITLP99S), percent(s.ITLP99Share)))
	}
}

// columnsNoted aligns rows whose last column is prose.
func (t *text) columnsNoted(rows [][]string) {
	last := len(rows[0]) - 1
	prose := make([]string, len(rows))
	for i := range rows {
		prose[i], rows[i] = rows[i][last], rows[i][:last]
	}
	at := t.buf.Len()
	t.columns(rows)
	lines := strings.Split(strings.TrimSuffix(t.buf.String()[at:], "\n"), "\n")
	t.buf.Truncate(at)
	widest := 0
	for _, line := range lines {
		widest = max(widest, len([]rune(line)))
	}
	for i, line := range lines {
		if prose[i] != "" {
			line += strings.Repeat(" ", widest-len([]rune(line))+2) + prose[i]
		}
		t.line(line)
	}
}
