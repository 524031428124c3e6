package sizing

import (
	"cmp"
	"math"
	"slices"
)

// refer chooses the pools that stand in for the other half: those with the highest roofline limits. It reports whether
// anything fits at all.
func (p *pairing) refer() (ok bool, err error) {
	best := [2]float64{}
	for pool, all := range [][]replica{p.prefillReplicas(), p.replicas()} {
		for _, r := range all {
			s := p.likePair(r)
			if s.refused != "" {
				continue
			}
			h := &half{replica: r}
			if pool == 0 {
				p.prefills = append(p.prefills, h)
			} else {
				p.decodes = append(p.decodes, h)
			}
			if limit := s.poolLimits(&p.sample.Work, true)[pool] / p.sample.Each; limit > best[pool] {
				best[pool], p.reference[pool] = limit, r
			}
		}
	}
	if best[0] == 0 || best[1] == 0 || !p.withinReach() {
		return false, nil
	}
	return true, p.findReference()
}

// withinReach reports whether the roofline limits leave any pair within the budget.
func (p *pairing) withinReach() bool {
	most := p.out.GPUsMax
	if most == 0 {
		most = gpusMax
	}
	least := [2]int{math.MaxInt / 2, math.MaxInt / 2}
	for pool, all := range [][]*half{p.prefills, p.decodes} {
		for _, h := range all {
			s := p.likePair(h.replica)
			least[pool] = min(least[pool], s.gpus[pool]*p.replicasAt(s.poolLimits(&p.sample.Work, false)[pool]))
		}
	}
	return least[0]+least[1] <= most
}

// times what the roofline limit asks for is plenty, first at the one and then at the other.
var plentyTimes = [...]float64{8, 32}

// findReference finds two pools that sustain the rate if there are plenty of both. Those with the highest limits are
// tried first. They may be too slow however many there are: of attention-DP one rank reads a prompt, and of many ranks
// the busiest holds up all. Any other kind then serves both pools, in the order of how much it sustains; if none is
// enough, what came nearest is kept.
func (p *pairing) findReference() error {
	failed := &family{}
	if ok, err := p.makePlenty(failed); err != nil || ok {
		return err
	}
	tried := p.reference
	for _, r := range p.likeKinds() {
		p.reference = [2]replica{r, r}
		if p.reference == tried {
			continue
		}
		if ok, err := p.makePlenty(failed); err != nil || ok {
			return err
		}
	}
	p.hopeless = failed.failed
	return nil
}

// likeKinds returns the replicas that both pools may have, those that sustain most first.
func (p *pairing) likeKinds() (all []replica) {
	limits := map[replica]float64{}
	for _, h := range p.prefills {
		if !slices.ContainsFunc(p.decodes, func(o *half) bool { return o.replica == h.replica }) {
			continue
		}
		of := p.likePair(h.replica).poolLimits(&p.sample.Work, true)
		limits[h.replica] = min(of[0], of[1])
		all = append(all, h.replica)
	}
	slices.SortStableFunc(all, func(a, b replica) int { return cmp.Compare(limits[b], limits[a]) })
	return all
}

// makePlenty finds numbers of replicas at which the reference sustains the rate with both pools, and reports whether
// there are any. What fails is kept if it comes nearer than what failed before.
func (p *pairing) makePlenty(failed *family) (bool, error) {
	s := p.referencePair()
	if s.refused != "" {
		return false, nil
	}
	var limits [2]float64
	for pool, r := range p.reference {
		limits[pool] = p.likePair(r).poolLimits(&p.sample.Work, true)[pool] / p.sample.Each
	}
	for _, times := range plentyTimes {
		for pool, limit := range limits {
			p.plenty[pool] = int(math.Ceil(times * p.asked() / limit))
		}
		ok, err := p.sustains(p.deployment(s, p.plenty[0], p.plenty[1]), p.grid.asked)
		if err != nil || ok {
			return ok, err
		}
	}
	_, err := p.failure(failed, p.deployment(s, p.plenty[0], p.plenty[1]))
	return false, err
}

func (p *pairing) referencePair() *shape {
	tokens, seqs := p.firstLimits()
	return p.pair(&half{replica: p.reference[0], limit: tokens}, &half{replica: p.reference[1], limit: seqs})
}
