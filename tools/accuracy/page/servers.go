package page

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/validation"
)

// Servers are errors in the mean TPOT of published servers whose prompts are a dataset, in percent: at their rate, a
// twentieth below and above, and with as many requests in flight as they had.
type Servers struct {
	AtRate, Below, Above, InFlight []float64
	moved                          []float64 // by what part TPOT is longer above than below
}

// Add adds a server of which TPOT was measured, and predicted of each.
func (s *Servers) Add(tpot, atRate, below, above, inFlight float64) {
	for _, x := range []struct {
		errors    *[]float64
		predicted float64
	}{{&s.AtRate, atRate}, {&s.Below, below}, {&s.Above, above}, {&s.InFlight, inFlight}} {
		*x.errors = append(*x.errors, 100*(x.predicted/tpot-1))
	}
	s.moved = append(s.moved, 100*math.Abs(above/below-1))
}

// servers says what part of their errors is how many requests are in flight.
func (a *Accuracy) servers(m *markdown) {
	s := &a.Servers
	if len(s.AtRate) == 0 {
		return
	}
	moved := validation.ErrorsOf(s.moved)
	m.para("What steps take is not what a rate makes of it. How many requests a server had in flight "+
		"follows from what was measured of it, by Little's law: the rate times what a request takes. With as many clients "+
		"that send again at once TPOT is off as the last line of the next table says, which is what is wrong with "+
		"steps and their prompts. At the rate the same is wrong many times over, for TPOT and the requests in flight "+
		"raise each other: between 95 and 105 %% of it TPOT differs by %.0f %% in the median, and one time in ten by "+
		"%.0f %% or more. The rate itself was chosen by TPOT, so that a server's speed is in the rate and not in TPOT.",
		moved.MedianPct, moved.P90Pct)
	rows := [][]string{{"mean TPOT of servers of unstated prompts", "n", "error"}}
	for _, x := range []struct {
		name   string
		errors []float64
	}{{"at 95 % of their rate", s.Below}, {"at their rate", s.AtRate}, {"at 105 % of their rate", s.Above},
		{"with as many requests in flight as they had", s.InFlight}} {
		e := validation.ErrorsOf(x.errors)
		rows = append(rows, []string{x.name, fmt.Sprint(e.N), cell(e)})
	}
	m.table(1, rows)
}
