package explain

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// linesMax is how many curves one figure has room for.
const linesMax = 12

// WriteFiles writes explain.json and the plot: all of them, or none.
func (g *Grid) WriteFiles(dir *output.Dir) error {
	figure, err := g.draw()
	if err == nil {
		err = figure.Write(dir, "steps")
	}
	if err == nil {
		err = dir.WriteFile("explain.json", func(w io.Writer) error { return text.WriteJSON(w, g) })
	}
	if err != nil {
		return err
	}
	return dir.Keep()
}

// gridLine is the steps that differ in one axis alone.
type gridLine struct {
	name   string
	points plotter.XYs
}

// along returns the axis that a figure has below: of numbers, the one of most values; -1: there is none.
func (g *Grid) along() int {
	best := -1
	for i, a := range g.Axes {
		if a.Counts != nil && (best < 0 || len(a.Counts) > len(g.Axes[best].Counts)) {
			best = i
		}
	}
	return best
}

// lines are the curves over an axis, in the order of the grid.
func (g *Grid) lines(along int) []gridLine {
	var all []gridLine
	at := map[string]int{}
	for _, c := range g.Cells {
		if c.Step == nil {
			continue
		}
		var name []string
		x := 0.0
		for i, value := range g.written(&c) {
			switch {
			case i != along:
				name = append(name, g.Axes[i].Name+" "+value)
			case g.Axes[i].Name == "batch":
				x = float64(c.Step.Batch)
			default:
				x = float64(c.Step.Context)
			}
		}
		key := strings.Join(name, ", ")
		if _, seen := at[key]; !seen {
			at[key] = len(all)
			all = append(all, gridLine{name: key})
		}
		line := &all[at[key]]
		line.points = append(line.points, plotter.XY{X: x, Y: c.Step.StepS})
	}
	return all
}

// draw draws the time of a step against the batch or the context, a line for each combination of the other values.
func (g *Grid) draw() (plot.Figure, error) {
	caption := text.Caption{Scenario: g.at(), Model: g.scope.Deployment.Model.Name, Hardware: g.hardware()}
	return plot.Render(plot.Height, func(s *plot.Sheet) {
		top := s.Header("Time of a decode step", caption)
		along := g.along()
		if along < 0 {
			s.Empty("neither batch nor context has several values: nothing to draw a curve over")
			return
		}
		lines := g.lines(along)
		omitted := len(lines) - linesMax
		lines = lines[:min(len(lines), linesMax)]
		first, last := math.Inf(1), 0.0
		least, most := math.Inf(1), 0.0
		for _, l := range lines {
			for _, p := range l.points {
				first, last = math.Min(first, p.X), math.Max(last, p.X)
				least, most = math.Min(least, p.Y), math.Max(most, p.Y)
			}
		}
		if first == last {
			first, last = first/2, last*2
		}
		axis := plot.Doublings(first, last).Named(g.Axes[along].Name + ", log scale")
		chart := plot.NewChart(axis, plot.Log(least, most, text.Limit).Named("time of a step, log scale"))
		chart.AddGrid()
		for i, l := range lines {
			style := plot.StyleOf(len(lines), i)
			chart.Add(plot.Line(style.LineStyle, l.points...), plot.Dots(style.Shade(), l.points...))
		}
		top = legendOf(s, top, lines)
		if omitted > 0 {
			s.Text(plot.MarginLeft, top, 0, plot.Small(plot.InkSoft), fmt.Sprintf("%d more are in the table", omitted))
			top -= 14
		}
		chart.Draw(s, plot.Place(top-22))
	})
}

// legendOf names the curves in two columns, and returns where the space below begins.
func legendOf(s *plot.Sheet, top vg.Length, lines []gridLine) vg.Length {
	if len(lines) < 2 {
		return top
	}
	const pitch, column = vg.Length(14), vg.Length(250)
	ink := plot.Small(plot.InkDark)
	for i, l := range lines {
		x, y := plot.MarginLeft+vg.Length(column*vg.Length(i%2)), top-vg.Length(pitch*vg.Length(i/2))
		s.Key(x, y, plot.StyleOf(len(lines), i))
		s.Text(x+29, y, 0, ink, ink.Fit(l.name, column-36))
	}
	return top - vg.Length(pitch*vg.Length((len(lines)+1)/2))
}
