package report

import (
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Sizes of the bars, in points.
const (
	barWide     = 0.62 // of the room of a bar
	legendWide  = vg.Length(96)
	legendPitch = vg.Length(15)
	betweenBars = vg.Length(44) // between the panels, for what stands above the lower one
	partSeen    = vg.Length(1)  // a part lower than that has no line above it
)

// GapParts draws what gaps between tokens are made of, a stacked bar for the mean and each quantile: as long as they are
// above, and all as long as each other below, where a short gap shows its parts beside a long one.
func GapParts(c text.Caption, s *metrics.Summary) (Figure, error) {
	return render(5.8*vg.Inch, func(sh *sheet) {
		title := "What inter-token latency is made of"
		lines := []string{"parts sum to the gap; prefill is how much shorter it would be without prompts"}
		if gapNoun(s) != "ITL" {
			title = "What gaps between chunks of tokens are made of"
		}
		if len(s.Gaps) == 0 {
			sh.header(title, c)
			sh.empty("no token gaps: nothing to show")
			return
		}
		top := sh.header(title, c, lines...) - nameRise - 8
		bottom := marginBottom + 20
		high := (top - bottom - betweenBars) / 2
		left, right := marginLeft+34, figureWidth-marginRight-legendWide
		x := scale{lo: 0, hi: float64(len(s.Gaps))}

		longest := 0.0
		for _, g := range s.Gaps {
			longest = math.Max(longest, g.GapS)
		}
		y := linear(longest, 5)
		lengths := &panel{sh, left, right, top - high, top, x, y}
		lengths.ticksY(timeTicks(y, text.TimeUnit(longest)))
		lengths.stacks(s.Gaps, func(g metrics.Gap) float64 { return g.GapS })
		for i, g := range s.Gaps {
			at := lengths.at(float64(i)+0.5, g.GapS)
			lengths.halo(at.X, at.Y+5, 0.5, ink{sizeSmall, inkDark, true}, text.Duration(g.GapS))
		}
		lengths.floor()
		lengths.nameY("length of a gap")

		shares := &panel{sh, left, right, bottom, bottom + high, x, scale{lo: 0, hi: 1}}
		shares.ticksY(percentTicks(shares.y, 5))
		shares.stacks(s.Gaps, func(metrics.Gap) float64 { return 1 })
		for i, g := range s.Gaps {
			shares.text(shares.atX(float64(i)+0.5), bottom-13, 0.5, ink{sizeText, inkDark, false}, g.At)
		}
		shares.floor()
		shares.nameY("share of it")
		sh.stackLegend(right+18, top-sizeText, s.Gaps)
	})
}

// stacks draws each gap as a bar of that height.
func (p *panel) stacks(gaps []metrics.Gap, height func(metrics.Gap) float64) {
	for i, g := range gaps {
		low, x0, x1 := 0.0, p.atX(float64(i)+0.5-barWide/2), p.atX(float64(i)+0.5+barWide/2)
		for _, part := range partsOf(&g.Parts) {
			if part.seconds <= 0 {
				continue
			}
			high := low + part.seconds/g.GapS*height(g)
			y0, y1 := p.at(0, low).Y, p.at(0, high).Y
			p.rectangle(x0, y0, x1, y1, part.shade)
			if y1-y0 > partSeen { // neighbours are told apart by more than their colours
				p.stroke(white, hairline, nil, vg.Point{X: x0, Y: y1}, vg.Point{X: x1, Y: y1})
			}
			low = high
		}
	}
}

// stackLegend names the colours in the order of the stack, from its top down.
func (s *sheet) stackLegend(x, y vg.Length, gaps []metrics.Gap) {
	shown := notable(gaps)
	for i := len(shown) - 1; i >= 0; i-- {
		part := partsOf(&metrics.Parts{})[shown[i]]
		s.rectangle(x, y-1, x+10, y+8, part.shade)
		s.text(x+16, y, 0, ink{sizeText, inkDark, false}, part.name)
		y -= legendPitch
	}
}
