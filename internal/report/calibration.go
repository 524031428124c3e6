package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// Calibration writes what a fit found, for people: what changed, how wrong it is, and what the data could not tell.
func Calibration(w io.Writer, c *calibration.Calibration, o Options) error {
	t := &text{colour: o.Colour}
	t.heading(fmt.Sprintf("calibrated on %s of %s", Counted(c.Runs, "run"), strings.Join(c.Data, ", ")))
	if c.Scenario != "" {
		t.line("on scenario " + c.Scenario)
	}
	if len(c.Set) > 0 {
		t.line("with " + strings.Join(c.Set, ", "))
	}
	t.blank()
	t.constants(c)
	t.blank()
	t.calibrationErrors(c)
	t.untold(c)
	t.notFitted(c)
	_, err := w.Write(t.buf.Bytes())
	return err
}

// constants prints those that the data say something of.
func (t *text) constants(c *calibration.Calibration) {
	rows := [][]string{{"constant", "before", "fitted", "change", "known from the data"}}
	for i := range c.Constants {
		k := &c.Constants[i]
		if k.Untold() {
			continue
		}
		known := fmt.Sprintf("%.0f %%", 100*k.Known)
		if k.AtLimit {
			known = "at its limit"
		}
		rows = append(rows, []string{k.Name, ConstantText(k.Name, k.Prior), ConstantText(k.Name, k.Fitted), change(k.ChangePct()), known})
	}
	if len(rows) == 1 {
		t.line("nothing changed: the data say nothing of any constant")
		return
	}
	t.columns(rows)
}

// change prints by how much a constant moved; what would be read as nothing is nothing.
func change(percent float64) string {
	if math.Abs(percent) < 0.5 {
		return "0 %"
	}
	return fmt.Sprintf("%+.0f %%", percent)
}

// constantOf writes a constant in the unit that suits it: shares as they are, times with theirs.
func ConstantText(name string, x float64) string {
	if strings.HasSuffix(name, "_s") {
		return Duration(x)
	}
	return Significant(x)
}

// calibrationErrors prints the errors by metric, and what they mean for a run that was not measured.
func (t *text) calibrationErrors(c *calibration.Calibration) {
	rows := [][]string{{"|error|: median, p90", "n", "before", "", "fitted", "", "left out", ""}}
	for i := range c.Errors {
		e := &c.Errors[i]
		row := []string{MetricName(e.Metric), fmt.Sprint(e.InSample.N)}
		for _, x := range []*validation.Errors{&e.Before, &e.InSample, &e.LeftOut} {
			row = append(row, percentOf(x.MedianPct), percentOf(x.P90Pct))
		}
		rows = append(rows, row)
	}
	t.columns(rows)
	if c.Runs == 1 {
		t.line("one run leaves none to test the fit with: measure a second one, such as another concurrency")
		return
	}
	t.line("left out: each run predicted from the others alone, as a run that was not measured")
	for i := range c.Errors {
		if e := &c.Errors[i]; e.LeftOut.MedianPct > e.Before.MedianPct && fittedTo(c, e.Metric) {
			t.warning("warning: " + MetricName(e.Metric) + " of runs left out is no better than before: the runs contradict each other, or are too few")
		}
	}
}

// fittedTo reports whether a metric drove the fit. Where there is a TPOT, E2E and throughput did not.
func fittedTo(c *calibration.Calibration, metric string) bool {
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

// untold lists what the data leave open, with what would tell it.
func (t *text) untold(c *calibration.Calibration) {
	for _, group := range []struct {
		title  string
		untold bool
	}{
		{"leans on before", false}, {"not told: as before", true},
	} {
		title := fmt.Sprintf("%-21s  measurements that would tell", group.title)
		for i := range c.Constants {
			k := &c.Constants[i]
			if k.Measure == "" || k.Untold() != group.untold {
				continue
			}
			if title != "" {
				t.blank()
				t.line(t.paint("2", title))
				title = ""
			}
			t.line(fmt.Sprintf("%-21s  %s", k.Name, k.Measure))
		}
	}
}

// notFitted counts what was left aside, with the reason.
func (t *text) notFitted(c *calibration.Calibration) {
	if len(c.Skips)+len(c.TooFast) > 0 {
		t.blank()
	}
	for _, s := range c.Skips[:min(reasonsShown, len(c.Skips))] {
		t.line(fmt.Sprintf("not fitted to: %s: %s", Counted(s.Runs, "run"), s.Reason))
	}
	if n := len(c.Skips) - reasonsShown; n > 0 {
		t.line(fmt.Sprintf("and for %s more", Counted(n, "reason")))
	}
	for _, f := range c.TooFast[:min(tooFastShown, len(c.TooFast))] {
		t.warning(fmt.Sprintf("warning: run %s is not fitted to, for it beats the bound of the data sheet: TPOT %s ms, least possible %s ms; "+
			"it speculates, or is not what it says it is", f.ID, Significant(f.MeasuredMS), Significant(f.FloorMS)))
	}
	if n := len(c.TooFast) - tooFastShown; n > 0 {
		t.warning(fmt.Sprintf("warning: and %s more", Counted(n, "run")))
	}
}
