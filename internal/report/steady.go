package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// doubt prints, before anything else, that another length of the run would have given another answer.
func doubt(t *text.Page, s *metrics.Summary) {
	if x := s.Steady; x != nil && x.DependsOnLength != "" {
		t.Warning("depends on the length of the run: " + x.DependsOnLength)
	}
}

// intervals prints how sure the latencies are, or why nothing says so.
func intervals(t *text.Page, s *metrics.Summary) {
	x := s.Steady
	if x == nil {
		return
	}
	if x.TTFT == nil && x.ITL == nil && x.ITLChunk == nil {
		t.Line("no intervals: " + cmp.Or(x.NotStationary, x.DependsOnLength, "too few requests are measured"))
		t.Blank()
		return
	}
	rows := [][]string{{text.WholePercent(x.Confidence), "mean", "p50", "p90", "p95", "p99", ""}}
	task := metrics.Quantiles{}
	if s.Latency.Task != nil {
		task = *s.Latency.Task
	}
	for _, of := range []struct {
		name     string
		i        *metrics.Intervals
		measured metrics.Quantiles
	}{{"TTFT", x.TTFT, s.Latency.TTFT}, {"ITL", x.ITL, s.Latency.ITL},
		{"ITL, chunks", x.ITLChunk, s.Latency.ITLChunk}, {"TPOT", x.TPOT, s.Latency.TPOT},
		{"E2E", x.E2E, s.Latency.E2E}, {"task", x.Task, task}} {
		if of.i == nil {
			continue
		}
		u := text.TimeUnit(of.measured.P50)
		row := []string{of.name}
		for _, r := range []metrics.Range{of.i.Mean, of.i.P50, of.i.P90, of.i.P95, of.i.P99} {
			row = append(row, span(r, u.Size))
		}
		rows = append(rows, append(row, u.Name))
	}
	t.Table(rows)
	t.Blank()
}

// span prints an interval in a unit; an end that the run does not bound is open.
func span(r metrics.Range, unit float64) string {
	if math.IsInf(r.High, 0) {
		return "≥ " + text.Significant(r.Low/unit)
	}
	return text.Significant(r.Low/unit) + "–" + text.Significant(r.High/unit)
}

// attainment says how sure the attainment of the SLO is.
func attainment(x *metrics.Steady) string {
	if x == nil || x.Attainment == nil {
		return ""
	}
	return fmt.Sprintf(" (%s: %s to %s)", text.WholePercent(x.Confidence), text.Percent(x.Attainment.Low),
		text.Percent(x.Attainment.High))
}

// warmup says where the warm-up ended, and how that differs from what the scenario leaves out.
func warmup(t *text.Page, s *metrics.Summary) {
	x := s.Steady
	if x == nil || x.Method == "" {
		return
	}
	said := fmt.Sprintf("ended after %s, %s (%s)", text.Counted(x.WarmupRequests, "request"), text.Duration(x.WarmupS),
		x.Method)
	switch {
	case x.MeasuredFromS > 0:
		said += fmt.Sprintf("; measured from %s on", text.Duration(x.MeasuredFromS))
	case x.WarmupS > 0:
		said += "; it is measured too"
	default:
		said = fmt.Sprintf("none is seen (%s)", x.Method)
	}
	t.Item("warm-up", said)
	if x.PrecisionAsked > 0 && x.Precision != nil {
		t.Item("precision", fmt.Sprintf("± %s, of %s; ± %s was asked for", text.Percent(*x.Precision), x.PrecisionOf,
			text.Percent(x.PrecisionAsked)))
	}
}
