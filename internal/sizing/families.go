package sizing

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/configs"
)

// family is deployments that differ in replicas and batch limits alone: a topology, the GPUs and how they share the
// model. The answer has a row for each.
type family struct {
	topology string
	series   string // such as tp4 h200-sxm, or tp2/tp4
	gpus     []string
	mixed    bool        // the cheapest of several series on these GPUs
	best     *deployment // the cheapest that sustains the asked rate; nil: none does
	failed   *attempt    // where none does: what came nearest
	searched bool        // false: its roofline limit says enough
	least    int         // GPUs that it takes at least, where best is nil and that is known
	seeds    int         // under which whole runs confirm that best sustains the rate

	search func() error // searches it under so many seeds
}

// attempt is a deployment that does not sustain a rate, and what it came to.
type attempt struct {
	*deployment
	outcome
}

// familyOf returns the family of a shape.
func familyOf(s *shape) *family {
	f := &family{topology: s.topology, series: s.series()}
	for i := range s.scenario.Pools {
		if gpu := s.scenario.Pools[i].GPU.Name(); !slices.Contains(f.gpus, gpu) {
			f.gpus = append(f.gpus, gpu)
		}
	}
	return f
}

// deployment returns s with numbers of replicas, the same one whenever it is asked for.
func (z *sizer) deployment(s *shape, replicas ...int) *deployment {
	d := s.deploy(replicas...)
	z.mu.Lock()
	defer z.mu.Unlock()
	if known := z.deployments[d.is.Name]; known != nil {
		return known
	}
	z.pack(d)
	z.deployments[d.is.Name] = d
	return d
}

// sustains reports whether d sustains a step of the grid in a run of the first round.
func (z *sizer) sustains(d *deployment, step int) (bool, error) {
	if d.bound < z.grid.rate(step) {
		return false, nil
	}
	x, err := z.simulate(d, step, rounds(z.study.Requests)[0].requests, z.base.Seed, verdict)
	z.note(d, 1, &x)
	return x.Carried, err
}

// confirmed reports whether d sustains the asked rate in whole runs under the first seeds.
func (z *sizer) confirmed(d *deployment, seeds int) (bool, error) {
	for _, seed := range z.out.Seeds[:seeds] {
		x, err := z.simulate(d, z.grid.asked, z.study.Requests, seed, verdict)
		if err != nil || !x.Carried {
			return false, err
		}
		if seed == z.out.Seeds[0] {
			z.note(d, 2, &x)
		}
	}
	return true, nil
}

// note keeps a run that d sustains, for the frontier.
func (z *sizer) note(d *deployment, round int, x *outcome) {
	z.mu.Lock()
	defer z.mu.Unlock()
	d.round = max(d.round, round)
	if !x.Carried || x.Step > z.grid.last {
		return
	}
	d.capacity = max(d.capacity, x.Step)
	d.carried = append(d.carried, *x)
}

// replicasMax returns the largest number of replicas of a colocated shape that is worth a try: what the budget takes,
// or where there is none so many that each is nearly idle.
func (z *sizer) replicasMax(s *shape, least int) (int, error) {
	if !z.study.Budget.Limited() {
		return max(1, min(gpusMax/s.gpus[0], idleTimes*least)), nil
	}
	fits, _, err := z.budget(s)
	if err != nil {
		return 0, err
	}
	n := 0
	for fits(n + 1) {
		n++
	}
	return n, nil
}

const (
	gpusMax   = 4096 // of a deployment where no budget says so
	idleTimes = 32   // times what the roofline limit asks for, at which a deployment is nearly idle
)

// expectedShare is the share of the roofline limit at which a search for the number of replicas begins.
const expectedShare = 0.4

// colocated searches the replicas that each colocated family needs.
func (z *sizer) colocated() ([]*family, error) {
	var families []*family
	shapes := map[string][]*shape{}
	for _, s := range z.shapes {
		if s.refused != "" || s.topology != configs.Colocated {
			continue
		}
		f := familyOf(s)
		if shapes[f.series] == nil {
			families = append(families, f)
		}
		shapes[f.series] = append(shapes[f.series], s)
	}
	for _, f := range families {
		of := shapes[f.series]
		f.seeds, f.search = z.firstSeeds(), func() error { return z.fewest(f, of) }
	}
	err := z.over(len(families), "colocated deployments", func(i int) error { return families[i].search() })
	return families, err
}

// fewest finds the fewest replicas of a family that sustain the asked rate, under whichever batch limits.
func (z *sizer) fewest(f *family, shapes []*shape) error {
	f.searched = true
	for _, s := range shapes {
		one := z.deployment(s, 1)
		least := max(1, int(math.Ceil(z.asked()/one.bound-1e-9)))
		most, err := z.replicasMax(s, least)
		guess := int(float64(least) / expectedShare)
		if f.best != nil { // only fewer replicas are of interest
			most = min(most, f.best.replicas[0]-1)
			guess = most
		}
		if err != nil || most < least {
			f.least = max(f.least, least*s.gpus[0])
			if err != nil {
				return err
			}
			continue
		}
		if f.best == nil && f.failed != nil { // under other limits even the most were not enough
			d := z.deployment(s, most)
			ok, err := z.failure(f, d)
			if err != nil {
				return err
			}
			if !ok || d.bound < z.asked() {
				continue
			}
		}
		n, err := smallest(least, guess, most, func(n int) (bool, error) {
			return z.sustains(z.deployment(s, n), z.grid.asked)
		})
		if err != nil {
			return err
		}
		if n > 0 {
			f.best = z.deployment(s, n)
			f.best, err = z.confirm(s, n, most, f.seeds)
		} else if f.best == nil {
			_, err = z.failure(f, z.deployment(s, most))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// confirm returns the first deployment from n replicas up that sustains the asked rate under so many seeds; nil: none
// of up to most does.
func (z *sizer) confirm(s *shape, n, most, seeds int) (*deployment, error) {
	for ; n <= most; n++ {
		d := z.deployment(s, n)
		if ok, err := z.confirmed(d, seeds); ok || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// failure looks at what d breaks under the asked rate in a run of the first round, keeps it if it comes nearer than
// what failed before, and reports whether it sustains the rate nevertheless.
func (z *sizer) failure(f *family, d *deployment) (bool, error) {
	x, err := z.simulate(d, z.grid.asked, rounds(z.study.Requests)[0].requests, z.base.Seed, whole)
	if err == nil && (f.failed == nil ||
		nearness(x.Within, f.failed.Within, x.Verdicts, f.failed.Verdicts) > 0) {
		f.failed = &attempt{d, x}
	}
	return x.Carried, err
}

// asked returns the rate that must be sustained.
func (z *sizer) asked() float64 { return z.grid.rate(z.grid.asked) }

// searches reports whether the study looks at a topology.
func (z *sizer) searches(topology string) bool {
	return slices.Contains(z.study.Search.Topology, topology)
}
