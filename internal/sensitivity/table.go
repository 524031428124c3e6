package sensitivity

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
)

// WriteText writes the ranking for people, and the sentences.
func WriteText(w io.Writer, r *Result, colour bool) error {
	page := text.NewPage(colour)
	of := ""
	if r.Seeds > 1 {
		of = fmt.Sprintf(", %s from %d", text.Counted(r.Seeds, "seed"), r.Seed)
	}
	page.Heading(fmt.Sprintf("%s · %s of a %s, %s%s", r.Scenario, r.Metric, r.Of,
		text.Counted(len(r.Effects), "input"), of))
	page.Line(r.Is)
	page.Blank()
	rows := [][]string{{"input", "value", "range", "at low", "at high", "swing", "decision", "source of the range"}}
	for i := range r.Effects {
		e := &r.Effects[i]
		changes := "the same"
		if e.Changes {
			changes = "changes"
		}
		swing := r.format(e.Swing)
		switch {
		case e.Swing == 0:
			swing = "none"
		case !e.significant():
			swing = "~"
		}
		rows = append(rows, []string{e.Name, e.format(e.Value), e.format(e.Low) + " – " + e.format(e.High),
			r.format(float64(e.AtLow.Answer)), r.format(float64(e.AtHigh.Answer)), swing, changes, e.Source})
	}
	page.Table(rows, 6, 7)
	page.Blank()
	for _, s := range r.Sentences {
		page.Line(s)
	}
	_, err := page.WriteTo(w)
	return err
}

// significant reports whether an effect is more than chance; with one seed nobody knows.
func (e *Effect) significant() bool {
	low, high := e.AtLow.Interval, e.AtHigh.Interval
	return low == nil || high == nil || low.Significant || high.Significant || e.Changes
}

// WriteCSV writes a line for each input, in SI units.
func WriteCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"input", "kind", "value", "low", "high", "metric", "base", "at_low", "at_high", "swing",
		"changes_decision", "decision_at_low", "decision_at_high", "source"}}
	cell := func(x float64) string { return stats.Number(x).Cell() }
	for i := range r.Effects {
		e := &r.Effects[i]
		rows = append(rows, []string{output.Cell(e.Name), string(e.Kind), cell(e.Value), cell(e.Low), cell(e.High),
			r.Metric, cell(r.Base), e.AtLow.Answer.Cell(), e.AtHigh.Answer.Cell(), cell(e.Swing),
			strconv.FormatBool(e.Changes), output.Cell(e.AtLow.Decision), output.Cell(e.AtHigh.Decision),
			output.Cell(e.Source)})
	}
	return out.WriteAll(rows)
}
