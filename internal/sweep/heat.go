package sweep

import (
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
)

// heat returns a column over two axes. Of what other axes there are it has the mean.
func (r *Result) heat(p Plot) cells {
	x, y := r.axis(p.X), r.axis(p.Y)
	columns, rows := len(r.Axes[x].Values), len(r.Axes[y].Values)
	sums, n := make([]float64, columns*rows), make([]float64, columns*rows)
	for point := range r.Points {
		if v := r.mean(point, p.Heat); !math.IsNaN(v) {
			which := at(r.Axes, point)
			i := which[y]*columns + which[x]
			sums[i], n[i] = sums[i]+v, n[i]+1
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i := range sums {
		sums[i] /= n[i] // of none: NaN
		if !math.IsNaN(sums[i]) {
			low, high = min(low, sums[i]), max(high, sums[i])
		}
	}
	return cells{sums, columns, rows, low, high, labelOf(p.Heat)}
}

// heatMap draws a column over two axes, in cells of one size.
func (r *Result) heatMap(p Plot) (plot.Figure, error) {
	x, y, h := r.axis(p.X), r.axis(p.Y), r.heat(p)
	height := plot.Height
	if h.rows > 10 {
		height += vg.Length(14 * vg.Length(h.rows-10))
	}
	return plot.Render(height, func(s *plot.Sheet) {
		var notes []string
		if len(r.Axes) > 2 {
			notes = []string{"the mean over the other axes"}
		}
		top := s.Header(p.Heat+" by "+short(p.X)+" and "+short(p.Y), r.caption(), notes...)
		if h.low > h.high {
			s.Empty("no point has a value: nothing to show")
			return
		}
		chart := plot.NewChart(r.places(x), r.places(y))
		chart.Add(h.layer())
		chart.Draw(s, plot.Place(top-plot.NameRise-6))
	})
}

// places is an axis on which every value has as much room.
func (r *Result) places(axis int) plot.Axis {
	a := &r.Axes[axis]
	p := plot.Axis{Name: a.Name, Min: -0.5, Max: float64(len(a.Values)) - 0.5, Scale: gonum.LinearScale{}, NoGrid: true}
	every := 1 + (len(a.Values)-1)/16
	for i, v := range a.Values {
		label := ""
		if i%every == 0 {
			label = v
		}
		p.Ticks = append(p.Ticks, gonum.Tick{Value: float64(i), Label: label})
	}
	return p
}

// cells are the values of a heat map, row by row from below.
type cells struct {
	values        []float64 // NaN: none
	columns, rows int
	low, high     float64
	label         func(float64) string
}

// share is where a value is between the lowest and the highest: on a log scale where values span much, so that small
// ones differ too.
func (h cells) share(v float64) float64 {
	switch {
	case h.high == h.low:
		return 0.5
	case h.low > 0 && h.high > 20*h.low:
		return math.Log(v/h.low) / math.Log(h.high/h.low)
	}
	return (v - h.low) / (h.high - h.low)
}

// shade is the colour of a value.
func (h cells) shade(v float64) plot.Shade {
	share := h.share(v)
	if share < 0.5 {
		return plot.BlueTint.Mix(plot.Blue, 2*share)
	}
	return plot.Blue.Mix(plot.InkDark, 1.6*(share-0.5))
}

// layer draws the cells, and their values where there is room.
func (h cells) layer() plot.Layer {
	return func(c draw.Canvas, p *gonum.Plot) {
		x, y := p.Transforms(&c)
		for i, v := range h.values {
			column, row := float64(i%h.columns), float64(i/h.columns)
			from := vg.Point{X: x(column - 0.5), Y: y(row - 0.5)}
			to := vg.Point{X: x(column + 0.5), Y: y(row + 0.5)}
			fill, ink, label := plot.GridLine, plot.InkSoft, "–"
			if !math.IsNaN(v) {
				fill, ink, label = h.shade(v), plot.InkDark, h.label(v)
			}
			if fill.Dark() {
				ink = plot.White
			}
			c.FillPolygon(fill, []vg.Point{from, {X: to.X, Y: from.Y}, to, {X: from.X, Y: to.Y}})
			k := plot.Small(ink)
			if k.Width(label) < to.X-from.X-3 && to.Y-from.Y > 11 {
				plot.Write(&c, vg.Point{X: (from.X + to.X) / 2, Y: vg.Length((from.Y+to.Y)/2) - 3}, 0.5, k, label)
			}
		}
	}
}
