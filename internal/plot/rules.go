package plot

import (
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Rule is a rule of an SLO on a distribution: a share of the samples that must be within a limit.
type Rule struct {
	Share  float64
	LimitS float64
	Name   string
}

// RulesOn returns the rules that a distribution of a metric can show: limits on percentiles and on the maximum, and the
// limits of a share of the requests.
func RulesOn(rules metrics.Rules, metric metrics.Metric) []Rule {
	var all []Rule
	for i := range rules {
		for _, t := range rules[i].Terms {
			share, name := rules[i].Share, t.At.String()
			if share > 0 {
				name = text.Short(100*share) + " %"
			} else if t.At > 0 {
				share = float64(t.At) / 100
			}
			if t.Metric == metric && share > 0 {
				limit := float64(t.Limit) / 1e12
				all = append(all, Rule{share, limit, name + " ≤ " + text.Limit(limit)})
			}
		}
	}
	return all
}

// rules marks each rule where its limit and its share meet: a curve meets it that passes on the left. The name stands
// where the first curve does not go.
func (c *Chart) rules(d *Distribution) {
	for _, r := range d.Rules {
		at := plotter.XY{X: r.LimitS, Y: min(r.Share, c.y.Max)}
		offset, align := vg.Point{X: 8, Y: -10}, 0.0
		if len(d.Curves) == 1 {
			offset.Y = -23 // below the names of quantiles
		}
		if len(d.Curves) > 0 && d.Curves[0].shareAt(r.LimitS) < r.Share {
			offset, align = vg.Point{X: -8, Y: 4}, 1.0
		}
		c.Add(Dots(Brick, at), Note{
			At: at, Offset: offset, Align: align, Ink: SmallBold(Brick), Text: r.Name, Ground: true, Inside: true,
		})
	}
}

// shareAt returns the share of the samples that are at most x.
func (c *Curve) shareAt(x float64) float64 {
	share := 0.0
	for _, q := range c.Points {
		if q.X > x {
			break
		}
		share = q.Y
	}
	return share
}
