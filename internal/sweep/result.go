package sweep

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/stats"
)

// SchemaResult names the format of sweep.json. Fields are added, never renamed.
const SchemaResult = "decodesim/sweep/v1"

// Result is what a sweep found: everything beside the rows themselves, which stand in sweep.csv and sweep.parquet.
type Result struct {
	Schema string `json:"schema"`
	Head
	Runs     int        `json:"runs"`
	Failed   int        `json:"failed"`             // runs that ended with an error
	Failures []Failures `json:"failures,omitempty"` // the errors there were, most frequent first
	Columns  []Column   `json:"columns"`
	// Runs over which workers ended, one after the other, until they were given to no more; absent: there are none.
	GivenUp  []GivenUp       `json:"dead_letters,omitempty"`
	Curves   []Curve         `json:"curves,omitempty"`   // absent without an axis of loads
	Frontier []FrontierPoint `json:"frontier,omitempty"` // by tokens/s of a user

	means [][]float64  // by point and column, over its seeds; nil: every seed failed
	over  map[int]bool // points of which more is offered than is ever completed
}

// Failures are runs that ended with the same error.
type Failures struct {
	Error string `json:"error"`
	Runs  int    `json:"runs"`
	Point int    `json:"first_point"`
}

// GivenUp is a run that was given to workers and has no result.
type GivenUp struct {
	Run   int    `json:"run"`
	Point int    `json:"point"`
	Seed  uint64 `json:"seed"`
	Given int    `json:"given"` // to so many workers
}

// failuresMax is how many errors a result lists.
const failuresMax = 20

// collector makes a result of rows in their order. It keeps the means of a point, and nothing of single runs.
type collector struct {
	*Result
	known []int // by column, seeds of the current point
}

func newCollector(h *Head) *collector {
	return &collector{Result: &Result{Schema: SchemaResult, Head: *h, Columns: columns(),
		means: make([][]float64, h.Points), over: map[int]bool{}}}
}

func (c *collector) add(r *Row) error {
	point, _ := c.place(r)
	c.Runs++
	if r.Given > 0 {
		c.GivenUp = append(c.GivenUp, GivenUp{r.Run, point, c.Seeds[r.Run%len(c.Seeds)], r.Given})
	}
	if r.Error != "" {
		c.failed(r.Error, point)
	} else {
		c.sum(point, r.Values)
	}
	if r.Run%len(c.Seeds) == len(c.Seeds)-1 && c.means[point] != nil {
		for i := range c.means[point] {
			c.means[point][i] /= float64(c.known[i]) // of none: NaN
		}
	}
	return nil
}

// sum adds a run to its point.
func (c *collector) sum(point int, values []float64) {
	if c.means[point] == nil {
		c.means[point], c.known = make([]float64, len(values)), make([]int, len(values))
	}
	for i, x := range values {
		if !math.IsNaN(x) {
			c.means[point][i] += x
			c.known[i]++
		}
	}
}

func (c *collector) failed(err string, point int) {
	c.Failed++
	for i := range c.Failures {
		if c.Failures[i].Error == err {
			c.Failures[i].Runs++
			return
		}
	}
	if len(c.Failures) < failuresMax {
		c.Failures = append(c.Failures, Failures{err, 1, point})
	}
}

func (c *collector) close() error {
	c.Curves = c.curves()
	c.Frontier = c.frontier()
	return nil
}

// index returns the place of a column of this name; −1: there is none.
func index(name string) int {
	for i, c := range columns() {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// mean returns a column of a point; NaN: it has none.
func (r *Result) mean(point int, column string) float64 {
	if r.means[point] == nil {
		return math.NaN()
	}
	return r.means[point][index(column)]
}

// Setting is the value of an axis.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// settings returns the values of a point on all axes but those left out.
func (h *Head) settings(point int, without ...int) []Setting {
	all := []Setting{}
	for i, which := range at(h.Axes, point) {
		left := false
		for _, w := range without {
			left = left || w == i
		}
		if !left {
			all = append(all, Setting{h.Axes[i].Name, h.Axes[i].Values[which]})
		}
	}
	return all
}

// named writes settings as people read them: rate=10 max_num_seqs=64.
func named(all []Setting) string {
	name := ""
	for i, s := range all {
		if i > 0 {
			name += " "
		}
		name += short(s.Name) + "=" + s.Value
	}
	return name
}

// number is a mean as files have it.
func number(x float64) stats.Number { return stats.Number(x) }

// Plot is a figure that was asked for: a column against an axis or against another column, or a column as a heat map
// over two axes.
type Plot struct {
	X    string `json:"x"`
	Y    string `json:"y"`
	Heat string `json:"heat,omitempty"` // absent: a curve
}

// ParsePlot reads x,y or x,y,z.
func (h *Head) ParsePlot(text string) (Plot, error) {
	names := items(text)
	wrong := func(format string, args ...any) (Plot, error) {
		return Plot{}, fmt.Errorf("--plot %s: "+format, append([]any{text}, args...)...)
	}
	if len(names) != 2 && len(names) != 3 {
		return wrong("expected x,y, such as --plot rate,ttft_p95_s, or two axes and what to show of them")
	}
	for i, name := range names {
		axis := h.axis(name) >= 0
		switch {
		case len(names) == 3 && i < 2 && !axis:
			return wrong("%q is not varied; expected two axes of %s", name, h.axisNames())
		case (i == 1 && len(names) == 2 || i == 2) && index(name) < 0, !axis && index(name) < 0:
			return wrong("no column %q; %s", name, suggest(name))
		}
	}
	if len(names) == 3 && names[0] == names[1] {
		return wrong("%q twice; expected two axes", names[0])
	}
	if len(names) == 2 {
		return Plot{X: names[0], Y: names[1]}, nil
	}
	return Plot{names[0], names[1], names[2]}, nil
}
