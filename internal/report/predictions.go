package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/decodesim/decodesim/internal/validation"
)

// PredictionsCSV writes a line per measured value: milliseconds or per second, as measured. A value without a prediction
// has the reason in its last cell, and so has a row without values.
func PredictionsCSV(w io.Writer, rows []validation.Row) error {
	table := [][]string{{"id", "metric", "measured", "predicted", "error_pct", "skipped"}}
	for i := range rows {
		r := &rows[i]
		for j := range r.Values {
			x := &r.Values[j]
			table = append(table, []string{r.ID, x.Metric, number(&x.Measured), number(x.Predicted), number(x.ErrorPct), x.Skipped})
		}
		if len(r.Values) == 0 {
			table = append(table, []string{r.ID, "", "", "", "", r.Skipped})
		}
	}
	return csv.NewWriter(w).WriteAll(table)
}

// number is empty for nil.
func number(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}
