package validation

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/measured"
)

// Errors sums up relative errors in percent. Quantiles interpolate linearly. With N = 0 all but Skipped are NaN, and
// null in JSON.
type Errors struct {
	N         int
	Skipped   int        // values that are not compared
	MedianPct float64    // of absolute errors
	P90Pct    float64    // of absolute errors
	BiasPct   float64    // median of the signed ones
	Spread    [4]float64 // of the signed ones: p10, p25, p75 and p90, in percent
	Within    [2]float64 // shares of absolute errors of at most 10 and 25 %
}

// ErrorsOf sums up signed errors in percent.
func ErrorsOf(percents []float64) Errors {
	nan := math.NaN()
	e := Errors{
		N: len(percents), MedianPct: nan, P90Pct: nan, BiasPct: nan, Spread: [4]float64{nan, nan, nan, nan},
		Within: [2]float64{nan, nan},
	}
	if e.N == 0 {
		return e
	}
	signed := slices.Sorted(slices.Values(percents))
	size := make([]float64, e.N)
	for i, p := range signed {
		size[i] = math.Abs(p)
	}
	slices.Sort(size)
	e.MedianPct, e.P90Pct, e.BiasPct = measured.Quantile(size, 0.5), measured.Quantile(size, 0.9),
		measured.Quantile(signed, 0.5)
	for i, p := range []float64{0.1, 0.25, 0.75, 0.9} {
		e.Spread[i] = measured.Quantile(signed, p)
	}
	for i, most := range []float64{10, 25} {
		up, _ := slices.BinarySearchFunc(size, most, func(s, most float64) int {
			if s <= most {
				return -1
			}
			return 1
		})
		e.Within[i] = float64(up) / float64(e.N)
	}
	return e
}

// MarshalJSON writes NaN as null.
func (e Errors) MarshalJSON() ([]byte, error) {
	num := func(x float64) any {
		if math.IsNaN(x) {
			return nil
		}
		return digits(x, 7)
	}
	return json.Marshal(struct {
		N       int `json:"n"`
		Skipped int `json:"skipped"`
		Median  any `json:"median_abs_error_pct"`
		P90     any `json:"p90_abs_error_pct"`
		Bias    any `json:"bias_pct"`
		P10     any `json:"p10_error_pct"`
		P25     any `json:"p25_error_pct"`
		P75     any `json:"p75_error_pct"`
		Upper   any `json:"p90_error_pct"`
		In10    any `json:"share_within_10_pct"`
		In25    any `json:"share_within_25_pct"`
	}{
		e.N, e.Skipped, num(e.MedianPct), num(e.P90Pct), num(e.BiasPct), num(e.Spread[0]), num(e.Spread[1]), num(e.Spread[2]),
		num(e.Spread[3]), num(e.Within[0]), num(e.Within[1]),
	})
}
