package report

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/internal/compare"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
)

// ComparisonCSV writes a line per metric and scenario, in SI units, with the difference to the first scenario and its
// interval; cells of what is not known stay empty.
func ComparisonCSV(w io.Writer, c *compare.Comparison) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"metric", "unit", "scenario", "value", "difference", "relative", "low", "high", "n", "significant"}}
	for _, item := range c.Metrics {
		for i, v := range item.Values {
			row := []string{item.Metric, item.Unit, c.Scenarios[i].Name, csvCell(v), "", "", "", "", "", ""}
			if d := item.Differences[i]; d != nil {
				row[4], row[5] = csvCell(d.Mean), csvCell(d.Relative)
				if t := d.Interval; t != nil {
					row[6], row[7] = csvCell(stats.Number(t.Low)), csvCell(stats.Number(t.High))
					row[8], row[9] = strconv.Itoa(t.N), strconv.FormatBool(t.Significant)
				}
			}
			rows = append(rows, row)
		}
	}
	return out.WriteAll(rows)
}

func csvCell(v stats.Number) string {
	if x := float64(v); !math.IsNaN(x) && !math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return ""
}

// ComparisonCaption names a comparison on its figures: what all have in common. models are those of the scenarios.
func ComparisonCaption(c *compare.Comparison, models []string) text.Caption {
	k := text.Caption{Scenario: comparisonHeading(c)}
	if len(slices.Compact(slices.Clone(models))) == 1 {
		k.Model = models[0]
	}
	hardware := Hardware(c.Scenarios[0].Summary.Pools)
	for i := range c.Scenarios {
		if Hardware(c.Scenarios[i].Summary.Pools) != hardware {
			return k
		}
	}
	k.Hardware = hardware
	return k
}
