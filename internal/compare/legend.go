package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// legend says how the differences are meant.
func legend(c *Comparison) []string {
	marks := "± and ~ (not significant) say"
	if len(c.Scenarios) > withIntervalsMax {
		marks = "~ (not significant) is said by" // their widths are in compare.json
	}
	lines := []string{fmt.Sprintf("Differences are to %s, of shares in percentage points (pt). %s %.0f %% intervals",
		c.Scenarios[0].Name, marks, 100*c.Confidence)}
	if len(c.Seeds) > 1 {
		lines = append(lines, fmt.Sprintf("from %d runs of each, paired by seed; values are means over them.", len(c.Seeds)))
	} else {
		line := "of requests paired one by one, from " + c.Intervals + "."
		if c.Seedable {
			line += " --seeds 10 gives every row an interval."
		}
		lines = append(lines, line)
	}
	if c.Requests == NotTheSame {
		var other []string
		for i := range c.Scenarios {
			if c.Scenarios[i].Requests == NotTheSame {
				other = append(other, c.Scenarios[i].Name)
			}
		}
		lines = append(lines, "The requests of "+strings.Join(other, ", ")+" are not those of "+c.Scenarios[0].Name+
			": their workloads differ as listed above, and part of the difference is chance.")
	}
	return append(lines, c.Notes...)
}

// warnings prints what the runs warn of, once where all warn of it.
func warnings(t *text.Page, c *Comparison) {
	var said []string
	for i := range c.Scenarios {
		for _, w := range warningsOf(c.Scenarios[i].Summary) {
			if slices.Contains(said, w) {
				continue
			}
			said = append(said, w)
			var of []string
			for j := range c.Scenarios {
				if slices.Contains(warningsOf(c.Scenarios[j].Summary), w) {
					of = append(of, c.Scenarios[j].Name)
				}
			}
			if len(of) == len(c.Scenarios) {
				of = []string{"all"}
			}
			t.Warning("warning: " + strings.Join(of, ", ") + ": " + w)
		}
	}
}

// warningsOf returns what a run warns of, and before that how its answer depends on its length.
func warningsOf(s *metrics.Summary) []string {
	if x := s.Steady; x != nil && x.DependsOnLength != "" {
		return append([]string{"depends on the length of the run: " + x.DependsOnLength}, s.Warnings...)
	}
	return s.Warnings
}
