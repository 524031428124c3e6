package sizing

import (
	"cmp"
	"errors"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/run"
)

// cheapest returns the deployments of the last round where a rate must be sustained, the cheapest first. It finds the
// cheapest of every family: short runs find how many replicas that takes, and a whole one confirms it. Those that the
// answer is among are confirmed under every seed.
func (z *sizer) cheapest() ([]*deployment, error) {
	var families []*family
	for _, of := range []struct {
		topology string
		search   func() ([]*family, error)
	}{{configs.Colocated, z.colocated}, {configs.Disaggregated, z.disaggregated}} {
		if !z.searches(of.topology) {
			continue
		}
		some, err := of.search()
		if err != nil {
			return nil, err
		}
		families = append(families, some...)
	}
	z.families = families
	found, err := z.surelyCheapest(families)
	if err != nil {
		return nil, err
	}
	wide := make([]*deployment, len(found))
	err = z.over(len(found), "margins", func(i int) (err error) {
		wide[i], err = z.widest(found[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		if i := slices.Index(found, f.best); i >= 0 && f.best != nil {
			f.best = wide[i]
		}
	}
	slices.SortStableFunc(wide, better)
	return wide[:min(len(wide), lastRound)], err
}

// firstSeeds is under how many seeds the cheapest of every family is confirmed at first: all where any may be chosen.
func (z *sizer) firstSeeds() int {
	if z.options.anyRow {
		return len(z.out.Seeds)
	}
	return 1
}

// surelyCheapest returns the cheapest deployments that are confirmed under every seed, and those of each kind of GPU.
// More seeds never make a family cheaper, so that one which is dearer than these under the first seed alone stays so:
// the answer is that of a search which confirms all of them under every seed.
func (z *sizer) surelyCheapest(families []*family) ([]*deployment, error) {
	all := len(z.out.Seeds)
	for {
		found := cheapestOfAll(families)
		var doubtful []*family
		for _, f := range families {
			if f.seeds < all && f.best != nil && slices.Contains(found, f.best) {
				doubtful = append(doubtful, f)
			}
		}
		if len(doubtful) == 0 {
			return found, nil
		}
		err := z.over(len(doubtful), "every seed", func(i int) error {
			f := doubtful[i]
			f.seeds = all
			if ok, err := z.confirmed(f.best, all); ok || err != nil {
				return err
			}
			f.best, f.failed = nil, nil
			return f.search()
		})
		if err != nil {
			return nil, err
		}
	}
}

// better orders deployments by what they cost, how much they sustain, and how little there is to warn of.
func better(a, b *deployment) int {
	return cmp.Or(cheaper(a, b), cmp.Compare(b.capacity, a.capacity), cmp.Compare(len(a.warnings), len(b.warnings)))
}

// cheapestOfAll returns the cheapest deployments, and that of each kind of GPU.
func cheapestOfAll(families []*family) (found []*deployment) {
	for _, f := range families {
		if f.best != nil && !slices.Contains(found, f.best) {
			found = append(found, f.best)
		}
	}
	slices.SortStableFunc(found, cheaper)
	found = found[:min(len(found), lastRound)]
	for _, f := range leadersOf(families, nil) {
		if !slices.Contains(found, f.best) {
			found = append(found, f.best)
		}
	}
	return found
}

// widest returns d under the batch limits that sustain most, found as the second round does.
func (z *sizer) widest(d *deployment) (*deployment, error) {
	r := rounds(z.study.Requests)[1]
	carries := func(d *deployment) func(step int) (bool, error) {
		return func(step int) (bool, error) {
			x, err := z.simulate(d, step, r.requests, z.base.Seed, verdict)
			z.note(d, 2, &x)
			return x.Carried, err
		}
	}
	capacity, err := z.grid.highest(z.grid.asked, r.stride, carries(d))
	if err != nil {
		return d, err
	}
	d.capacity = capacity
	for _, s := range z.siblings(d.shape) {
		other := z.deployment(s, d.replicas...)
		step := min(d.capacity+r.stride, z.grid.last)
		x, err := z.simulate(other, step, rounds(z.study.Requests)[0].requests, z.base.Seed, verdict)
		ok := x.Carried
		if ok && err == nil { // short runs flatter
			ok, err = carries(other)(step)
		}
		if err != nil {
			return d, err
		}
		if !ok || step == d.capacity {
			continue
		}
		other.capacity, err = z.grid.highest(step, r.stride, carries(other))
		if err == nil {
			ok, err = z.confirmed(other, len(z.out.Seeds))
		}
		if err != nil {
			return d, err
		}
		if ok && other.capacity > d.capacity {
			d = other
		}
	}
	return d, nil
}

// siblings returns the shapes that differ from one in batch limits alone.
func (z *sizer) siblings(s *shape) (all []*shape) {
	q := &z.study.Search
	for _, seqs := range orOne(q.MaxNumSeqs) {
		for _, tokens := range orOne(q.MaxNumBatchedTokens) {
			c := s.setting
			c.Seqs, c.Tokens = seqs, tokens
			if c == s.setting {
				continue
			}
			var other *shape
			if s.topology == configs.Disaggregated {
				other = z.pair(&half{replica: replica{c.PrefillGPU, c.PrefillLayout}, limit: tokens},
					&half{replica: replica{c.GPU, c.Layout}, limit: seqs})
			} else {
				same := func(o *shape) bool { return o.topology == s.topology && o.setting == c }
				other = z.shapes[slices.IndexFunc(z.shapes, same)]
			}
			if other.refused == "" {
				all = append(all, other)
			}
		}
	}
	return all
}

// each calls do(0) … do(n−1) over all cores, or as many at once as other processes may work on.
func (z *sizer) each(n int, do func(i int), progress func(done int)) {
	if z.asks != nil {
		run.EachOf(askedAtOnce, n, do, progress)
		return
	}
	run.EachReported(n, do, progress)
}

// over calls do(0) … do(n−1) over all cores and returns their errors.
func (z *sizer) over(n int, what string, do func(i int) error) error {
	errs := make([]error, n)
	report := func(done int) {
		if what != "" {
			z.report(what, done, n)
		}
	}
	report(0) // the line says what is done now, before any of it has ended
	z.each(n, func(i int) { errs[i] = do(i) }, report)
	return errors.Join(errs...)
}
