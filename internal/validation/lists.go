package validation

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/text"
)

// skips prints why rows are not simulated and values not compared.
func skips(t *text.Page, v *Validation) {
	list := func(title string, count func(Skip) int) {
		printed, more, rest := 0, 0, 0
		for _, s := range v.Skips {
			n := count(s)
			switch {
			case n == 0:
				continue
			case printed == 0:
				t.Blank()
				t.Line(title)
			}
			printed++
			if printed <= ReasonsMax {
				t.Line(fmt.Sprintf("%6d  %s", n, s.Reason))
			} else {
				more, rest = more+1, rest+n
			}
		}
		if more > 0 {
			t.Line(fmt.Sprintf("%6d  for %s more", rest, text.Counted(more, "reason")))
		}
	}
	list(fmt.Sprintf("not simulated: %d of %s", v.Counts.Skipped, text.Counted(v.Counts.Rows, "row")),
		func(s Skip) int { return s.Rows })
	list("not compared: values of simulated rows", func(s Skip) int { return s.Values })
}

// tooFast prints the rows whose tokens came faster than the data sheet allows.
func tooFast(t *text.Page, v *Validation) {
	if len(v.TooFast) == 0 {
		return
	}
	t.Blank()
	t.Warning(fmt.Sprintf("measured TPOT beats the physical bound in %s: speculation, or wrong metadata?",
		text.Counted(len(v.TooFast), "row")))
	for i, x := range v.TooFast {
		if i == TooFastMax {
			t.Line(fmt.Sprintf("  and %d more", len(v.TooFast)-TooFastMax))
			break
		}
		t.Line(fmt.Sprintf("  %s: %s ms measured, at least %s ms by the data sheet", x.ID, text.Significant(x.MeasuredMS),
			text.Significant(x.FloorMS)))
	}
}
