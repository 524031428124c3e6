package headroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

const (
	shortMax  = 4000    // requests of a short run, a quarter of which is not measured
	shortMin  = 1000    // no fewer, even if the run has
	walkedMax = 1000    // where steps are simulated one by one
	filling   = 20      // times the requests in the system that a short run has, to be little of a transient
	runMax    = 200_000 // of any run: no load is tried that would need more
	shapeMax  = 20_000  // of a load that is run as long as it is
)

// Worthwhile reports whether the headroom of a scenario is worth the time without being asked for: it has an SLO and a
// rate, its fleet stays as it is, for short runs would leave out what happens to it later, and a load that has to be
// run whole is short.
func Worthwhile(b *build.Built) bool {
	s := b.Scenario
	if Check(b) != nil || len(s.Autoscale)+len(s.Failures)+len(s.RandomFailures)+len(s.Drain) > 0 || s.RoleSwitch != nil {
		return false
	}
	l, err := load.Of(b)
	return err == nil && (b.Requests <= shapeMax || l.Kind == load.Steady)
}

// Judged reports whether a scenario has an SLO, for all requests or for those of a class.
func Judged(s *configs.Scenario) bool {
	has := func(o *configs.SLO) bool { return len(o.Rules) > 0 || o.TTFTMS+o.TPOTMS+o.E2EMS > 0 }
	return has(&s.SLO) || slices.ContainsFunc(s.Workload.Classes, func(c configs.Class) bool {
		return c.SLO != nil && (len(c.SLO.Rules) > 0 || c.SLO.TTFTMS+c.SLO.TPOTMS+c.SLO.E2EMS > 0)
	})
}

// Check says why a scenario has no headroom; nil: it has one.
func Check(b *build.Built) error {
	if !Judged(b.Scenario) {
		return errors.New("headroom needs an SLO; expected slo in the scenario")
	}
	_, err := load.Of(b)
	return err
}

// Of returns the headroom of a scenario, a run of which has the given results. A load that this run sustained is
// sustained, and one that it did not is not, whatever short runs say. progress, unless it is nil, is called with the
// number of short runs so far. There is none, and nil, where the run measured nothing: whether the SLO is met at the
// given load is then unknown, not missed.
func Of(ctx context.Context, b *build.Built, r *run.Result, progress func(runs int)) (*metrics.Headroom, error) {
	if err := Check(b); err != nil {
		return nil, err
	}
	if !r.Summary.Measured() {
		return nil, nil
	}
	l, err := load.Of(b)
	if err != nil {
		return nil, err
	}
	x := &searcher{ctx: ctx, b: b, load: l, missed: map[int]string{}, progress: progress}
	x.size(r.Summary)
	missed := x.verdict(b, r.Summary, r.Recorder)
	x.missed[0] = missed
	step, err := search(missed == "", x.highest, x.sustained)
	if err != nil {
		return nil, err
	}
	h := &metrics.Headroom{Factor: factor(step), Unit: l.Unit(), Requests: x.requests, Breaks: x.missed[step+1],
		AtLeast: step == x.highest}
	if step < lowest {
		h.Factor, h.Breaks = 0, x.missed[lowest]
	}
	h.RatePerS = h.Factor * l.RatePerS
	return h, nil
}

// size says how many requests runs have, and which load is the highest that they can have. By Little's law the requests
// in the system are the rate times their mean E2E.
func (x *searcher) size(s *metrics.Summary) {
	x.requests = int64(min(shortMax, max(shortMin, x.b.Requests)))
	for _, p := range x.b.Config.Pools {
		if p.Speculation != nil || p.Noise != nil {
			x.requests = min(x.requests, walkedMax)
		}
	}
	if s.Latency.E2E.N > 0 {
		x.inSystem = x.b.RatePerS * s.Latency.E2E.Mean
	}
	for x.highest = farthest; x.highest > 1 && x.expected(factor(x.highest)) > runMax; x.highest-- {
	}
}

// expected returns how many requests a run at so many times the load has.
func (x *searcher) expected(times float64) float64 {
	switch x.load.Kind {
	case load.Steady:
		return max(float64(x.requests), filling*x.inSystem*times)
	case load.Trace:
		return x.b.Requests
	}
	return x.b.Requests * times
}

type searcher struct {
	ctx      context.Context
	b        *build.Built
	load     *load.Load
	requests int64          // of a short run
	inSystem float64        // requests, in the mean of the given load
	highest  int            // step
	missed   map[int]string // by step that is not sustained: what broke
	progress func(runs int)
	runs     int
}

// sustained simulates the load at some steps, over all cores.
func (x *searcher) sustained(steps []int) ([]bool, error) {
	missed, errs := make([]string, len(steps)), make([]error, len(steps))
	run.Each(len(steps), func(i int) { missed[i], errs[i] = x.run(factor(steps[i])) })
	x.runs += len(steps)
	if x.progress != nil {
		x.progress(x.runs)
	}
	ok := make([]bool, len(steps))
	for i, step := range steps {
		ok[i] = missed[i] == ""
		if !ok[i] {
			x.missed[step] = missed[i]
		}
	}
	return ok, errors.Join(errs...)
}

// run simulates the load at so many times its rate, and returns which rules broke; empty: none.
func (x *searcher) run(times float64) (string, error) {
	s := x.b.Scenario.Clone()
	warmupS, spanS := s.Workload.WarmupS, cmp.Or(s.Workload.DurationS, x.b.SpanS)
	x.load.At(s, times*x.load.RatePerS, int64(x.expected(times)))
	if x.load.Kind == load.Sessions { // it takes as long as ever until as many sessions end as begin
		s.Workload.Requests, s.Workload.DurationS, s.Workload.WarmupS = 0, spanS, warmupS
	}
	b, err := build.NewUntil(x.ctx, s)
	if err != nil {
		return "", fmt.Errorf("headroom: at %.3g times the load: %w", times, err)
	}
	defer b.Close()
	f := new(metrics.Full)
	f.SLO, f.Rules = b.SLO, b.Rules
	f.Ingress, f.Egress, f.Thinks = b.Config.Ingress, b.Config.Egress, b.Thinks()
	f.Warmup = b.Warmup
	if n := float64(x.load.Unmeasured(int64(b.Requests))); b.Warmup == 0 && b.RatePerS > 0 {
		f.Warmup = sim.Time(0).Add(sim.Seconds(n / b.RatePerS))
	}
	f.SeparateClasses(b.Classes())
	b.FollowTasks(f, nil)
	config := b.Config
	config.Sink, config.TraceEvery, config.Unordered = f, 0, true
	c, err := run.Drive(x.ctx, config, f.Watch)
	switch {
	case err != nil:
		return "", err
	case b.SourceErr() != nil:
		return "", b.SourceErr()
	case c.Overran():
		return "the end of the clock", nil
	}
	return x.verdict(b, f.Summary(b.Describe("", c.Totals().Arrived)), f), nil
}

// verdict returns which rules a run broke; empty: it sustained its load.
func (x *searcher) verdict(b *build.Built, s *metrics.Summary, f *metrics.Full) string {
	broken := Broken(b, s)
	if len(broken) == 0 && f.Growing() {
		return "the queue grows"
	}
	return strings.Join(broken, ", ")
}

// Broken returns the rules of the SLO that a run of b broke, of all requests or else of each class. A class without
// requests breaks none.
func Broken(b *build.Built, s *metrics.Summary) (broken []string) {
	share := b.AttainmentMin()
	judge := func(of string, limits metrics.Limits, o *metrics.SLO, rules []metrics.Verdict) {
		if limits != (metrics.Limits{}) && o != nil && o.Unmeasured == "" && !(o.Attainment >= share-1e-12) {
			r := limits.Rule(share)
			broken = append(broken, of+r.String())
		}
		for _, v := range rules {
			if v.Broken() {
				broken = append(broken, of+v.Rule)
			}
		}
	}
	if len(s.Classes) == 0 {
		judge("", b.OwnLimits(-1), s.SLO, s.Rules)
	}
	for i := range s.Classes {
		c := &s.Classes[i]
		judge(c.Name+": ", b.OwnLimits(i), c.SLO, c.Rules)
	}
	return broken
}
