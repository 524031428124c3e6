package pages

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Accuracy is a section on how far off predictions for deployments have been; none: nothing like them was measured.
func Accuracy(errors []metrics.ExpectedError) page.Section {
	s := page.Section{Title: "How wrong predictions for this hardware have been"}
	if len(errors) == 0 {
		s.Lead = "Nothing like this deployment was measured: how far off these numbers are is not known."
		return s
	}
	s.Lead = "Errors on measured runs that were left out of the fit, so that these numbers were predictions too."
	t := &page.Table{Left: 1, Head: []string{"", "runs", "TPOT, half within", "nine in ten", "TTFT, half within",
		"nine in ten"}}
	lines := expected.Sentences(errors)
	for i := range errors {
		x, at := &errors[i], fmt.Sprintf("expected_error[%d].", i)
		if len(lines) == 0 || expected.Sentence(x) != lines[0] {
			continue // pools on different GPUs have it in common, and it stands there
		}
		lines = lines[1:]
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			page.Words(expected.Because(x) + expected.Lacking(x)), page.Number(text.Count(x.Runs), at+"runs", float64(x.Runs)),
			percent(at+"tpot.median_abs_error_pct", x.TPOT.MedianPct), percent(at+"tpot.p90_abs_error_pct", x.TPOT.P90Pct),
			percent(at+"ttft.median_abs_error_pct", x.TTFT.MedianPct), percent(at+"ttft.p90_abs_error_pct", x.TTFT.P90Pct),
		}})
	}
	s.Blocks = []page.Block{{Table: t}}
	return s
}

func percent(field string, pct float64) page.Cell {
	return page.Number(text.UnsignedPercent(pct), field, pct)
}

// Warnings is a section of them; without any it says so.
func Warnings(warnings []string) page.Section {
	s := page.Section{Title: "Warnings", Blocks: []page.Block{{Alerts: warnings}}}
	if len(warnings) == 0 {
		s.Lead, s.Blocks = "None.", nil
	}
	return s
}
