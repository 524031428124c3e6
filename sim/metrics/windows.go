package metrics

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// Windows divides a run into windows of one width, and records of each what a Recorder records of the whole run. A
// latency counts in the window in which the client has it, as on a dashboard: TTFT and queue time with the first token,
// a gap with the token that ends it, TPOT, E2E and whether a request kept a rule when it has ended.
//
// There are at most windowsMax windows, of which each has the buckets of its histograms between its least and its
// greatest value: where a run needs more windows, two become one, and the width doubles.
type Windows struct {
	WindowArguments
	slo      Rules // Rules, and that on Limits
	rules    Rules // slo, and those of Alerts
	attained int   // the rule by which requests are good: that on Limits, or else the first about requests; −1: none
	needs    [NumRuleMetrics]bool
	width    sim.Duration // Width, or a multiple of it
	list     []window
	now      int      // the window that was recorded in last, whose bounds are
	from     sim.Time // this one
	to       sim.Time // and, exclusively, this one; both on the engine's clock
}

// windowsMax bounds the windows of a run.
const windowsMax = 4096

// window is what is recorded of one window.
type window struct {
	of         [NumRuleMetrics]spread
	burst      int64 // gaps of zero between tokens that came together
	arrived    int64 // requests, warm-up included
	answered   int64 // requests that have a first token, or ended without one; warm-up included
	completed  int64 // recorded
	unserved   int64 // recorded requests that were rejected or failed
	unanswered int64 // those of them without a first token
	hidden     int64 // recorded requests that have ended without a visible token
	taskless   int64 // recorded tasks that ended without a result
	good       []int64
}

// WindowArguments say how wide windows are, and what is judged in them.
type WindowArguments struct {
	Width      sim.Duration
	Egress     sim.Duration // from the engine to the client
	Rules      Rules        // of the SLO
	Limits     Limits       // of the SLO on single requests
	Attainment float64      // the share of the requests that must keep Limits
	Alerts     []Alert      // nil: every rule of the SLO is one, over a single window
}

// Alert is a rule over the latest windows that fires when it has been broken for a while.
type Alert struct {
	Rule Rule
	Over sim.Duration
	For  sim.Duration
}

// NewWindows returns windows in which nothing is recorded yet.
func NewWindows(a WindowArguments) *Windows {
	if a.Width < 1 {
		panic("metrics: windows need a width")
	}
	w := &Windows{WindowArguments: a, width: a.Width, now: -1, slo: a.Rules}
	if a.Limits != (Limits{}) {
		w.slo = append(slices.Clone(a.Rules), a.Limits.Rule(a.Attainment))
	}
	w.attained = slices.IndexFunc(w.slo, func(r Rule) bool { return r.Share > 0 })
	if len(w.slo) > len(a.Rules) {
		w.attained = len(a.Rules)
	}
	w.rules = slices.Clone(w.slo)
	for _, alert := range a.Alerts {
		w.rules = append(w.rules, alert.Rule)
	}
	for i := range w.rules {
		if w.rules[i].Share == 0 {
			w.needs[w.rules[i].Terms[0].Metric] = true
		}
	}
	return w
}

// Rule returns the rule that a share of the requests keep the limits.
func (l Limits) Rule(share float64) Rule {
	r := Rule{Share: share}
	for _, t := range []Term{{Metric: RuleTTFT, Limit: l.TTFT}, {Metric: RuleTPOT, Limit: l.TPOT},
		{Metric: RuleE2E, Limit: l.E2E}, {Metric: RuleQueue, Limit: l.Queue}, {Metric: RuleTTFO, Limit: l.TTFO}} {
		if t.Limit > 0 {
			r.Terms = append(r.Terms, t)
		}
	}
	return r
}

// at returns the window of an instant of the engine's clock.
func (w *Windows) at(t sim.Time) *window {
	if w.now >= 0 && t >= w.from && t < w.to {
		return &w.list[w.now]
	}
	seen := t.Add(w.Egress)
	for int64(seen)/int64(w.width) >= windowsMax {
		w.double()
	}
	w.now = int(int64(seen) / int64(w.width))
	for len(w.list) <= w.now {
		w.list = append(w.list, window{})
	}
	w.from = sim.Time(int64(w.now) * int64(w.width)).Add(-w.Egress)
	w.to = w.from.Add(w.width)
	return &w.list[w.now]
}

// arrivedAt returns the window of an instant of the clients' clock, of a request that has ended since.
func (w *Windows) arrivedAt(t sim.Time) *window {
	if i := int(int64(t) / int64(w.width)); i < len(w.list) {
		return &w.list[i]
	}
	return w.at(t.Add(-w.Egress))
}

// double makes one window of two.
func (w *Windows) double() {
	for i := range w.list {
		if i%2 == 1 {
			w.list[i/2].merge(&w.list[i])
		} else {
			w.list[i/2] = w.list[i]
		}
	}
	n := (len(w.list) + 1) / 2
	clear(w.list[n:])
	w.list, w.width, w.now = w.list[:n], 2*w.width, -1
}

// merge adds what o has recorded; it may change the width of o.
func (w *Windows) merge(o *Windows) {
	for w.width < o.width {
		w.double()
	}
	for o.width < w.width {
		o.double()
	}
	for len(w.list) < len(o.list) {
		w.list = append(w.list, window{})
	}
	for i := range o.list {
		w.list[i].merge(&o.list[i])
	}
}

// align gives w the windows of o, which has recorded all that w has.
func (w *Windows) align(o *Windows) {
	for w.width < o.width {
		w.double()
	}
	for len(w.list) < len(o.list) {
		w.list = append(w.list, window{})
	}
}

func (x *window) merge(o *window) {
	for i := range x.of {
		x.of[i].merge(&o.of[i])
	}
	x.burst += o.burst
	x.arrived, x.answered = x.arrived+o.arrived, x.answered+o.answered
	x.completed, x.unserved = x.completed+o.completed, x.unserved+o.unserved
	x.unanswered += o.unanswered
	x.hidden, x.taskless = x.hidden+o.hidden, x.taskless+o.taskless
	if x.good == nil {
		x.good = o.good
		return
	}
	for i, n := range o.good {
		x.good[i] += n
	}
}

// steps records n steps of g, from start on, that each emitted so many tokens.
func (w *Windows) steps(start sim.Time, g *sim.Segment, n int, tokens uint64) {
	x := w.at(start.Add(g.First))
	if n == 1 {
		x.of[RuleITL].add(g.First, tokens)
		return
	}
	if start.Add(g.Span(n)) < w.to {
		x.of[RuleITL].addRun(g, n, tokens)
		return
	}
	k := g.Ended(w.to.Sub(start) - 1) // at least the first: x is its window
	x.of[RuleITL].addRun(g, k, tokens)
	rest := g.Tail(k)
	w.steps(start.Add(g.Span(k)), &rest, n-k, tokens)
}

// first records a first token.
func (w *Windows) first(t sim.Time, ttft, queue sim.Duration) {
	x := w.at(t)
	x.of[RuleTTFT].add(ttft, 1)
	if w.needs[RuleQueue] {
		x.of[RuleQueue].add(queue, 1)
	}
}

// visible records a first token that is no reasoning.
func (w *Windows) visible(t sim.Time, ttfo sim.Duration) {
	if w.needs[RuleTTFO] {
		w.at(t).of[RuleTTFO].add(ttfo, 1)
	}
}

// lost records the end of a request that was rejected or has failed.
func (w *Windows) lost(at sim.Time, answered bool) {
	x := w.at(at)
	x.unserved++
	if !answered {
		x.unanswered++
	}
}

// done records the end of a completed request of one token or several.
func (w *Windows) done(at sim.Time, several bool, l Limits) {
	x := w.at(at)
	x.completed++
	if several && w.needs[RuleTPOT] {
		x.of[RuleTPOT].add(l.TPOT, 1)
	}
	if w.needs[RuleE2E] {
		x.of[RuleE2E].add(l.E2E, 1)
	}
	for i := range w.rules {
		if r := &w.rules[i]; r.Share > 0 && r.MetBy(l) {
			if x.good == nil {
				x.good = make([]int64, len(w.rules))
			}
			x.good[i]++
		}
	}
}

// waited counts a request that has ended among those that arrived and, unless it has a first token, were answered.
func (w *Windows) waited(r *sim.Request, at sim.Time, o sim.Outcome) {
	w.arrivedAt(r.Arrival).arrived++
	if r.Emitted == 0 && o != sim.Unfinished {
		w.at(at).answered++
	}
}
