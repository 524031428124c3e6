package explain

import (
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// BatchPoint is the decode step of one batch size.
type BatchPoint struct {
	Batch        int
	ITLS         float64 // seconds
	FloorS       float64 // the least the data sheet allows
	ComputeBound bool    // of the floor
}

// ITLVsBatch draws the inter-token latency against the batch size, above its bound; the ground says what binds it.
func ITLVsBatch(c text.Caption, points []BatchPoint) (plot.Figure, error) {
	return plot.Render(plot.Height, func(s *plot.Sheet) {
		top := s.Header("Inter-token latency against batch size", c)
		if len(points) == 0 {
			s.Empty("no batch fits: nothing to show")
			return
		}
		first, last := float64(points[0].Batch), float64(points[len(points)-1].Batch)
		if first == last {
			first, last = first/2, last*2
		}
		most := 0.0
		var itl, floor plotter.XYs
		for _, q := range points {
			most = math.Max(most, q.ITLS)
			itl = append(itl, plotter.XY{X: float64(q.Batch), Y: q.ITLS})
			floor = append(floor, plotter.XY{X: float64(q.Batch), Y: q.FloorS})
		}
		x := plot.Doublings(first, last).Named("decoding sequences in the batch, log scale")
		chart := plot.NewChart(x, plot.Times(1.08*most, 5))
		regions := regionsOf(points, first, last)
		for _, r := range regions {
			chart.Add(plot.Layer(r.ground))
		}
		chart.AddGrid()
		for _, r := range regions {
			chart.Add(plot.Layer(r.title))
		}
		predicted, bound := plot.Stroke(plot.Blue, plot.LineWidth), plot.Stroke(plot.InkDark, 1.2, 5, 3)
		chart.Add(plot.Line(bound, floor...), plot.Line(predicted, itl...), plot.Dots(plot.Blue, itl...))
		if len(floor) == 1 {
			chart.Add(plot.Dots(plot.InkDark, floor...))
		}
		place := plot.Place(top - 20)
		chart.Draw(s, place)
		y, names := place.Max.Y+10, plot.Small(plot.InkDark)
		s.Key(plot.MarginLeft, y, plot.CurveStyle{LineStyle: predicted})
		s.Text(plot.MarginLeft+29, y, 0, names, "predicted ITL")
		next := plot.MarginLeft + 29 + names.Width("predicted ITL") + 18
		s.Key(next, y, plot.CurveStyle{LineStyle: bound})
		s.Text(next+29, y, 0, names, "bound: peak bandwidth and peak FLOP/s")
	})
}

// region is a stretch of batch sizes that one thing binds.
type region struct {
	from, to    float64
	name        string
	shade, tint plot.Shade
}

// regionsOf returns what memory binds and what compute binds. The border is midway, on the log axis, between the
// batches on both sides of the change.
func regionsOf(points []BatchPoint, first, last float64) []region {
	border := last
	for i, q := range points {
		if q.ComputeBound {
			border = first
			if i > 0 {
				border = math.Sqrt(float64(points[i-1].Batch) * float64(q.Batch))
			}
			break
		}
	}
	return []region{
		{first, border, "memory-bound", plot.Blue, plot.BlueTint},
		{border, last, "compute-bound", plot.Amber, plot.AmberTint},
	}
}

// ground shades the region.
func (r region) ground(c draw.Canvas, p *gonum.Plot) {
	x, _ := p.Transforms(&c)
	left, right := x(r.from), x(r.to)
	c.FillPolygon(r.tint, []vg.Point{
		{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y},
	})
}

// title names the region, if it is wide enough for its name.
func (r region) title(c draw.Canvas, p *gonum.Plot) {
	x, _ := p.Transforms(&c)
	ink := plot.SmallBold(r.shade)
	if left, right := x(r.from), x(r.to); right-left > ink.Width(r.name)+8 {
		plot.Write(&c, vg.Point{X: (left + right) / 2, Y: c.Max.Y - 14}, 0.5, ink, r.name)
	}
}
