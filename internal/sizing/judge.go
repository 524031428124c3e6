package sizing

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// objective is the SLO of a study: limits that a share of the requests must keep, and rules, all of which must hold.
type objective struct {
	asked  configs.StudySLO
	limits metrics.Limits
	share  float64
	rules  metrics.Rules
}

// limit takes the SLO of the study, or that of the scenario if it has none.
func (z *sizer) limit() error {
	l, base := z.study.SLO, &z.base.SLO
	if l.Empty() {
		if base.ITLP99MS > 0 {
			return z.base.Errorf("slo.itl_p99_ms",
				"%g is judged on traced requests, in run --view alone; expected a rule such as slo.rules: ['itl p99 <= %gms'], "+
					"or null", base.ITLP99MS, base.ITLP99MS)
		}
		l = configs.StudySLO{Rules: base.Rules, TTFTMS: base.TTFTMS, TPOTMS: base.TPOTMS, E2EMS: base.E2EMS}
	}
	z.slo = objective{
		asked: l, limits: build.Limits(l.TTFTMS, l.TPOTMS, l.E2EMS, l.Rules), rules: l.Rules.Rules(),
		share: cmp.Or(z.study.Attainment, configs.DefaultAttainment),
	}
	if !l.OfRequests() { // the share is that of the rule which the limits are from
		for i := range z.slo.rules {
			if r := &z.slo.rules[i]; r.Share > 0 {
				z.slo.share = r.Share
				break
			}
		}
	}
	if z.slo.asks(metrics.RuleTask) && !z.base.Workload.Tasks() {
		return z.study.Errorf("slo", "a rule is about task, and the workload has no agents; expected workload.agents, or a "+
			"rule on e2e")
	}
	waits := func(r metrics.Rule) bool {
		return slices.ContainsFunc(r.Terms, func(t metrics.Term) bool {
			return t.Metric == metrics.RuleTTFT || t.Metric == metrics.RuleE2E || t.Metric == metrics.RuleQueue ||
				t.Metric == metrics.RuleTTFO || t.Metric == metrics.RuleTask
		})
	}
	if l.TTFTMS == 0 && l.E2EMS == 0 && !slices.ContainsFunc(z.slo.rules, waits) {
		return z.study.Errorf("slo",
			"neither ttft_ms nor e2e_ms is given, here or in the scenario, nor a rule on ttft, e2e or queue; expected one of "+
				"them: without, a queue that grows for ever would pass")
	}
	return nil
}

// asks reports whether some rule is about a metric.
func (o *objective) asks(m metrics.Metric) bool {
	return slices.ContainsFunc(o.rules, func(r metrics.Rule) bool {
		return slices.ContainsFunc(r.Terms, func(t metrics.Term) bool { return t.Metric == m })
	})
}

// judge is the sink of a run. The definitions of what it measures are the Recorder's; it records the measured requests
// alone. Tokens between it records for a portrait, or if a rule is about the gaps between them, which are then those
// after the first token of a measured request.
type judge struct {
	metrics.Recorder
	portrait bool
	gaps     bool     // a rule is about ITL
	started  bool     // a measured request has a first token
	from     int32    // requests before it are not measured
	until    sim.Time // nor are those that arrive later, when no session begins any more
	missMax  int64    // misses of the limits that end the run; negative: none do
	stops    []int64  // the same by rule
	began    sim.Time // the first measured request was sent
	work     work
}

var (
	_ sim.Sink   = (*judge)(nil)
	_ sim.Tracer = (*judge)(nil)
)

// roundingShare is how much longer than its limit a latency must be to count as over it for the histogram too.
const roundingShare = 1.002

// demand makes j judge an objective, for so many measured requests. A run that may end early does so when too many of
// them miss the limits, or a rule about requests; a limit on a percentile is such a rule too.
func (j *judge) demand(o *objective, requests int64, early bool) {
	j.SLO, j.Rules, j.missMax = o.limits, slices.Clip(o.rules), -1
	j.gaps = slices.ContainsFunc(o.rules, func(r metrics.Rule) bool { return r.Terms[0].Metric == metrics.RuleITL })
	if !early {
		return
	}
	misses := func(share float64) int64 { return int64(float64((1-share)*float64(requests)) + 1e-9) }
	j.missMax = misses(o.share)
	for _, r := range o.rules {
		most := int64(-1)
		switch t := r.Terms[0]; {
		case r.Share > 0:
			most = misses(r.Share)
		case t.Metric != metrics.RuleITL && t.Metric != metrics.RuleTask && t.At > 0:
			t.At, t.Limit = metrics.Each, sim.Duration(roundingShare*float64(t.Limit))
			r = metrics.Rule{Share: float64(o.rules[len(j.stops)].Terms[0].At) / 100, Terms: []metrics.Term{t}}
			most = misses(r.Share)
		}
		j.Rules, j.stops = append(j.Rules, r), append(j.stops, most)
	}
}

// First implements sim.Sink.
func (j *judge) First(r *sim.Request) {
	if !j.measures(r) {
		if j.Stream != nil {
			j.Stream.First(r)
		}
		return
	}
	if !j.started && j.Stream != nil {
		j.Stream.Warmup = r.First
	}
	j.started = true
	j.Recorder.First(r)
}

// follow makes j follow the chunks that clients receive, if a rule is about the gaps between them and they are more
// than what a step emits.
func (j *judge) follow(stream views.Stream, config *sim.Config) {
	if j.gaps && !stream.Whole() {
		j.Stream, config.TraceEvery = metrics.NewChunks(stream.Interval), 1
		j.Stream.Warmup = sim.Forever
	}
}

// Tokens implements sim.Tracer.
func (j *judge) Tokens(r *sim.Request, _ int32, start sim.Time, g *sim.Segment, n int) {
	if j.Stream != nil {
		j.Stream.Tokens(r, start, g, n)
	}
}

// Delayed implements sim.Tracer.
func (j *judge) Delayed(r *sim.Request, _ int32, _, t sim.Time) {
	if j.Stream != nil {
		j.Stream.One(r, t)
	}
}

// Accepted implements sim.Tracer.
func (j *judge) Accepted(r *sim.Request, _ int32, t sim.Time, n int) {
	if j.Stream != nil {
		j.Stream.Accepted(r, t, n)
	}
}

// measures reports whether a request counts.
func (j *judge) measures(r *sim.Request) bool { return r.ID >= j.from && r.Arrival <= j.until }

// records reports whether tokens are recorded now.
func (j *judge) records() bool {
	if j.gaps {
		return j.started
	}
	return j.portrait
}

// Run implements sim.Sink.
func (j *judge) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	if j.records() {
		j.Recorder.Run(in, start, g, n, tokens)
	}
}

// Paused implements sim.Sink.
func (j *judge) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	if j.records() {
		j.Recorder.Paused(in, since, start, g, tokens)
	}
}

// Burst implements sim.Sink.
func (j *judge) Burst(in *sim.Instance, t sim.Time, tokens int) {
	if j.gaps && j.started {
		j.Recorder.Burst(in, t, tokens)
	}
}

// Gap implements sim.Sink.
func (j *judge) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	switch {
	case j.gaps && j.started:
		j.Recorder.Gap(in, r, t, c)
	case j.Stream != nil:
		j.Stream.One(r, t)
	}
}

// Done implements sim.Sink.
func (j *judge) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	if !j.measures(r) {
		if j.Stream != nil {
			j.Stream.Done(r, at, o)
		}
		return
	}
	j.began = min(j.began, r.Arrival)
	j.Recorder.Done(r, at, o)
	j.work.add(r)
}

// Task records a task that began among the measured requests, or later.
func (j *judge) Task(t *metrics.Task) {
	if t.Begun >= j.began && t.Begun <= j.until {
		j.Recorder.Task(t)
	}
}

// broken reports whether so many requests have missed the SLO that the load is not sustained, whatever becomes of the
// others.
func (j *judge) broken() bool {
	if j.missMax < 0 {
		return false
	}
	if j.Recorded-j.Attained+j.Unserved > j.missMax {
		return true
	}
	rules := len(j.Rules) - len(j.stops)
	for i, most := range j.stops {
		if most >= 0 && j.Missed(rules+i) > most {
			return true
		}
	}
	return false
}

// unmet reports whether a rule does not hold, or no request can tell.
func unmet(v metrics.Verdict) bool { return !v.Met }
