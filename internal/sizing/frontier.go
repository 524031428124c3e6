package sizing

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// draw fills what the plots show: the most that every split sustains, and what users feel for it.
func (z *sizer) draw(finalists []*deployment) error {
	printed := z.all
	if z.study.Rate.At > 0 && len(finalists) > 0 {
		printed = z.landscape(finalists[0])
		rough := slices.DeleteFunc(slices.Clone(printed), func(d *deployment) bool { return slices.Contains(finalists, d) })
		if err := z.find(rough, 0, rounds(z.study.Requests)[0], "splits", 0, len(rough)); err != nil {
			return err
		}
	}
	if z.study.Rate.At > 0 {
		z.collect()
	}
	leaders := z.splits(printed)
	light, err := z.lighter(leaders)
	if err != nil {
		return err
	}
	var all []point
	add := func(d *deployment, xs []outcome) {
		for i := range xs {
			if x := &xs[i]; x.Speed > 0 && x.Step <= d.capacity {
				all = append(all, point{d, *x})
			}
		}
	}
	for _, d := range z.all {
		add(d, d.carried)
	}
	for i, d := range leaders {
		add(d, light[i])
	}
	return z.frontier(all)
}

// point is a deployment under a load that it sustains.
type point struct {
	d *deployment
	x outcome
}

func (p *point) perGPU() float64 { return p.x.Goodput / float64(p.d.is.GPUs) }

// frontier fills the frontier. What short runs put on it is run as long as the finalists, for short runs flatter.
func (z *sizer) frontier(all []point) error {
	some := undominated(all)
	err := z.over(len(some), "frontier", func(i int) (err error) {
		some[i].x, err = z.near(some[i].d, some[i].x.Step)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range undominated(slices.DeleteFunc(some, func(p point) bool { return !p.x.Carried })) {
		z.out.Frontier = append(z.out.Frontier, FrontierPoint{p.d.is.Name, p.d.topology, p.x.Rate, p.perGPU(), p.x.Speed})
	}
	return nil
}

// near runs d as long as the finalists at a step that a short run sustains, or a little below if that is too much.
func (z *sizer) near(d *deployment, step int) (x outcome, err error) {
	for _, less := range []int{0, 4, 12, 28} { // 2, 6 and 14 %
		x, err = z.simulate(d, max(0, step-less), z.study.Requests, z.base.Seed, verdict)
		if err != nil || x.Carried {
			break
		}
	}
	return x, err
}

// collect lists the deployments that the search for the cheapest looked at, the cheapest first.
func (z *sizer) collect() {
	z.all = slices.DeleteFunc(slices.Collect(maps.Values(z.deployments)), func(d *deployment) bool {
		fits, err := z.fitsBudget(d)
		return err != nil || !fits
	})
	slices.SortFunc(z.all, func(a, b *deployment) int {
		return cmp.Or(cheaper(a, b), strings.Compare(a.is.Name, b.is.Name))
	})
	for _, d := range z.all {
		slices.SortStableFunc(d.carried, func(a, b outcome) int {
			return cmp.Or(cmp.Compare(a.Work.Requests, b.Work.Requests), cmp.Compare(a.Step, b.Step))
		})
	}
}

// splits fills the best of each split, and returns the best of each series.
func (z *sizer) splits(printed []*deployment) (leaders []*deployment) {
	best := map[string]*deployment{}
	var keys []string
	for _, d := range printed {
		if d.capacity < 0 {
			continue
		}
		for _, key := range []string{d.topology + " " + d.series(), d.key()} {
			other, ok := best[key]
			if !ok {
				keys = append(keys, key)
			}
			if !ok || d.capacity > other.capacity {
				best[key] = d
			}
		}
	}
	for _, key := range keys {
		d := best[key]
		if key == d.topology+" "+d.series() {
			leaders = append(leaders, d)
			continue
		}
		x := d.atCapacity()
		z.out.Splits = append(z.out.Splits, SplitPoint{
			Name: d.is.Name, Topology: d.topology, Series: d.series(), Split: d.is.Split, PrefillShare: d.is.PrefillShare(),
			GPUs:         d.is.GPUs,
			CapacityPerS: x.Rate, GoodputPerSPerGPU: x.Goodput / float64(d.is.GPUs),
		})
	}
	slices.SortStableFunc(z.out.Splits, func(a, b SplitPoint) int {
		return cmp.Or(cmp.Compare(a.Topology, b.Topology), cmp.Compare(a.Series, b.Series),
			cmp.Compare(a.PrefillShare, b.PrefillShare))
	})
	return leaders
}

// lighter runs deployments under a quarter, half and three quarters of what they sustain: users are faster there.
func (z *sizer) lighter(some []*deployment) ([][]outcome, error) {
	const loads = 3
	all, errs := make([][]outcome, len(some)), make([]error, loads*len(some))
	for i := range all {
		all[i] = make([]outcome, loads)
	}
	z.each(len(errs), func(k int) {
		d := some[k/loads]
		step := z.grid.step(z.grid.rate(d.capacity) * float64(k%loads+1) / (loads + 1))
		if step < 0 {
			return // below what the study looks at
		}
		all[k/loads][k%loads], errs[k] = z.simulate(d, step, rounds(z.study.Requests)[0].requests, z.base.Seed, verdict)
	}, func(done int) { z.report("lighter loads", done, len(errs)) })
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(x outcome) bool { return !x.Carried })
	}
	return all, errors.Join(errs...)
}

// undominated returns the points that no other beats in goodput per GPU and in users' speed, the fastest first.
func undominated(all []point) (frontier []point) {
	slices.SortStableFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(b.x.Speed, a.x.Speed), cmp.Compare(b.perGPU(), a.perGPU()))
	})
	for _, p := range all {
		if len(frontier) == 0 || p.perGPU() > frontier[len(frontier)-1].perGPU() {
			frontier = append(frontier, p)
		}
	}
	return frontier
}
