package compare

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
)

// WriteCSV writes a line per metric and scenario, in SI units, with the difference to the first scenario and its
// interval; cells of what is not known stay empty.
func WriteCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"metric", "unit", "scenario", "value", "difference", "relative", "low", "high", "n",
		"significant"}}
	for _, item := range c.Metrics {
		for i, v := range item.Values {
			row := []string{item.Metric, item.Unit, output.Cell(c.Scenarios[i].Name), v.Cell(), "", "", "", "", "", ""}
			if d := item.Differences[i]; d != nil {
				row[4], row[5] = d.Mean.Cell(), d.Relative.Cell()
				if t := d.Interval; t != nil {
					row[6], row[7] = stats.Number(t.Low).Cell(), stats.Number(t.High).Cell()
					row[8], row[9] = strconv.Itoa(t.N), strconv.FormatBool(t.Significant)
				}
			}
			rows = append(rows, row)
		}
	}
	return out.WriteAll(rows)
}

// Caption names a comparison on its figures by what all scenarios have in common; models are those of the scenarios.
func (c *Comparison) Caption(models []string) text.Caption {
	k := text.Caption{Scenario: heading(c)}
	if len(slices.Compact(slices.Clone(models))) == 1 {
		k.Model = models[0]
	}
	hardware := report.Hardware(c.Scenarios[0].Summary.Pools)
	for i := range c.Scenarios {
		if report.Hardware(c.Scenarios[i].Summary.Pools) != hardware {
			return k
		}
	}
	k.Hardware = hardware
	return k
}
