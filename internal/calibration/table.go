package calibration

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
)

// WriteTable writes what a fit found, for people: what changed, how wrong it is, and what the data could not tell.
func WriteTable(w io.Writer, c *Calibration, colour bool) error {
	t := text.NewPage(colour)
	t.Heading(fmt.Sprintf("calibrated on %s of %s", text.Counted(c.Runs, "run"), strings.Join(c.Data, ", ")))
	if c.Scenario != "" {
		t.Line("on scenario " + c.Scenario)
	}
	if len(c.Set) > 0 {
		t.Line("with " + strings.Join(c.Set, ", "))
	}
	t.Blank()
	constantsTable(t, c)
	t.Blank()
	calibrationErrors(t, c)
	undetermined(t, c)
	notFitted(t, c)
	_, err := t.WriteTo(w)
	return err
}

// constantsTable prints those that the data say something of.
func constantsTable(t *text.Page, c *Calibration) {
	rows := [][]string{{"constant", "before", "fitted", "change", "known from the data"}}
	for i := range c.Constants {
		k := &c.Constants[i]
		if k.Unknown() {
			continue
		}
		known := fmt.Sprintf("%.0f %%", 100*k.Known)
		if k.AtLimit {
			known = "at its limit"
		}
		rows = append(rows, []string{k.Name, ConstantText(k.Name, k.Prior), ConstantText(k.Name, k.Fitted),
			change(k.ChangePct()), known})
	}
	if len(rows) == 1 {
		t.Line("nothing changed: the data say nothing of any constant")
		return
	}
	t.Table(rows)
}

// change prints by how much a constant moved; what would be read as nothing is nothing.
func change(percent float64) string {
	if math.Abs(percent) < 0.5 {
		return "0 %"
	}
	return fmt.Sprintf("%+.0f %%", percent)
}

// ConstantText writes a constant in the unit that suits it: shares as they are, times with theirs.
func ConstantText(name string, x float64) string {
	if strings.HasSuffix(name, "_s") {
		return text.Duration(x)
	}
	return text.Significant(x)
}

// calibrationErrors prints the errors by metric, and what they mean for a run that was not measured.
func calibrationErrors(t *text.Page, c *Calibration) {
	rows := [][]string{{"|error|: median, p90", "n", "before", "", "fitted", "", "left out", ""}}
	for i := range c.Errors {
		e := &c.Errors[i]
		row := []string{validation.MetricName(e.Metric), fmt.Sprint(e.InSample.N)}
		for _, x := range []*validation.Errors{&e.Before, &e.InSample, &e.LeftOut} {
			row = append(row, text.UnsignedPercent(x.MedianPct), text.UnsignedPercent(x.P90Pct))
		}
		rows = append(rows, row)
	}
	t.Table(rows)
	if c.Runs == 1 {
		t.Line("one run leaves none to test the fit with: measure a second one, such as another concurrency")
		return
	}
	t.Line("left out: each run predicted from the others alone, as a run that was not measured")
	for i := range c.Errors {
		if e := &c.Errors[i]; e.LeftOut.MedianPct > e.Before.MedianPct && fittedTo(c, e.Metric) {
			t.Warning("warning: " + validation.MetricName(e.Metric) +
				" of runs left out is no better than before: the runs contradict each other, or are too few")
		}
	}
}

// fittedTo reports whether a metric drove the fit. Where there is a TPOT, E2E and throughput did not.
func fittedTo(c *Calibration, metric string) bool {
	if metric == measured.TTFT.String() || metric == measured.TPOT.String() {
		return true
	}
	for i := range c.Errors {
		if c.Errors[i].Metric == measured.TPOT.String() {
			return false
		}
	}
	return true
}

// undetermined lists what the data leave open, with what would determine it.
func undetermined(t *text.Page, c *Calibration) {
	for _, group := range []struct {
		title        string
		undetermined bool
	}{
		{"leans on before", false}, {"not determined: as before", true},
	} {
		title := fmt.Sprintf("%-21s  measurements that would tell", group.title)
		for i := range c.Constants {
			k := &c.Constants[i]
			if k.Measure == "" || k.Unknown() != group.undetermined {
				continue
			}
			if title != "" {
				t.Blank()
				t.Subheading(title)
				title = ""
			}
			t.Line(fmt.Sprintf("%-21s  %s", k.Name, k.Measure))
		}
	}
}

// notFitted counts what was left aside, with the reason.
func notFitted(t *text.Page, c *Calibration) {
	if len(c.Skips)+len(c.TooFast) > 0 {
		t.Blank()
	}
	for _, s := range c.Skips[:min(validation.ReasonsMax, len(c.Skips))] {
		t.Line(fmt.Sprintf("not fitted to: %s: %s", text.Counted(s.Runs, "run"), s.Reason))
	}
	if n := len(c.Skips) - validation.ReasonsMax; n > 0 {
		t.Line(fmt.Sprintf("and for %s more", text.Counted(n, "reason")))
	}
	for _, f := range c.TooFast[:min(validation.TooFastMax, len(c.TooFast))] {
		t.Warning(
			fmt.Sprintf(
				"warning: run %s is not fitted to, for it beats the bound of the data sheet: TPOT %s ms, least possible %s ms; "+
					"it speculates, or is not what it says it is", f.ID, text.Significant(f.MeasuredMS), text.Significant(f.FloorMS)))
	}
	if n := len(c.TooFast) - validation.TooFastMax; n > 0 {
		t.Warning(fmt.Sprintf("warning: and %s more", text.Counted(n, "run")))
	}
}
