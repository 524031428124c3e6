package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/decodesim/decodesim/cmd/internal/calibrate"
	"github.com/decodesim/decodesim/cmd/internal/measured"
)

// Calibration writes what a fit found, for people: the constants, the errors, and what the data could not tell.
func Calibration(w io.Writer, c *calibrate.Calibration, o Options) error {
	t := &text{colour: o.Colour}
	t.heading(fmt.Sprintf("calibrated on %s", counted(c.Runs, "run")))
	t.blank()
	rows := [][]string{{"constant", "before", "fitted", "change", "known from data"}}
	for _, k := range c.Constants {
		known := fmt.Sprintf("%.0f %%", 100*k.Known)
		if k.Known < calibrate.Decided {
			known += ", as before"
		}
		rows = append(rows, []string{k.Name, constantOf(k.Name, k.Prior), constantOf(k.Name, k.Fitted), fmt.Sprintf("%+.0f %%", k.Change()), known})
	}
	t.columns(rows)
	t.blank()
	rows = [][]string{{"median error", "n", "before", "in sample", "left out", "p90 left out"}}
	for m := range measured.NumMetrics {
		before := calibrate.ErrorsOf(c.Before, m)
		if before.N == 0 {
			continue
		}
		after, out := calibrate.ErrorsOf(c.InSample, m), calibrate.ErrorsOf(c.LeftOut, m)
		row := []string{metricName(m.String()), fmt.Sprint(before.N), percentOf(before.MedianPct), percentOf(after.MedianPct), "–", "–"}
		if out.N > 0 {
			row[4], row[5] = percentOf(out.MedianPct), percentOf(out.P90Pct)
		}
		rows = append(rows, row)
	}
	t.columns(rows)
	t.line("left out: each run predicted from the others alone")
	var reasons []string
	for why := range c.Skipped {
		reasons = append(reasons, why)
	}
	slices.Sort(reasons)
	for _, why := range reasons {
		t.line(fmt.Sprintf("not fitted to: %s: %s", counted(c.Skipped[why], "run"), why))
	}
	for _, id := range c.Impossible {
		t.warning("warning: run " + id + " beats the bound of the data sheet: speculation, or wrong metadata")
	}
	_, err := w.Write(t.buf.Bytes())
	return err
}

// constantOf writes a constant in the unit that suits it: shares as they are, times in microseconds or milliseconds.
func constantOf(name string, x float64) string {
	if name[len(name)-2:] != "_s" {
		return Significant(x)
	}
	u := timeUnit(x)
	return Significant(x/u.size) + " " + u.name
}
