package report

import (
	"io"
	"strconv"

	"github.com/decodesim/decodesim/internal/validation"
)

const predictionsHead = "id,metric,measured,predicted,error_pct,skipped\n"

// PredictionsCSV writes a line per measured value: milliseconds or per second, as measured. A value without a prediction
// has the reason in its last cell, and so has a row without values.
func PredictionsCSV(w io.Writer, rows []validation.Row) error {
	b := []byte(predictionsHead)
	for i := range rows {
		r := &rows[i]
		for j := range r.Values {
			x := &r.Values[j]
			b = append(appendName(b, r.ID), ',')
			b = append(appendName(b, x.Metric), ',')
			b = append(appendNumber(b, &x.Measured), ',')
			b = append(appendNumber(b, x.Predicted), ',')
			b = append(appendNumber(b, x.ErrorPct), ',')
			b = append(appendName(b, x.Skipped), '\n')
		}
		if len(r.Values) == 0 {
			b = append(appendName(b, r.ID), ",,,,,"...)
			b = append(appendName(b, r.Skipped), '\n')
		}
	}
	_, err := w.Write(b)
	return err
}

// appendNumber writes nothing for nil.
func appendNumber(b []byte, x *float64) []byte {
	if x == nil {
		return b
	}
	return strconv.AppendFloat(b, *x, 'f', -1, 64)
}
