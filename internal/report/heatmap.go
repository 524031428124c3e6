package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
)

// SpeedUps is what drafting gains, by batch size and by the rate at which drafts are accepted.
type SpeedUps struct {
	Drafts  string      // such as "3 drafts, eagle"
	Batches []int       // powers of two, rising
	Rates   []float64   // rising evenly, from 0 to 1
	Factor  [][]float64 // tokens/s of a sequence with drafts over those without, by batch and rate
	Ridge   float64     // batch from which compute binds the linear layers of a verification; 0: none
}

// The ends of the colours of a heat map and their middle: orange and blue differ for the colour-blind too (Brewer, ColorBrewer
// 2.0, PuOr and RdBu), and the numbers stand in the cells.
const (
	slowerShade shade = 0xc0661a
	evenShade   shade = 0xf7f7f7
	fasterShade shade = 0x2c6aa8
)

// DrawSpeedUps draws a heat map: where drafting pays, and where verifying turns compute-bound.
func DrawSpeedUps(c text.Caption, h SpeedUps) (Figure, error) {
	return render(figureHeight, func(s *sheet) {
		top := s.header("When does drafting pay? Speed-up of a sequence with "+h.Drafts, c)
		if len(h.Batches) == 0 || len(h.Rates) < 2 {
			s.empty("no batch fits: nothing to show")
			return
		}
		first, last := float64(h.Batches[0]), float64(h.Batches[len(h.Batches)-1])
		half := (h.Rates[1] - h.Rates[0]) / 2
		p := &panel{
			s, marginLeft + 34, figureWidth - marginRight, marginBottom + 34, top - 46,
			scale{lo: first / math.Sqrt2, hi: last * math.Sqrt2, log: true}, scale{lo: h.Rates[0] - half, hi: h.Rates[len(h.Rates)-1] + half},
		}
		p.cells(&h, half)
		ridge := p.ridge(&h)
		p.breakEven(&h, half)
		for _, b := range h.Batches {
			p.text(p.atX(float64(b)), p.bottom-13, 0.5, ink{sizeSmall, inkSoft, false}, fmt.Sprint(b))
		}
		for _, rate := range h.Rates {
			p.text(p.left-6, p.at(p.x.lo, rate).Y-0.35*sizeSmall, 1, ink{sizeSmall, inkSoft, false}, text.Short(math.Round(100*rate))+" %")
		}
		p.nameX("decoding sequences in the batch")
		p.nameY("rate at which a draft is accepted")
		if !ridge {
			h.Ridge = 0
		}
		p.speedUpKey(h.Ridge)
	})
}

// cells fills the map: white where drafting changes nothing.
func (p *panel) cells(h *SpeedUps, half float64) {
	most := 1.1
	for _, column := range h.Factor {
		for _, f := range column {
			most = math.Max(most, math.Max(f, 1/f))
		}
	}
	for i, b := range h.Batches {
		left, right := p.atX(float64(b)/math.Sqrt2), p.atX(float64(b)*math.Sqrt2)
		for j, rate := range h.Rates {
			f := h.Factor[i][j]
			low, high := p.at(p.x.lo, rate-half).Y, p.at(p.x.lo, rate+half).Y
			fill := between(f, most)
			p.rectangle(left+0.5, low+0.5, right-0.5, high-0.5, fill)
			text := inkDark
			if fill.dark() {
				text = white
			}
			p.text((left+right)/2, (low+high)/2-0.35*sizeSmall, 0.5, ink{sizeSmall, text, false}, fmt.Sprintf("%.2f", f))
		}
	}
}

// between returns the colour of a factor, by its logarithm.
func between(f, most float64) shade {
	end := fasterShade
	if f < 1 {
		end = slowerShade
	}
	return evenShade.mix(end, math.Abs(math.Log(f))/math.Log(most))
}

// mix returns the colour at the share w of the way to another.
func (s shade) mix(to shade, w float64) shade {
	out := shade(0)
	for _, shift := range []uint{16, 8, 0} {
		a, b := float64(s>>shift&0xff), float64(to>>shift&0xff)
		out |= shade(math.Round(a+float64((b-a)*clamp(w)))) << shift
	}
	return out
}

// dark reports whether white is easier to read on it.
func (s shade) dark() bool {
	return 0.299*float64(s>>16&0xff)+0.587*float64(s>>8&0xff)+0.114*float64(s&0xff) < 140
}

// breakEven draws the border between the cells where drafting gains and those where it does not.
func (p *panel) breakEven(h *SpeedUps, half float64) {
	var border []vg.Point
	for i, b := range h.Batches {
		from := 0
		for from < len(h.Rates) && h.Factor[i][from] < 1 {
			from++
		}
		y := p.top
		if from < len(h.Rates) {
			y = p.at(p.x.lo, h.Rates[from]-half).Y
		}
		border = append(border, vg.Point{X: p.atX(float64(b) / math.Sqrt2), Y: y}, vg.Point{X: p.atX(float64(b) * math.Sqrt2), Y: y})
	}
	p.stroke(white, 4.2, nil, border...)
	p.stroke(inkDark, 2, nil, border...)
}

// ridge marks the first of the batches in which compute binds, and reports whether there is one.
func (p *panel) ridge(h *SpeedUps) bool {
	for _, b := range h.Batches {
		if h.Ridge > 0 && float64(b) >= h.Ridge {
			x := p.atX(float64(b) / math.Sqrt2)
			ends := []vg.Point{{X: x, Y: p.bottom}, {X: x, Y: p.top + 3}}
			p.stroke(white, 3.6, nil, ends...)
			p.stroke(inkDark, 1.6, []vg.Length{5, 3}, ends...)
			return true
		}
	}
	return false
}

// speedUpKey says what colours and lines are, above the panel.
func (p *panel) speedUpKey(ridge float64) {
	y, dark := p.top+nameRise+18, ink{sizeSmall, inkDark, false}
	x := marginLeft
	swatch := func(fill shade, text string) {
		p.rectangle(x, y-1, x+11, y+8, axisLine)
		p.rectangle(x+0.6, y-0.4, x+10.4, y+7.4, fill)
		p.text(x+15, y, 0, dark, text)
		x += 15 + dark.width(text) + 14
	}
	for _, k := range []struct {
		fill shade
		text string
	}{{slowerShade, "slower"}, {evenShade, "as without"}, {fasterShade, "faster"}} {
		swatch(k.fill, k.text)
	}
	line := func(width vg.Length, dashes []vg.Length, text string) {
		p.stroke(inkDark, width, dashes, vg.Point{X: x, Y: y + 3}, vg.Point{X: x + 20, Y: y + 3})
		p.text(x+25, y, 0, dark, text)
		x += 25 + dark.width(text) + 14
	}
	line(2, nil, "break-even")
	if ridge > 0 {
		line(1.6, []vg.Length{5, 3}, "compute binds the linear layers from batch "+text.Short(math.Round(ridge)))
	}
}
