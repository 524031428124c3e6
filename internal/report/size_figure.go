package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/text"
)

// SplitsFigure draws goodput per GPU against the share of the GPUs that only read prompts, a curve for every degree of tensor
// parallelism; colocated deployments are level lines, for they have no split.
func SplitsFigure(s *sizing.Sizing) (Figure, error) {
	var curves []sizeCurve
	most := 0.0
	for _, p := range s.Splits {
		name := p.Series
		if p.Topology == configs.Colocated {
			name += " colocated"
		}
		i := slices.IndexFunc(curves, func(c sizeCurve) bool { return c.name == name })
		if i < 0 {
			i, curves = len(curves), append(curves, sizeCurve{name: name})
		}
		curves[i].points = append(curves[i].points, Point{p.PrefillShare, p.GoodputPerSPerGPU})
		if p.Topology == configs.Colocated {
			curves[i].points = append(curves[i].points, Point{1, p.GoodputPerSPerGPU})
		}
		most = max(most, p.GoodputPerSPerGPU)
	}
	return sizeFigure(s, "Goodput per GPU by split", curves, scale{lo: 0, hi: 1}, linear(1.1*most, 5), percentTicks(scale{lo: 0, hi: 1}, 5),
		acrossSplits)
}

// acrossSplits names the horizontal axis of SplitsFigure.
const acrossSplits = "share of the GPUs in prefill pools"

// FrontierFigure draws what deployments carry per GPU against how fast their users read, of runs that no other beats in both.
func FrontierFigure(s *sizing.Sizing) (Figure, error) {
	var curves []sizeCurve
	fastest, most := 0.0, 0.0
	for _, topology := range []string{configs.Colocated, configs.Disaggregated} {
		c := sizeCurve{name: topology}
		for _, p := range s.Frontier {
			fastest, most = max(fastest, p.UserTokensPerS), max(most, p.GoodputPerSPerGPU)
			if p.Topology == topology {
				c.points = append(c.points, Point{p.UserTokensPerS, p.GoodputPerSPerGPU})
			}
		}
		if len(c.points) > 0 {
			c.dots = true
			curves = append(curves, c)
		}
	}
	x := linear(1.05*fastest, 6)
	return sizeFigure(s, "Goodput per GPU against user speed", curves, x, linear(1.1*most, 5), countTicks(x, 6), "tokens/s of the median user")
}

// sizeCurve is points of one kind, which a line joins unless they are dots.
type sizeCurve struct {
	name   string
	points []Point
	dots   bool
}

// sizeFigure draws curves of goodput per GPU.
func sizeFigure(s *sizing.Sizing, title string, curves []sizeCurve, x, y scale, ticks []tick, across string) (Figure, error) {
	return render(figureHeight+14*vg.Length(max(0, len(curves)-2)), func(sh *sheet) {
		top := sh.header(title, SizingCaption(s), sloWords(&s.SLO))
		if len(curves) == 0 {
			sh.empty("no load is sustained: nothing to show")
			return
		}
		for i, c := range curves {
			sh.key(top-2-14*vg.Length(i), curveStyle(len(curves)+1, i))
			sh.text(marginLeft+30, top-2-14*vg.Length(i), 0, ink{sizeText, inkDark, true}, c.name)
		}
		top -= 2 + 14*vg.Length(len(curves))
		p := &panel{sh, marginLeft + 34, figureWidth - marginRight, marginBottom + 34, top - nameRise - 6, x, y}
		p.ticksX(ticks, true)
		p.ticksY(linearTicks(y, 5, text.Short))
		p.floor()
		p.nameX(across)
		p.nameY("requests/s within the SLO, per GPU")
		for i, c := range curves {
			look := curveStyle(len(curves)+1, i)
			if !c.dots {
				p.stroke(look.shade, look.width, look.dashes, p.all(c.points)...)
			}
			for _, at := range p.all(c.points) {
				p.glyph(at, look.shade, markRadius, look.mark)
			}
		}
		if s.Best != nil {
			p.best(s, across)
		}
	})
}

// best names the best deployment where it stands.
func (p *panel) best(s *sizing.Sizing, across string) {
	x := s.Best.PrefillShare()
	if across != acrossSplits {
		x = s.Best.UserTokensPerS
	}
	at := p.at(x, s.Best.GoodputPerSPerGPU)
	p.dot(at, brick)
	label := fmt.Sprintf("%s: %s", s.Best.Name, text.Significant(s.Best.GoodputPerSPerGPU))
	k := ink{sizeText, inkDark, true}
	half := k.width(label) / 2
	p.halo(max(p.left+half+2, min(p.right-half, at.X)), at.Y+9, 0.5, k, label)
}
