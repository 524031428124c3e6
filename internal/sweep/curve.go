package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
)

// Curve is what one deployment does under rising load. Loads are in the unit of the sweep's.
type Curve struct {
	Of            []Setting   `json:"of"` // the values of the other axes
	Loads         []LoadPoint `json:"loads"`
	SustainedTo   *float64    `json:"sustained_to,omitempty"`   // the highest load below saturation; absent: none is
	SaturatedFrom *float64    `json:"saturated_from,omitempty"` // the lowest from which on all saturate; absent: none does
	Knee          *float64    `json:"knee,omitempty"`           // where power is most; absent: at either end of the loads
	CapacityPerS  *float64    `json:"capacity_per_s,omitempty"` // requests completed at the most, if it saturates
	SLOTo         *float64    `json:"slo_to,omitempty"`         // the highest load at which, and below, the SLO is met
	Sentences     []string    `json:"sentences"`
}

// LoadPoint is one load of a curve: means over its seeds.
type LoadPoint struct {
	Load      float64      `json:"load"`
	Point     int          `json:"point"`
	TTFT      CurveLatency `json:"ttft_s"`
	ITL       CurveLatency `json:"itl_s"`
	PerS      stats.Number `json:"requests_per_s"` // completed
	TokensPS  stats.Number `json:"output_tokens_per_s"`
	GoodPerS  stats.Number `json:"goodput_per_s"`
	Attained  stats.Number `json:"slo_attainment"`
	Growth    stats.Number `json:"in_flight_growth"`
	Met       *bool        `json:"slo_met,omitempty"` // absent without an SLO
	Saturated bool         `json:"saturated"`
	Filling   bool         `json:"filling"` // its runs end before their sessions are all there, or cannot keep up with them
}

// CurveLatency is the quantiles of a latency that a load curve shows.
type CurveLatency struct {
	P50 stats.Number `json:"p50"`
	P95 stats.Number `json:"p95"`
	P99 stats.Number `json:"p99"`
}

// curvesMax is how many curves a result has; a sweep of more is one to read by its table.
const curvesMax = 200

// curves returns a curve for each combination of the other axes; none: no axis is a load, or there are too many.
func (r *Result) curves() []Curve {
	if r.Load == nil || r.Points/len(r.Axes[r.Load.Axis].Values) > curvesMax {
		return nil
	}
	var all []Curve
	places := map[string]int{}
	for point := range r.Points {
		of := r.settings(point, r.Load.Axis)
		name := named(of)
		i, ok := places[name]
		if !ok {
			i = len(all)
			places[name] = i
			all = append(all, Curve{Of: of})
		}
		if r.means[point] != nil {
			all[i].Loads = append(all[i].Loads, r.loadPoint(point))
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Loads, func(a, b LoadPoint) int { return cmp.Compare(a.Load, b.Load) })
		r.mark(&all[i])
	}
	return all
}

// saturates reports whether a point is saturated: by most of its seeds, or because more is offered than is completed.
func (r *Result) saturates(point int) bool { return r.mean(point, "saturated") > 0.5 || r.over[point] }

// fills reports whether most runs of a point end before their sessions or tasks are all there, or cannot keep up with
// them: they say neither that such a load is sustained nor that it is not.
func (r *Result) fills(point int) bool { return r.mean(point, "filling") > 0.5 && !r.saturates(point) }

// loadPoint is a point as its curve has it. It is saturated if most of its seeds are, and meets its SLO if most do.
func (r *Result) loadPoint(point int) LoadPoint {
	of := func(column string) stats.Number { return number(r.mean(point, column)) }
	quantiles := func(latency string) CurveLatency {
		return CurveLatency{of(latency + "_p50_s"), of(latency + "_p95_s"), of(latency + "_p99_s")}
	}
	axis := r.Load.Axis
	p := LoadPoint{
		Load: r.Axes[axis].number(at(r.Axes, point)[axis]), Point: point, TTFT: quantiles("ttft"), ITL: quantiles("itl"),
		PerS: of("requests_per_s"), TokensPS: of("output_tokens_per_s"), GoodPerS: of("goodput_per_s"),
		Attained: of("slo_attainment"), Growth: of("in_flight_growth"), Saturated: r.saturates(point),
		Filling: r.fills(point),
	}
	if met := r.mean(point, "slo_met"); !math.IsNaN(met) {
		yes := met > 0.5
		p.Met = &yes
	}
	return p
}

// mark finds knee, saturation and what the SLO allows, and says them in words.
func (r *Result) mark(c *Curve) {
	if len(c.Loads) == 0 {
		c.Sentences = []string{"No load could be run."}
		return
	}
	r.overCapacity(c)
	first := len(c.Loads) // that saturates, with all above it
	for first > 0 && c.Loads[first-1].Saturated {
		first--
	}
	if first < len(c.Loads) {
		c.SaturatedFrom = &c.Loads[first].Load
	}
	reported := c.reported()
	if until := min(first, reported); until > 0 {
		c.SustainedTo = &c.Loads[until-1].Load
	}
	c.Knee = r.knee(c.Loads[:reported])
	for i := range c.Loads[:reported] {
		if met := c.Loads[i].Met; met == nil || !*met || c.Loads[i].Saturated { // it would miss it in a longer run
			break
		}
		c.SLOTo = &c.Loads[i].Load
	}
	c.Sentences = r.sentences(c)
}

// reported counts the lowest loads whose runs are long enough to say what becomes of them: all, or those below the
// first that ends before its sessions are all there.
func (c *Curve) reported() int {
	if i := slices.IndexFunc(c.Loads, func(p LoadPoint) bool { return p.Filling }); i >= 0 {
		return i
	}
	return len(c.Loads)
}

// beyond is how much more than a deployment completes where it saturates must be offered to be too much. A run is short
// of what growing batches come to.
const beyond = 1.05

// overCapacity finds what the deployment completes at the most, if it saturates by the drift test anywhere. A load that
// offers more than that saturates too, though the requests under way may not have grown enough in a short run to show
// it. Where it saturates it may complete less than below: prefixes that queues push out of the cache are read again.
func (r *Result) overCapacity(c *Curve) {
	if !slices.ContainsFunc(c.Loads, func(p LoadPoint) bool { return p.Saturated }) {
		return
	}
	capacity := 0.0
	for i := range c.Loads {
		capacity = max(capacity, float64(c.Loads[i].PerS))
	}
	if capacity == 0 {
		return
	}
	c.CapacityPerS = &capacity
	for i := range c.Loads {
		p := &c.Loads[i]
		if r.mean(p.Point, "offered_per_s") > beyond*capacity {
			p.Saturated, p.Filling, r.over[p.Point] = true, false, true
		}
	}
}

// knee returns the load with most power, completed requests/s per second of mean E2E: below it more load costs little
// time, above it much (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer
// communications", ICC 1979). Of an M/M/1 queue that is half of what it can serve.
func (r *Result) knee(loads []LoadPoint) *float64 {
	if len(loads) < 3 {
		return nil
	}
	best, most := 0, 0.0
	for i := range loads {
		p := &loads[i]
		if power := float64(p.PerS) / r.mean(p.Point, "e2e_mean_s"); power > most {
			best, most = i, power
		}
	}
	if best == 0 || best == len(loads)-1 {
		return nil // it may be anywhere beyond what was tried
	}
	return &loads[best].Load
}

// sentences say what a curve shows.
func (r *Result) sentences(c *Curve) []string {
	unit := r.Load.Unit
	say := func(x float64) string { return text.Short(x) + " " + unit }
	var all []string
	switch open, reported := r.Axes[r.Load.Axis].Key != keyConcurrency, c.reported(); {
	case !open:
	case reported < len(c.Loads):
		all = append(all, c.tooShort(reported, strings.TrimSuffix(unit, "/s"), say))
	case c.SaturatedFrom == nil:
		all = append(all, fmt.Sprintf("No load tried saturates it: up to %s the requests under way do not grow.",
			say(*c.SustainedTo)))
	case c.SustainedTo == nil:
		all = append(all, fmt.Sprintf("Every load saturates it: at %s the requests under way grow already.",
			say(*c.SaturatedFrom)))
	default:
		all = append(all, fmt.Sprintf("Saturates between %s and %s: above, the requests under way grow as long as "+
			"requests arrive; it completes at most %s requests/s.", text.Short(*c.SustainedTo), say(*c.SaturatedFrom),
			text.Significant(*c.CapacityPerS)))
	}
	if c.Knee != nil {
		i := slices.IndexFunc(c.Loads, func(p LoadPoint) bool { return p.Load == *c.Knee })
		all = append(all, fmt.Sprintf("Knee at %s: beyond it E2E rises faster than throughput; TTFT p95 is %s there, "+
			"ITL p95 %s.", say(*c.Knee), text.Duration(float64(c.Loads[i].TTFT.P95)),
			text.Duration(float64(c.Loads[i].ITL.P95))))
	}
	switch {
	case c.Loads[0].Met == nil:
	case c.SLOTo == nil && (c.Loads[0].Saturated || c.Loads[0].Filling) && *c.Loads[0].Met:
	case c.SLOTo == nil:
		all = append(all, fmt.Sprintf("Misses the SLO at %s already.", say(c.Loads[0].Load)))
	default:
		all = append(all, fmt.Sprintf("Meets the SLO up to %s.", say(*c.SLOTo)))
	}
	if i := slices.IndexFunc(c.Loads, func(p LoadPoint) bool {
		return p.Saturated && p.Met != nil && *p.Met
	}); i >= 0 {
		all = append(all, fmt.Sprintf("At %s the runs end before the queue that grows breaks the SLO: with more requests "+
			"they would miss it.", say(c.Loads[i].Load)))
	}
	return all
}

// tooShort says from which load on, the one at a place, runs end before their sessions or tasks are all there. What
// they send by then is less than in the long run, so that nothing grows however little is completed.
func (c *Curve) tooShort(place int, series string, say func(float64) string) string {
	s := fmt.Sprintf("At %s the runs end before their %s are all there, or cannot keep up with them: whether it sustains "+
		"that, longer runs say (workload.requests or duration_s).", say(c.Loads[place].Load), series)
	if c.SustainedTo != nil {
		s = fmt.Sprintf("Up to %s the requests under way do not grow. ", say(*c.SustainedTo)) + s
	}
	if c.SaturatedFrom != nil {
		s += fmt.Sprintf(" From %s on the requests under way grow; it completes at most %s requests/s.",
			say(*c.SaturatedFrom), text.Significant(*c.CapacityPerS))
	}
	return s
}
