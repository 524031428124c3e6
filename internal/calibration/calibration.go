package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// SchemaCalibration names the format of a calibration as JSON. Fields are added, never renamed.
const SchemaCalibration = "decodesim/calibration/v1"

// Calibration is the efficiency of one GPU under one engine, fitted to a user's own measurements from what was known.
type Calibration struct {
	Schema    string         `json:"schema"`
	Version   string         `json:"version"` // of the program
	Data      []string       `json:"data"`    // files
	Scenario  string         `json:"scenario,omitempty"`
	Set       []string       `json:"set,omitempty"`
	Runs      int            `json:"runs"` // that were fitted to
	Constants []Constant     `json:"constants"`
	Errors    []MetricErrors `json:"errors"`
	Skips     []Skip         `json:"skips"`
	TooFast   []TooFast      `json:"faster_than_bound"` // runs that were not fitted to either

	Efficiency hardware.Efficiency `json:"-"` // as its file has it
	Prior      hardware.Efficiency `json:"-"`
}

// Constant is a constant of the efficiency, before and after the fit.
type Constant struct {
	Name    string  `json:"name"`
	Prior   float64 `json:"before"`
	Fitted  float64 `json:"fitted"`
	Known   float64 `json:"known_from_data"`   // share of what is known of it that the data say, 0 to 1
	AtLimit bool    `json:"at_limit"`          // it went as far as is believable
	Measure string  `json:"measure,omitempty"` // what would determine it, unless the data do
}

// Decided is the share above which the data, and not the prior, decide a constant; below Negligible they say nothing
// worth a mention.
const (
	Decided    = 0.5
	Negligible = 0.02
)

// Unknown reports whether the data say nothing of a constant, which stays as it was.
func (k *Constant) Unknown() bool { return k.Known < Negligible && k.Fitted == k.Prior }

// ChangePct is by how much a constant moved.
func (k *Constant) ChangePct() float64 { return 100 * (k.Fitted/k.Prior - 1) }

// MetricErrors are the errors of a metric under the prior, under the fit, and of each run under a fit to the others
// alone.
type MetricErrors struct {
	Metric   string            `json:"metric"`
	Before   validation.Errors `json:"before"`
	InSample validation.Errors `json:"in_sample"`
	LeftOut  validation.Errors `json:"left_out"` // N = 0: there is but one run
}

// Skip is why runs were not fitted to.
type Skip struct {
	Reason string `json:"reason"`
	Runs   int    `json:"runs"`
}

// TooFast is a run whose measured TPOT is less than the least time that a step can take.
type TooFast struct {
	ID         string  `json:"id"`
	MeasuredMS float64 `json:"measured_ms"`
	FloorMS    float64 `json:"floor_ms"`
}

// constants lists what was fitted. A constant that is 0 is switched off.
func (c *Calibration) constants(f *Fit) {
	c.Constants = []Constant{}
	for i, known := range f.Known() {
		p := &f.Parameters[i]
		before, after := p.value(c.Prior), p.value(c.Efficiency)
		if before == 0 {
			continue
		}
		k := Constant{Name: p.Name, Prior: before, Fitted: after, Known: math.Round(1e4*known) / 1e4,
			AtLimit: p.atLimit(before, after)}
		if known < Decided && !k.AtLimit {
			k.Measure = p.Measure
		}
		c.Constants = append(c.Constants, k)
	}
}

// skips counts reasons, the most frequent first.
func (c *Calibration) skips(reasons []string) {
	c.Skips, c.TooFast = []Skip{}, []TooFast{}
	for _, why := range reasons {
		if why == "" {
			continue
		}
		i := slices.IndexFunc(c.Skips, func(s Skip) bool { return s.Reason == why })
		if i < 0 {
			i = len(c.Skips)
			c.Skips = append(c.Skips, Skip{Reason: why})
		}
		c.Skips[i].Runs++
	}
	slices.SortStableFunc(c.Skips, func(a, b Skip) int { return cmp.Compare(b.Runs, a.Runs) })
}

// errorsBy sums up residuals by metric.
func errorsBy(before, inSample, leftOut []Residual) []MetricErrors {
	out := []MetricErrors{}
	for m := range measured.NumMetrics {
		if e := ErrorsOf(inSample, m); e.N > 0 {
			out = append(out, MetricErrors{m.String(), ErrorsOf(before, m), e, ErrorsOf(leftOut, m)})
		}
	}
	return out
}

// ErrorsOf sums up the errors of a metric.
func ErrorsOf(residuals []Residual, m measured.Metric) validation.Errors {
	var percents []float64
	for _, r := range residuals {
		if r.Value.Value.Metric == m {
			percents = append(percents, 100*r.Error)
		}
	}
	return validation.ErrorsOf(percents)
}

// source says what the file rests on: the fit, and what it started from.
func (c *Calibration) source() string {
	s := fmt.Sprintf("decodesim calibrate: n = %d", c.Runs)
	for _, e := range c.Errors {
		s += fmt.Sprintf("; %s within %.1f %%", e.Metric, e.InSample.MedianPct)
		if !math.IsNaN(e.LeftOut.MedianPct) {
			s += fmt.Sprintf(", of runs left out %.1f %%", e.LeftOut.MedianPct)
		}
	}
	return s + "; from " + c.Prior.Source
}

// leftOut is what the file says of its errors; nil: no run could be left out, or one of both latencies was not
// measured.
func (c *Calibration) leftOut() *catalog.LeftOut {
	var tpot, ttft validation.Errors
	for i := range c.Errors {
		switch e := &c.Errors[i]; e.Metric {
		case measured.TPOT.String():
			tpot = e.LeftOut
		case measured.TTFT.String():
			ttft = e.LeftOut
		}
	}
	runs := min(tpot.N, ttft.N)
	if runs < 2 {
		return nil
	}
	return &catalog.LeftOut{Runs: runs, TPOTMedianPct: tpot.MedianPct, TPOTP90Pct: tpot.P90Pct,
		TTFTMedianPct: ttft.MedianPct, TTFTP90Pct: ttft.P90Pct}
}

// Head is the comment above the constants in the file.
func (c *Calibration) Head() string {
	head := "What one GPU achieves under one engine, fitted to measurements of it. Errors are medians."
	var leaning, unknown []string
	for i := range c.Constants {
		switch k := &c.Constants[i]; {
		case k.Unknown():
			unknown = append(unknown, k.Name)
		case k.Known < Decided && !k.AtLimit:
			leaning = append(leaning, k.Name)
		}
	}
	if len(leaning) > 0 {
		head += "\nThe data say less than what was known before of " + strings.Join(leaning, ", ") + "."
	}
	if len(unknown) > 0 {
		head += "\nThe data say nothing of " + strings.Join(unknown, ", ") + "."
	}
	return head
}
