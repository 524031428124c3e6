package sweep

import (
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// axis returns the place of the axis of this name; −1: there is none.
func (h *Head) axis(name string) int {
	for i := range h.Axes {
		if h.Axes[i].Name == name || h.Axes[i].Key == name {
			return i
		}
	}
	return -1
}

func (h *Head) axisNames() string {
	var names []string
	for i := range h.Axes {
		names = append(names, h.Axes[i].Name)
	}
	return strings.Join(names, ", ")
}

// suggest says which column a name may mean.
func suggest(name string) string {
	var names []string
	for _, c := range columns() {
		names = append(names, c.Name)
	}
	return strict.DidYouMean("columns", name, names)
}

// short is the last part of a dotted name.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// caption names a sweep on its figures.
func (h *Head) caption() text.Caption {
	return text.Caption{Scenario: h.Scenario, Model: h.Is, Seed: &h.Seeds[0]}
}

// labelOf returns how the numbers of a column are written on an axis.
func labelOf(column string) func(float64) string {
	switch unit := columns()[index(column)].Unit; {
	case unit == "s":
		return text.Limit
	case unit == "" && isShare(column):
		return func(x float64) string { return text.Short(100*x) + " %" }
	}
	return text.Short
}

// isShare reports whether a column is from 0 to 1.
func isShare(column string) bool {
	return strings.HasPrefix(column, "share_") || strings.HasSuffix(column, "_fraction") || column == "busy" ||
		column == "slo_attainment" || column == "slo_met" || column == "fraction_of_bound" || column == "saturated" ||
		column == "filling"
}

// axisOf returns an axis for values of a column between two numbers: of times a log one where they span much.
func axisOf(column string, low, high float64) plot.Axis {
	name := column
	if unit := columns()[index(column)].Unit; unit != "" && unit != "s" {
		name += ", " + unit
	}
	switch {
	case isShare(column):
		return plot.Shares(5).Named(name)
	case low > 0 && high > 8*low:
		return plot.Log(low, high, labelOf(column)).Named(name)
	case columns()[index(column)].Unit == "s":
		return plot.Times(1.05*high, 5).Named(name)
	case low < 0:
		return plot.Linear(low, high, 5, text.Short).Named(name)
	}
	return plot.Counts(1.05*high, 5).Named(name)
}
