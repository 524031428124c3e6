package sizing

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// outcome is what a run of a deployment under a load came to.
type outcome struct {
	Step       int // of the grid
	Rate       float64
	Carried    bool
	Attainment float64
	Goodput    float64 // requests/s that keep the SLO: that share of the rate
	Throughput float64 // requests/s that end, from the first measured arrival to the last token
	Perfect    float64 // requests/s, of the same requests packed perfectly
	Each       float64 // requests for one of the rate, which may be of sessions
	Speed      float64 // tokens/s of the median request
	E2ES       float64 // of the mean request
	TTFT, TPOT Percentile
	Rules      []metrics.Verdict
	Verdicts   []metrics.Verdict // of the limits as a rule, of the rules, and of waits for a transfer
	Within     float64           // the least of the shares within the limits, as a share of what is asked for
	Missed     [3]float64        // shares of requests over each limit: TTFT, TPOT, E2E
	Refused    float64
	Busy       []float64 // busy share by pool
	Batch      []float64 // mean decoding sequences of a step by pool
	Work       work
	Bound      metrics.Bound
	Lengthened int64     // requests of the run where they are more than was ordered
	Spending   *Spending // nil: neither power nor price is known, or nothing was emitted
}

// style says what a run is for.
type style uint8

const (
	verdict  style = iota // does it sustain the load: a run that does not ends early
	whole                 // to the end
	portrait              // and what its steps are made of
)

// simulate runs d at a step of the grid, if no other part of the search has done so yet.
func (z *sizer) simulate(d *deployment, step int, requests int64, seed uint64, purpose style) (outcome, error) {
	if z.load.Kind == load.Trace {
		requests, seed = 0, z.base.Seed // it is replayed whole, and under every seed alike
	}
	key := simulation{d.is.Name, step, requests, seed, purpose}
	z.mu.Lock()
	s := z.simulated[key]
	if s == nil {
		s = &simulated{}
		z.simulated[key] = s
	}
	z.mu.Unlock()
	s.once.Do(func() {
		z.runs.Add(1)
		o := order{Topology: d.topology, Setting: d.setting, Replicas: d.replicas, RatePerS: z.grid.rate(step),
			SessionS: z.load.SessionS, Requests: requests, Seed: seed, Purpose: purpose}
		if z.asks == nil {
			s.outcome, s.err = z.run(d, &o)
		} else {
			s.outcome, s.err = z.ask(&o)
		}
		s.Step = step
		z.mu.Lock()
		z.longest = max(z.longest, s.Lengthened)
		z.mu.Unlock()
	})
	return s.outcome, s.err
}

// simulation names a run of a search, and simulated is what it came to.
type (
	simulation struct {
		name     string
		step     int
		requests int64
		seed     uint64
		purpose  style
	}
	simulated struct {
		once sync.Once
		outcome
		err error
	}
)

// answersLong is how many times as long as the mean answer a run must be before more requests under way at its end than
// at its half say that they pile up. A run begins empty: with lognormal outputs of a coefficient of variation of 1, one
// in twenty answers takes 2.9 times the mean, and half of the run must be longer than that.
const answersLong = 8

// run runs d as it was ordered, or longer where answers take too long for a run of so many requests to say whether
// they pile up.
func (z *sizer) run(d *deployment, r *order) (outcome, error) {
	x, grows, err := z.runOnce(d, r)
	if err != nil || !grows || z.load.Kind == load.Sessions { // runs of sessions are long enough
		return x, err
	}
	longer := *r
	longer.Requests = int64(min(requestsMax, math.Ceil(answersLong*x.E2ES*x.Rate*x.Each)))
	if longer.Requests <= r.Requests {
		return x, nil
	}
	x, _, err = z.runOnce(d, &longer)
	x.Lengthened = longer.Requests
	return x, err
}

// requestsMax is how many requests a run has at most that is longer than the study says.
const requestsMax = 1_000_000

// runOnce runs d as it was ordered, and reports whether all that keeps it from sustaining the load is that requests
// under way grow.
func (z *sizer) runOnce(d *deployment, r *order) (x outcome, grows bool, err error) {
	x = outcome{Rate: r.RatePerS}
	if err := z.ctx.Err(); err != nil {
		return x, false, err
	}
	b, err := build.NewUntil(z.ctx, d.scenario(z.load, x.Rate, r.Requests, r.Seed))
	if err != nil {
		return x, false, fmt.Errorf("%s: %w", d.is.Name, err)
	}
	defer b.Close()
	all := int64(b.Requests)
	from := z.load.Unmeasured(all)
	j := &judge{portrait: r.Purpose == portrait, from: int32(from), until: z.load.Until(all, x.Rate), began: sim.Forever}
	j.Ingress, j.Egress, j.Thinks = b.Config.Ingress, b.Config.Egress, z.slo.asks(metrics.RuleTTFO)
	b.FollowTasks(j, nil)
	j.demand(&z.slo, all-from, r.Purpose == verdict)
	config := b.Config
	config.Sink, config.TraceEvery = j, 0
	j.follow(b.Wire().Stream(), &config)
	config.Cancelled = j.broken
	k, g := newGrowth(z.load, all), newGoing(b.SpanS, float64(from)/max(1, b.Requests))
	g.Observe(&config)
	c, err := run.Drive(z.ctx, config, k.watch)
	switch {
	case z.ctx.Err() != nil:
		return x, false, z.ctx.Err()
	case err != nil:
		return x, false, fmt.Errorf("%s: %w", d.is.Name, err)
	case j.broken() && r.Purpose == verdict:
		return x, false, nil
	case b.SourceErr() != nil:
		return x, false, b.SourceErr()
	case c.Overran():
		return x, false, nil // a load that takes longer than the clock is not sustained
	}
	x.fill(j, c, &z.slo)
	if g.spanS() > 0 {
		for i := range x.Busy {
			x.Busy[i] = g.busy(i)
		}
	}
	x.Spending = spendingOf(b, c, g, j.Recorded)
	x.Goodput *= z.load.Turns // it is of requests, whatever the rate is of
	if x.Verdicts != nil && d.disaggregates() {
		x.transferred(j, &z.slo)
	}
	x.Each = b.Requests / b.SpanS / x.Rate
	x.Perfect, _ = d.perfect(&x.Work, d.replicas, true)
	x.Carried = x.Carried && x.Rate*x.Each <= x.Perfect // more than can be done was done only as long as the run was short
	if x.Carried {
		unhindered, err := z.unhindered(d, k, r)
		if err != nil {
			return x, false, err
		}
		x.Carried = k.sustained(unhindered)
		grows = !x.Carried
	}
	return x, grows, nil
}

// unhindered returns how long the sessions of a run take between the marks of k if every answer comes at once; 0: the
// load is not of sessions, or has no marks.
func (z *sizer) unhindered(d *deployment, k *growth, r *order) (sim.Duration, error) {
	if z.load.Kind != load.Sessions || k == nil {
		return 0, nil
	}
	b, err := build.NewUntil(z.ctx, d.scenario(z.load, r.RatePerS, r.Requests, r.Seed))
	if err != nil {
		return 0, err
	}
	defer b.Close()
	return load.Unhindered(b.Config.Source, k.marks[0], k.marks[1]), nil
}

// fill takes the results of a run that has ended.
func (x *outcome) fill(j *judge, c *sim.Cluster, o *objective) {
	x.Work = j.work
	limits, share := o.limits, o.share
	n := float64(j.Recorded + j.Unserved + j.Outcomes[sim.Unfinished])
	span := j.LastToken.Sub(j.began).Seconds()
	if n == 0 || !(span > 0) {
		return
	}
	x.Attainment = float64(j.Attained) / n
	x.Rules = j.Verdicts()[:len(o.rules)]
	x.Carried = x.Attainment >= share-1e-12 && !slices.ContainsFunc(x.Rules, unmet)
	x.judged(j, o)
	x.E2ES = j.E2E.MeanS()
	x.Goodput, x.Throughput = x.Attainment*x.Rate, float64(j.Recorded)/span
	x.TTFT = percentileOf(&j.TTFT, share)
	if j.TPOT.N() > 0 {
		x.TPOT = percentileOf(&j.TPOT, share)
		if x.TPOT.P50 > 0 {
			x.Speed = 1 / x.TPOT.P50
		}
	}
	for i, of := range []struct {
		hist  *metrics.Hist
		limit sim.Duration
	}{{&j.TTFT, limits.TTFT}, {&j.TPOT, limits.TPOT}, {&j.E2E, limits.E2E}} {
		if of.limit > 0 {
			x.Missed[i] = above(of.hist, of.limit.Seconds()) / n
		}
	}
	x.Refused = float64(j.Unserved) / n
	for i := range c.Pools() {
		t := c.PoolTotals(i)
		x.Busy = append(x.Busy, t.BusyS/max(t.UpS, 1e-12))
		x.Batch = append(x.Batch, float64(t.DecodeSum)/max(1, float64(t.Steps)))
	}
	x.Bound = j.Bound()
}

// judged says what became of every rule, the limits among them, and how near the worst of them is.
func (x *outcome) judged(j *judge, o *objective) {
	x.Within = 1
	if r := o.shareRule(); r != nil {
		x.Verdicts = append(x.Verdicts, r.Judge(x.Attainment))
		x.Within = min(1, x.Attainment/o.share)
	}
	for i := range x.Rules {
		v, r := &x.Rules[i], &o.rules[i]
		x.Verdicts = append(x.Verdicts, *v)
		share := min(1, v.Value/v.Limit)
		if !v.Share {
			share = min(1, v.Limit/v.Value)
			if t := r.Terms[0]; t.At > 0 {
				share = min(1, shareWithin(j.hist(t.Metric), t.Limit.Seconds())/(float64(t.At)/100))
			}
		}
		if v.Broken() {
			x.Within = min(x.Within, share)
		}
	}
}

// hist returns the distribution of a latency.
func (j *judge) hist(m metrics.Metric) *metrics.Hist {
	if m == metrics.RuleTask {
		if j.Tasks == nil {
			return new(metrics.Hist)
		}
		return &j.Tasks.Time
	}
	return [...]*metrics.Hist{&j.TTFT, &j.ITL, &j.TPOT, &j.E2E, &j.Queue, &j.TTFO}[m]
}

func shareWithin(h *metrics.Hist, limitS float64) float64 {
	if h.N() == 0 {
		return 1
	}
	return 1 - above(h, limitS)/float64(h.N())
}

// transferred holds the wait for the second token to the limit of the first, where the SLO has a limit on the gaps of
// all requests and none on those of one. A decode pool that cannot keep up lets every request wait once, after its
// first token: one long gap among hundreds, which neither TTFT nor a percentile of pooled gaps shows.
func (x *outcome) transferred(j *judge, o *objective) {
	r, at := o.transferRule()
	if r == nil {
		return
	}
	h := &j.Stalls[metrics.Transferred]
	v := metrics.Verdict{Rule: "gap at the KV transfer " + at.String() + " <= " + text.Limit(r.Limit.Seconds()),
		Limit: r.Limit.Seconds(), Met: true}
	if h.N() > 0 {
		v.Value = h.QuantileS(float64(at) / 100)
		v.Met = v.Value <= v.Limit
	}
	v.Margin = (v.Limit - v.Value) / v.Limit
	x.Verdicts = append(x.Verdicts, v)
	x.Carried = x.Carried && v.Met
	if !v.Met {
		x.Within = min(x.Within, shareWithin(h, v.Limit)/(float64(at)/100))
		x.Rules = append(slices.Clip(x.Rules), v) // what breaks names it too
	}
}

// transferRule returns the limit on the wait for a transfer and the percentile that it is about; nil: there is none.
func (o *objective) transferRule() (limit *metrics.Term, at metrics.Statistic) {
	if o.limits.TPOT > 0 || o.limits.E2E > 0 {
		return nil, 0
	}
	for i := range o.rules {
		for k := range o.rules[i].Terms {
			switch t := &o.rules[i].Terms[k]; t.Metric {
			case metrics.RuleTPOT, metrics.RuleE2E:
				return nil, 0
			case metrics.RuleITL:
				at = max(at, t.At)
			case metrics.RuleTTFT:
				if limit == nil || t.Limit > limit.Limit {
					limit = t
				}
			}
		}
	}
	if limit == nil && o.limits.TTFT > 0 {
		limit = &metrics.Term{Metric: metrics.RuleTTFT, Limit: o.limits.TTFT}
	}
	if at <= 0 {
		return nil, 0
	}
	return limit, at
}

// percentileOf describes a distribution, for an SLO of a share of the requests.
func percentileOf(h *metrics.Hist, share float64) Percentile {
	return Percentile{
		P50: h.QuantileS(0.5), P90: h.QuantileS(0.9), P95: h.QuantileS(0.95), P99: h.QuantileS(0.99), At: h.QuantileS(share),
	}
}

// above counts the samples over a limit, to the width of a bucket.
func above(h *metrics.Hist, limitS float64) float64 {
	n := int64(0)
	h.Each(func(seconds float64, count int64) {
		if seconds > limitS {
			n += count
		}
	})
	return float64(n)
}

// sendable says whether the workload of s can be sent at a rate, to any number of replicas.
func sendable(s *configs.Scenario) error {
	w, known := &s.Workload, map[string]bool{}
	for i := range s.Pools {
		if p := &s.Pools[i]; known[p.Role] || p.Role == configs.RoleEncode {
			return fmt.Errorf("scenario %q has a pool %q of role %s on %s; expected at most one each of serve, prefill and "+
				"decode", s.Name, p.Name, p.Role, p.GPU)
		}
		known[s.Pools[i].Role] = true
		if p := &s.Pools[i]; p.ReservedReplicas+p.SpotReplicas > 0 {
			return fmt.Errorf("scenario %q has reserved or spot replicas in pool %q, and a study says how many replicas there "+
				"are; expected reserved_replicas and spot_replicas null, and gpu: {from: %s, price_per_hour: …} for what one "+
				"costs in the mean", s.Name, p.Name, p.GPU.Name())
		}
	}
	switch {
	case len(s.Autoscale) > 0 || s.RoleSwitch != nil:
		return fmt.Errorf(
			"scenario %q has replicas that come and go, and a study says how many there are; expected autoscale null and "+
				"role_switch null", s.Name)
	case w.ClosedLoop != nil:
		return fmt.Errorf(
			"scenario %q has a closed loop, whose rate is a result, and a study varies the rate; expected "+
				"workload.arrivals, such as {process: poisson, rate: 8}, or workload.trace", s.Name)
	case w.Precision > 0:
		return s.Errorf("workload.precision", "%g lengthens a run by itself, and runs of a study are as long as it says; "+
			"expected null", w.Precision)
	case w.TimeoutS > 0 || w.Cancel.Probability > 0:
		return fmt.Errorf(
			"scenario %q has clients that cancel, which relieves a deployment that is too slow; expected workload.timeout_s "+
				"null and cancel.probability 0", s.Name)
	}
	return nil
}
