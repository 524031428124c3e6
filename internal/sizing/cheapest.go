package sizing

import (
	"cmp"
	"errors"
	"github.com/decodesim/decodesim/internal/run"
	"slices"
)

// verified is how many deployments of one cost are run under every seed.
const verified = 8

// cheapest returns the deployments of the last round where a rate must be carried, the cheapest first. It goes through
// what deployments cost from below, and ends where two have carried the rate under every seed.
func (z *sizer) cheapest() ([]*deployment, error) {
	order := slices.Clone(z.all)
	slices.SortStableFunc(order,
		func(a, b *deployment) int { return cmp.Or(cheaper(a, b), cmp.Compare(b.bound, a.bound)) })
	var found []*deployment
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && cheaper(order[from], order[to]) == 0 {
			to++
		}
		class := order[from:to]
		from = to
		if len(found) > 1 {
			for _, d := range class {
				d.skipped = "costs more than two that sustain the rate"
			}
			continue
		}
		some, err := z.carriers(class, to, len(order))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found[:min(len(found), lastRound)], nil
}

// carriers returns the deployments of one cost that sustain the rate under every seed, those with the most to spare
// first.
func (z *sizer) carriers(class []*deployment, done, of int) ([]*deployment, error) {
	stages := rounds(z.study.Requests)
	some := slices.DeleteFunc(slices.Clone(class), func(d *deployment) bool {
		if d.bound >= z.grid.low {
			return false
		}
		d.skipped = "even at its roofline limit it would not sustain the rate"
		return true
	})
	some, err := z.carrying(some, 0, stages[0].requests, z.out.Seeds[:1])
	if err != nil {
		return nil, err
	}
	for _, d := range some {
		d.capacity = 0
	}
	if err := z.find(some, 0, stages[0], "deployments by cost", done-len(some), of); err != nil {
		return nil, err
	}
	some, err = z.carrying(ahead(some, verified, 0, &z.grid), 1, stages[2].requests, z.out.Seeds)
	if err != nil {
		return nil, err
	}
	return some[:min(len(some), lastRound)], nil
}

// carrying returns the deployments that sustain the lowest rate under some seeds.
func (z *sizer) carrying(some []*deployment, i int, requests int64, seeds []uint64) ([]*deployment, error) {
	n := len(seeds)
	carried, errs := make([]bool, len(some)*n), make([]error, len(some)*n)
	run.Each(len(carried), func(k int) {
		x, err := z.simulate(some[k/n], 0, requests, seeds[k%n], verdict)
		carried[k], errs[k] = x.carried, err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var all []*deployment
	for k, d := range some {
		d.round = max(d.round, i+1)
		if !slices.Contains(carried[k*n:(k+1)*n], false) {
			all = append(all, d)
		}
	}
	z.out.Rounds[i] += len(some)
	return all, nil
}
