package validation

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/decodesim/decodesim/internal/output"
)

// WriteCSV writes a line per measured value: milliseconds or per second, as measured. A value without a prediction has
// the reason in its last cell, and so has a row without values.
func WriteCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"id", "metric", "measured", "predicted", "error_pct", "skipped"}}
	for i := range rows {
		r := &rows[i]
		for j := range r.Values {
			x := &r.Values[j]
			lines = append(lines, []string{output.Cell(r.ID), x.Metric, cell(&x.Measured), cell(x.Predicted), cell(x.ErrorPct),
				output.Cell(x.Skipped)})
		}
		if len(r.Values) == 0 {
			lines = append(lines, []string{output.Cell(r.ID), "", "", "", "", output.Cell(r.Skipped)})
		}
	}
	return out.WriteAll(lines)
}

// cell is a number with all its digits; nil is empty.
func cell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}
