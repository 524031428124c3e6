package sizing

import (
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// SplitsFigure draws goodput per GPU against the share of the GPUs that only read prompts, a curve for every degree of
// tensor parallelism; colocated deployments are level lines, for they have no split.
func SplitsFigure(s *Sizing) (plot.Figure, error) {
	var curves []sizeCurve
	most := 0.0
	if !slices.ContainsFunc(s.Splits, func(p SplitPoint) bool { return p.Topology == configs.Disaggregated }) {
		return layoutsFigure(s)
	}
	for _, p := range s.Splits {
		name := p.Series
		if p.Topology == configs.Colocated {
			name += " colocated"
		}
		i := slices.IndexFunc(curves, func(c sizeCurve) bool { return c.name == name })
		if i < 0 {
			i, curves = len(curves), append(curves, sizeCurve{name: name})
		}
		curves[i].points = append(curves[i].points, plotter.XY{X: p.PrefillShare, Y: p.GoodputPerSPerGPU})
		if p.Topology == configs.Colocated {
			curves[i].points = append(curves[i].points, plotter.XY{X: 1, Y: p.GoodputPerSPerGPU})
		}
		most = max(most, p.GoodputPerSPerGPU)
	}
	return sizeFigure(s, "Goodput per GPU by split", curves, plot.Shares(5).Named(acrossSplits), most)
}

// layoutsFigure draws goodput per GPU against GPUs, where nothing has a split.
func layoutsFigure(s *Sizing) (plot.Figure, error) {
	var curves []sizeCurve
	most, gpus := 0.0, 0
	for _, p := range s.Splits {
		curves = append(curves, sizeCurve{name: p.Name, dots: true,
			points: plotter.XYs{{X: float64(p.GPUs), Y: p.GoodputPerSPerGPU}}})
		most, gpus = max(most, p.GoodputPerSPerGPU), max(gpus, p.GPUs)
	}
	return sizeFigure(s, "Goodput per GPU by layout", curves, plot.Counts(1.1*float64(gpus), 6).Named(acrossGPUs), most)
}

// acrossGPUs names the horizontal axis of layoutsFigure.
const acrossGPUs = "GPUs"

// acrossSplits names the horizontal axis of SplitsFigure.
const acrossSplits = "share of the GPUs in prefill pools"

// FrontierFigure draws what deployments carry per GPU against how fast their users read, of runs that no other beats in
// both.
func FrontierFigure(s *Sizing) (plot.Figure, error) {
	var curves []sizeCurve
	fastest, most := 0.0, 0.0
	for _, topology := range []string{configs.Colocated, configs.Disaggregated} {
		c := sizeCurve{name: topology}
		for _, p := range s.Frontier {
			fastest, most = max(fastest, p.UserTokensPerS), max(most, p.GoodputPerSPerGPU)
			if p.Topology == topology {
				c.points = append(c.points, plotter.XY{X: p.UserTokensPerS, Y: p.GoodputPerSPerGPU})
			}
		}
		if len(c.points) > 0 {
			c.dots = true
			curves = append(curves, c)
		}
	}
	x := plot.Counts(1.05*fastest, 6).Named("tokens/s of the median user")
	return sizeFigure(s, "Goodput per GPU against user speed", curves, x, most)
}

// sizeCurve is points of one kind, which a line joins unless they are dots.
type sizeCurve struct {
	name   string
	points plotter.XYs
	dots   bool
}

// sizeFigure draws curves of goodput per GPU, of which the highest is most.
func sizeFigure(s *Sizing, title string, curves []sizeCurve, x plot.Axis, most float64) (plot.Figure, error) {
	const pitch = vg.Length(14)
	return plot.Render(plot.Height+vg.Length(pitch*vg.Length(max(0, len(curves)-1))), func(sheet *plot.Sheet) {
		top := sheet.Header(title, s.Caption(), sloWords(&s.SLO)) - 2
		if len(curves) == 0 {
			sheet.Empty("no load is sustained: nothing to show")
			return
		}
		chart := plot.NewChart(x, plot.UpTo(1.1*most, 5, text.Short).Named("requests/s within the SLO, per GPU"))
		chart.AddGrid()
		for i, c := range curves {
			style := plot.StyleOf(len(curves)+1, i)
			sheet.Key(plot.MarginLeft, top, style)
			sheet.Text(plot.MarginLeft+30, top, 0, plot.BodyBold(plot.InkDark), c.name)
			top -= pitch
			if !c.dots {
				chart.Add(plot.Line(style.LineStyle, c.points...))
			}
			chart.Add(plot.Marks(style.Shade(), plot.MarkRadius, style.Mark, c.points...))
		}
		if s.Best != nil {
			sheet.Text(plot.MarginLeft+30, top, 0, plot.BodyBold(plot.Brick), "best: "+s.Best.Name+": "+
				text.Significant(s.Best.GoodputPerSPerGPU))
			top -= pitch
			chart.Add(plot.Dots(plot.Brick, s.bestAt(x.Name)))
		}
		chart.Draw(sheet, plot.Place(top-plot.NameRise-6))
	})
}

// bestAt returns where the best deployment stands.
func (s *Sizing) bestAt(across string) plotter.XY {
	at := plotter.XY{X: s.Best.UserTokensPerS, Y: s.Best.GoodputPerSPerGPU}
	switch across {
	case acrossSplits:
		at.X = s.Best.PrefillShare()
	case acrossGPUs:
		at.X = float64(s.Best.GPUs)
	}
	return at
}
