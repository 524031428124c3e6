package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
)

// ErrorByConcurrency draws the spread of signed errors against the clients of a closed loop, a box for each octave: from
// p25 to p75, with its median and whiskers from p10 to p90.
func ErrorByConcurrency(c text.Caption, v *validation.Validation) (Figure, error) {
	var all []boxes
	for _, metric := range leading(v) {
		if b := boxesOf(v, metric); len(b.boxes) > 0 && len(all) < 4 {
			all = append(all, b)
		}
	}
	height := figureHeight
	if len(all) > 1 {
		height += 1.6 * vg.Inch * vg.Length(len(all)-1)
	}
	return render(height, func(s *sheet) {
		const title = "Error by concurrency"
		if len(all) == 0 {
			s.header(title, c)
			s.empty("no closed loop is predicted: nothing to show")
			return
		}
		explained := "predicted / measured − 1: box p25 to p75 with the median, whiskers p10 to p90"
		if slices.ContainsFunc(all, boxes.cut) {
			explained += fmt.Sprintf(", which stands above n where it is beyond %d %%", errorShownMax)
		}
		top := s.header(title, c, explained)
		first, last := all[0].boxes[0].octave, 0
		for _, b := range all {
			first, last = min(first, b.boxes[0].octave), max(last, b.boxes[len(b.boxes)-1].octave)
		}
		x := scale{lo: float64(first) - 0.6, hi: float64(last) + 0.6}
		bottom := marginBottom + 34
		pitch := (top - bottom) / vg.Length(len(all))
		for i, b := range all {
			base := top - pitch*vg.Length(i+1)
			p := &panel{s, marginLeft + 34, figureWidth - marginRight, base, base + pitch - 42, x, b.scale()}
			p.boxes(b, series(i))
			if i == len(all)-1 {
				p.octaves(all, first, last)
				p.nameX("clients of the closed loop, by octave")
			}
		}
	})
}

// boxes are the errors of one metric.
type boxes struct {
	metric string
	boxes  []box
}

// box is the errors of the runs with 2^octave to 2^(octave+1) − 1 clients.
type box struct {
	octave   int
	from, to int // clients that occur
	errors   validation.Errors
}

func boxesOf(v *validation.Validation, metric string) boxes {
	var list []box
	percents := map[int][]float64{}
	each(v, metric, func(r *validation.Row, x *validation.Value) {
		n := r.Labels.Concurrency
		if n < 1 || !v.Headline(r) {
			return
		}
		octave := int(math.Log2(float64(n)) + 1e-9)
		i := slices.IndexFunc(list, func(b box) bool { return b.octave == octave })
		if i < 0 {
			i = len(list)
			list = append(list, box{octave: octave, from: n, to: n})
		}
		list[i].from, list[i].to = min(list[i].from, n), max(list[i].to, n)
		percents[octave] = append(percents[octave], *x.ErrorPct)
	})
	slices.SortFunc(list, func(a, b box) int { return a.octave - b.octave })
	for i := range list {
		list[i].errors = validation.ErrorsOf(percents[list[i].octave])
	}
	return boxes{metric, list}
}

// errorShownMax is where an axis of errors ends at most, in percent: whiskers beyond it are labelled.
const errorShownMax = 200

// scale holds every whisker, and 0.
func (b boxes) scale() scale {
	lo, hi := -20.0, 20.0
	for _, x := range b.boxes {
		lo, hi = min(lo, x.errors.Spread[0]), max(hi, x.errors.Spread[3])
	}
	hi = min(hi, errorShownMax)
	step := roundStep(hi-lo, 5)
	return scale{lo: step * math.Floor(lo/step), hi: step * math.Ceil(hi/step)}
}

// cut reports whether a whisker leaves the axis.
func (b boxes) cut() bool {
	return slices.ContainsFunc(b.boxes, func(x box) bool { return x.errors.Spread[3] > b.scale().hi })
}

// ticks mark the round errors of the scale.
func (b boxes) ticks(y scale) []tick {
	step := roundStep(y.hi-y.lo, 6)
	var ticks []tick
	for i := math.Ceil(y.lo/step - 1e-9); i*step <= y.hi+1e-9; i++ {
		label := text.Short(i*step) + " %"
		if i > 0 {
			label = "+" + label
		}
		ticks = append(ticks, tick{i * step, label})
	}
	return ticks
}

func (p *panel) boxes(b boxes, k shade) {
	tint := [...]shade{blueTint, amberTint, greenTint, gridLine}[slices.Index([]shade{blue, amber, green, plum}, k)]
	band := [2]vg.Length{p.at(p.x.lo, -10).Y, p.at(p.x.lo, 10).Y}
	p.rectangle(p.left, band[0], p.right, band[1], gridFaint)
	p.ticksY(b.ticks(p.y))
	p.stroke(axisLine, 0.9, nil, p.at(p.x.lo, 0), p.at(p.x.hi, 0))
	small := ink{sizeSmall - 1, inkSoft, false}
	for _, x := range b.boxes {
		at := func(i int) vg.Length { return p.at(p.x.lo, x.errors.Spread[i]).Y }
		mid := p.atX(float64(x.octave))
		half := min(16, 0.3*(p.right-p.left)/vg.Length(p.x.hi-p.x.lo))
		p.stroke(k, 1.1, nil, vg.Point{X: mid, Y: at(0)}, vg.Point{X: mid, Y: at(3)})
		p.rectangle(mid-half, at(1), mid+half, at(2), tint)
		p.stroke(k, 1, nil, vg.Point{X: mid - half, Y: at(1)}, vg.Point{X: mid + half, Y: at(1)}, vg.Point{X: mid + half, Y: at(2)},
			vg.Point{X: mid - half, Y: at(2)}, vg.Point{X: mid - half, Y: at(1)})
		median := p.at(p.x.lo, x.errors.BiasPct).Y
		p.stroke(k, 2.2, nil, vg.Point{X: mid - half, Y: median}, vg.Point{X: mid + half, Y: median})
		p.text(mid, p.top+2, 0.5, small, fmt.Sprintf("n = %d", x.errors.N))
		if beyond := x.errors.Spread[3]; beyond > p.y.hi {
			p.text(mid, p.top+11, 0.5, small, text.SignedPercent(beyond))
		}
	}
	p.text(marginLeft, p.top+nameRise+8, 0, ink{sizeSmall, k, true}, MetricName(b.metric))
}

// gridFaint is the ground of errors of at most 10 %.
const gridFaint shade = 0xf4f6f8

// octaves labels the x axis with the clients that occur.
func (p *panel) octaves(all []boxes, first, last int) {
	for octave := first; octave <= last; octave++ {
		from, to := 0, 0
		for _, b := range all {
			for _, x := range b.boxes {
				if x.octave == octave {
					from, to = x.from, max(to, x.to)
				}
			}
		}
		label := fmt.Sprint(from)
		switch {
		case from == 0:
			continue
		case to > from:
			label += "–" + fmt.Sprint(to)
		}
		p.text(p.atX(float64(octave)), p.bottom-13, 0.5, ink{sizeSmall, inkSoft, false}, label)
	}
}
