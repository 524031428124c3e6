package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/workloads/traces"
)

// round is a stage of a search: each looks longer and closer at fewer deployments.
type round struct {
	requests int64
	stride   int // steps of the grid to which a capacity is found
}

// rounds returns the stages for runs of so many requests at last.
func rounds(requests int64) []round {
	return []round{{max(400, requests/4), 16}, {requests, 4}, {requests, 1}}
}

// How many deployments go on, and how far behind the best they may be.
const (
	secondRound, secondBehind = 16, 0.8
	lastRound, lastBehind     = 4, 0.9
	alike                     = 2 // that differ in batch limits alone

	wave       = 16  // deployments that are simulated before the best so far is looked at again
	pruneShare = 1.1 // bounds this much below the best so far are left out: short runs flatter
	manyMax    = 200_000
)

// prepare reads the scenario, builds what is to be searched and bounds it.
func (z *sizer) prepare() error {
	s := z.study
	base, err := s.Base(z.options.Env, z.options.Seed)
	if err != nil {
		return err
	}
	if err := sendable(base); err != nil {
		return err
	}
	base, err = build.Pattern(base)
	if err != nil {
		return err
	}
	z.base, z.packed, z.simulated = base, map[string]float64{}, map[simulation]*simulated{}
	z.deployments, z.pairs = map[string]*deployment{}, map[setting]*shape{}
	z.model, err = build.ModelOf(base)
	if err != nil {
		return err
	}
	z.several = severalGPUs(&s.Search)
	if err := z.route(); err != nil {
		return err
	}
	if err := z.limit(); err != nil {
		return err
	}
	z.grid = newGrid(s.Rate.Min, s.Rate.Max)
	if s.Rate.At > 0 {
		z.grid = newGridAround(s.Rate.At, 2*s.Rate.At, 3*s.Rate.At)
	}
	z.shapeAll()
	if err := z.ctx.Err(); err != nil {
		return err
	}
	z.describe()
	if err := z.enumerate(); err != nil {
		return err
	}
	if err := z.open(); err != nil {
		return err
	}
	return z.scout()
}

// sharingRouter routes requests whose prompts share beginnings where nobody says how. A router that only counts
// requests sends the turns of a conversation here and there, and the more replicas there are, the fewer find their
// prefix.
const sharingRouter = "prefix-aware"

// route chooses the router of a study without a scenario.
func (z *sizer) route() error {
	if z.study.Scenario != "" || z.base.Given("router") {
		return nil
	}
	w := &z.base.Workload
	shares := w.Waits() || w.Prefix != nil
	if w.Trace != nil {
		t, err := traces.Open(w.Trace.File, traces.Options{Contents: true,
			SkipEmpty: w.Trace.SkipEmpty, Reading: build.Reading(z.ctx, w.Trace.File), Before: true,
			Room: build.Room(z.ctx)})
		if ended := z.ctx.Err(); ended != nil {
			return ended
		}
		if errors.Is(err, fs.ErrNotExist) {
			return z.study.Errorf("trace", "%q does not exist; expected a CSV or JSON-lines file", w.Trace.File)
		}
		if err != nil {
			return z.study.Errorf("trace", "%s", strict.Message(err))
		}
		shares = t.Contents() != nil
		if err := t.Close(); err != nil {
			return err
		}
	}
	if shares {
		z.base.Router = sharingRouter
		z.routed = "requests share beginnings of prompts and are routed by " + sharingRouter +
			", to the replica that was sent the same beginning before; --set router=least-loaded asks for another"
	}
	return nil
}

// describe begins the answer.
func (z *sizer) describe() {
	s := z.study
	z.out = &Sizing{
		Schema: Schema, Study: s.Name, Scenario: z.base.Name, Version: z.options.Version,
		Model:  catalog.NameOf(z.base.Model.Config),
		GPU:    z.gpuNames(),
		AtPerS: s.Rate.At, RateMinPerS: z.grid.low, RateMaxPerS: z.grid.high, Resolution: z.grid.resolution(),
		Confidence: stats.Confidence,
		SLO: SLO{
			z.slo.asked.TTFTMS / 1e3, z.slo.asked.TPOTMS / 1e3, z.slo.asked.E2EMS / 1e3, z.slo.share, z.slo.asked.Rules,
		},
		Finalists: []Finalist{}, Frontier: []FrontierPoint{}, Splits: []SplitPoint{}, Notes: []string{},
	}
	for i := range z.seeds() {
		z.out.Seeds = append(z.out.Seeds, z.base.Seed+uint64(i))
	}
	for _, r := range rounds(s.Requests) {
		z.out.Requests = append(z.out.Requests, r.requests)
	}
	z.out.Rounds = make([]int, len(z.out.Requests))
	for _, change := range z.base.Model.Changes() {
		z.out.Notes = append(z.out.Notes, "model: "+change)
	}
	if z.routed != "" {
		z.out.Notes = append(z.out.Notes, z.routed)
	}
	if z.load != nil {
		z.out.Unit = z.load.Unit()
		z.out.Notes = append(z.out.Notes, z.load.Covers())
	}
	if len(z.base.Workload.Classes) > 0 {
		z.out.Notes = append(z.out.Notes, "the SLO of the study holds for all requests, whatever their class")
	}
}

// severalGPUs reports whether a study searches more kinds of GPUs than one.
func severalGPUs(q *configs.StudySearch) bool {
	all := slices.Concat(q.GPU, q.PrefillGPU)
	slices.Sort(all)
	return len(slices.Compact(all)) > 1
}

// gpuNames returns the GPUs that are searched, each once.
func (z *sizer) gpuNames() string {
	q := &z.study.Search
	if q.GPU == nil && q.PrefillGPU == nil {
		return z.base.Pools[0].GPU.Name()
	}
	var names []string
	for _, name := range slices.Concat(orOne(q.GPU), q.PrefillGPU) {
		if name == "" {
			name = z.base.Pools[0].GPU.Name()
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// seeds is under how many seeds the last round runs: every one replays the same trace.
func (z *sizer) seeds() int {
	if z.load != nil && z.load.Kind == load.Trace {
		return 1
	}
	return z.study.Seeds
}

// sessionsSample is how many requests of sessions are a sample of what they ask for: prompts of one session grow with
// its turns, so that a thousand requests are those of a few dozen sessions only.
const sessionsSample = 20_000

// scout runs one deployment at the lowest rate, for what requests ask for in sums, and bounds every deployment by that.
func (z *sizer) scout() error {
	requests := rounds(z.study.Requests)[0].requests
	if z.load.Kind == load.Sessions {
		requests = max(sessionsSample, z.study.Requests)
	}
	x, err := z.simulate(z.all[0], 0, requests, z.base.Seed, whole)
	if err != nil {
		return err
	}
	if x.Work.Prompts == 0 {
		return fmt.Errorf("scenario %q: no request is served by %s; see decodesim run", z.base.Name, z.all[0].is.Name)
	}
	z.sample = x
	z.load.Last(x.E2ES)
	if z.load.Kind == load.Trace { // it is replayed whole, whatever the study says
		for i := range z.out.Requests {
			z.out.Requests[i] = x.Work.Requests
		}
	}
	clear(z.simulated) // runs may be longer now
	if z.grid.at > 0 {
		z.all = nil // the search says which there are
		return nil
	}
	for _, d := range z.all {
		z.pack(d)
	}
	return nil
}

// pack bounds d by its roofline limit.
func (z *sizer) pack(d *deployment) {
	d.bound, d.narrow = d.perfect(&z.sample.Work, d.replicas, false)
	d.bound /= z.sample.Each
	if fits, err := z.fitsBudget(d); fits && err == nil { // what stands in for plenty of a pool may be beyond it
		z.out.RooflineLimitPerS = max(z.out.RooflineLimitPerS, d.bound)
	}
}

// most returns the deployments of the last round, the one that sustains most first.
func (z *sizer) most() ([]*deployment, error) {
	stages := rounds(z.study.Requests)
	if err := z.first(stages[0]); err != nil {
		return nil, err
	}
	second := ahead(z.all, secondRound, secondBehind, &z.grid)
	if err := z.again(second, 1, stages[1]); err != nil {
		return nil, err
	}
	return ahead(second, lastRound, lastBehind, &z.grid), nil
}

// first finds the capacity of every deployment roughly, those that may sustain most first. A deployment that cannot
// beat the best so far under the roofline limit is left out, unless its split is not known yet.
func (z *sizer) first(r round) error {
	order := slices.Clone(z.all)
	slices.SortStableFunc(order, func(a, b *deployment) int { return cmp.Compare(b.bound, a.bound) })
	best := 0.0
	known := map[string]bool{}
	for from, done := 0, 0; from < len(order); {
		var batch []*deployment
		for ; from < len(order) && len(batch) < wave; from++ {
			d := order[from]
			if d.bound*pruneShare < best && known[d.key()] {
				d.skipped = "even at its roofline limit it would sustain less than another"
				continue
			}
			known[d.key()] = true
			batch = append(batch, d)
		}
		if err := z.find(batch, 0, r, "first round", done, len(order)); err != nil {
			return err
		}
		done = from
		for _, d := range batch {
			if d.capacity >= 0 {
				best = max(best, z.grid.rate(d.capacity))
				z.packed[d.topology+d.narrow] = z.grid.rate(d.capacity) / d.bound
			}
		}
	}
	return nil
}

// again finds the capacity of some deployments more closely.
func (z *sizer) again(some []*deployment, i int, r round) error {
	return z.find(some, i, r, [...]string{"first", "second", "last"}[i]+" round", 0, len(some))
}

// find finds the capacity of deployments over all cores, each near where it was last.
func (z *sizer) find(some []*deployment, i int, r round, what string, done, of int) error {
	errs := make([]error, len(some))
	z.report(what, done, of)
	z.each(len(some), func(n int) {
		d := some[n]
		guess := d.capacity
		if d.round == 0 {
			guess = z.grid.step(z.guess(d) * d.bound)
		}
		d.round, d.carried = i+1, slices.Clip(d.carried)
		d.capacity, errs[n] = z.grid.highest(guess, r.stride, func(step int) (bool, error) {
			x, err := z.simulate(d, step, r.requests, z.base.Seed, verdict)
			if x.Carried {
				d.carried = append(d.carried, x)
			}
			return x.Carried, err
		})
	}, func(n int) { z.report(what, done+n, of) })
	z.out.Rounds[i] += len(some)
	return errors.Join(errs...)
}

// guess returns the share of the roofline limit at which to begin: that of the deployment before which the same pool
// limits.
func (z *sizer) guess(d *deployment) float64 {
	if share, ok := z.packed[d.topology+d.narrow]; ok {
		return share
	}
	return 0.5
}

func (z *sizer) report(what string, done, of int) {
	if z.options.Progress != nil {
		z.options.Progress(what, done, of)
	}
}

// ahead returns the deployments that sustain most, the first n of them, not too far behind the best, and few of each
// split.
func ahead(all []*deployment, n int, behind float64, g *grid) (some []*deployment) {
	order := slices.DeleteFunc(slices.Clone(all), func(d *deployment) bool { return d.capacity < 0 })
	slices.SortStableFunc(order,
		func(a, b *deployment) int { return cmp.Or(cmp.Compare(b.capacity, a.capacity), cheaper(a, b)) })
	taken := map[string]int{}
	for _, d := range order {
		if len(some) >= n || len(some) >= 2 && g.rate(d.capacity) < behind*g.rate(order[0].capacity) {
			break
		}
		if key := d.key(); taken[key] < alike {
			taken[key]++
			some = append(some, d)
		}
	}
	return some
}
