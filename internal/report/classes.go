package report

import (
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// classes prints a row for each service class, if there are several.
func classes(t *text.Page, s *metrics.Summary) {
	if len(s.Classes) < 2 {
		return
	}
	rows := [][]string{{"class", "requests", "completed", "TTFT p50", "p99", "ITL p50", "p99", "E2E p50", "p99", "SLO met",
		"goodput"}}
	for i := range s.Classes {
		c := &s.Classes[i]
		row := []string{c.Name, text.Count(c.Requests.Arrived), text.Count(c.Requests.Completed)}
		for _, q := range []metrics.Quantiles{c.Latency.TTFT, c.Latency.ITL, c.Latency.E2E} {
			row = append(row, quantile(q, q.P50), quantile(q, q.P99))
		}
		met, goodput := "–", "–"
		if c.SLO != nil {
			met, goodput = text.Percent(c.SLO.Attainment), text.Significant(c.SLO.GoodputPerS)+"/s"
		}
		rows = append(rows, append(row, met, goodput))
	}
	t.Table(rows)
	if note := classLimits(s.Classes); note != "" {
		t.Line(note)
	}
	t.Blank()
}

// quantile prints a time of a distribution, or that there is none.
func quantile(q metrics.Quantiles, x float64) string {
	if q.N == 0 {
		return "–"
	}
	return text.Duration(x)
}

// classLimits says which limits the classes have.
func classLimits(of []metrics.ClassResult) string {
	var parts []string
	for i := range of {
		if o := of[i].SLO; o != nil {
			parts = append(parts, of[i].Name+" "+limits(o))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(SLO: " + strings.Join(parts, "; ") + ")"
}
