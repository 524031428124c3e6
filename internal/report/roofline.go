package report

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
)

// Roofline is what a device can do at most, and what batches of a model make of it.
type Roofline struct {
	GPU          string
	DType        string // that the peak is of
	BandwidthBps float64
	PeakFLOPS    float64
	Points       []RooflinePoint
}

// RooflinePoint is one batch.
type RooflinePoint struct {
	Label     string  // such as "batch 64"
	Intensity float64 // FLOP per byte moved
	FLOPS     float64 // achieved
}

// DrawRoofline draws attainable FLOP/s against arithmetic intensity, both on log axes (Williams, Waterman and Patterson,
// CACM 52(4), 2009): min(peak, intensity · bandwidth).
func DrawRoofline(c text.Caption, r Roofline) (Figure, error) {
	return render(figureHeight, func(s *sheet) {
		top := s.header("Roofline of the "+r.GPU, c)
		if !(r.BandwidthBps > 0 && r.PeakFLOPS > 0) {
			s.empty("no peak or no bandwidth is known: nothing to show")
			return
		}
		ridge := r.PeakFLOPS / r.BandwidthBps
		x, y := rooflineScales(r, ridge)
		p := &panel{s, marginLeft + 54, figureWidth - marginRight, marginBottom + 34, top - nameRise - 6, x, y}
		p.ticksX(logTicks(x, text.Short), true)
		p.ticksY(decades(logTicks(y, func(v float64) string {
			return text.Short(v/text.CountUnit(v).Size) + " " + text.CountUnit(v).Name + "FLOP/s"
		})))
		p.floor()
		p.nameX("arithmetic intensity, FLOP per byte")
		p.nameY("attainable FLOP/s")
		p.roof(r, ridge)
		p.batches(r.Points)
	})
}

// rooflineScales holds the ridge and every point, with a margin of a factor above the roof.
func rooflineScales(r Roofline, ridge float64) (x, y scale) {
	lo, hi, least := ridge/30, ridge*10, r.PeakFLOPS/30
	for _, q := range r.Points {
		if q.Intensity > 0 && q.FLOPS > 0 {
			lo, hi, least = math.Min(lo, q.Intensity/1.5), math.Max(hi, q.Intensity*2), math.Min(least, q.FLOPS/2)
		}
	}
	return logarithmic(lo, hi), logarithmic(least, r.PeakFLOPS*1.6)
}

// decades drops the ticks between labels: the y axis is short.
func decades(ticks []tick) []tick {
	var out []tick
	for _, t := range ticks {
		if g := grade(t.value); t.label != "" && g%3 == 0 {
			out = append(out, t)
		}
	}
	return out
}

// roof draws both ceilings and where they meet.
func (p *panel) roof(r Roofline, ridge float64) {
	start := math.Max(p.x.lo, p.y.lo/r.BandwidthBps)
	p.line(inkDark, []Point{{start, start * r.BandwidthBps}, {ridge, r.PeakFLOPS}, {p.x.hi, r.PeakFLOPS}})
	peak := p.at(ridge, r.PeakFLOPS)
	bold, soft := ink{sizeText, inkDark, true}, ink{sizeSmall, inkSoft, false}
	p.text(p.right, peak.Y+6, 1, bold, text.Scaled(r.PeakFLOPS, "FLOP/s")+" "+r.DType+", from "+text.Significant(ridge)+" FLOP per byte")
	p.stroke(axisLine, 1, []vg.Length{3, 3}, vg.Point{X: peak.X, Y: p.bottom}, peak)
	p.halo(peak.X+6, p.bottom+7, 0, soft, "compute-bound")
	p.halo(peak.X-6, p.bottom+7, 1, soft, "memory-bound")
	p.along(vg.Point{X: p.atX(start), Y: p.at(start, start*r.BandwidthBps).Y}, peak, bold, text.Scaled(r.BandwidthBps, "B/s"))
}

// along writes above the middle of a line, at its slope.
func (p *panel) along(from, to vg.Point, k ink, text string) {
	angle := math.Atan2(float64(to.Y-from.Y), float64(to.X-from.X))
	p.Push()
	p.Translate(vg.Point{X: (from.X + to.X) / 2, Y: (from.Y + to.Y) / 2})
	p.Rotate(angle)
	p.text(0, 6, 0.5, k, text)
	p.Pop()
}

// batches draws the points. Labels stand right of and below their dots, away from the roof; one that would cover
// another is left out, but never that of the last.
func (p *panel) batches(points []RooflinePoint) {
	var taken []vg.Rectangle
	for i := range points {
		q := points[len(points)-1-i]
		if !(q.Intensity > 0 && q.FLOPS > 0) {
			continue
		}
		dot := p.at(q.Intensity, q.FLOPS)
		if box := p.labelBox(dot, q.Label); !slices.ContainsFunc(taken, func(r vg.Rectangle) bool { return overlap(r, box) }) {
			p.halo(box.Min.X, box.Min.Y+2, 0, ink{sizeSmall, blue, false}, q.Label)
			taken = append(taken, box)
		}
	}
	for _, q := range points {
		if q.Intensity > 0 && q.FLOPS > 0 {
			p.dot(p.at(q.Intensity, q.FLOPS), blue)
		}
	}
}

// labelBox returns the place of a label: right of and below its dot, or left where the panel ends.
func (p *panel) labelBox(dot vg.Point, label string) vg.Rectangle {
	w := ink{sizeSmall, blue, false}.width(label)
	x := dot.X + 7
	if x+w > p.right {
		x = dot.X - 7 - w
	}
	return vg.Rectangle{Min: vg.Point{X: x, Y: dot.Y - 11}, Max: vg.Point{X: x + w, Y: dot.Y - 11 + sizeSmall + 2}}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
