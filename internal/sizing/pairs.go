package sizing

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
)

// half is one pool of a disaggregated deployment, and how many replicas of it the asked rate needs where the other pool
// is never short. A deployment of two pools needs at least as many of both.
type half struct {
	replica
	limit    int // max_num_batched_tokens of a prefill pool, max_num_seqs of a decode pool; 0: the scenario's
	replicas int // 0: no number does
}

// pairing is the search of disaggregated deployments.
type pairing struct {
	*sizer
	prefills, decodes []*half
	reference         [2]replica // the pools that stand in where the other half is sought
	plenty            [2]int     // replicas of them, that are never short
	hopeless          *attempt   // plenty of both is not enough; nil: it is
}

// disaggregated searches the replicas that each family of two pools needs. The search is by halves: how many prefill
// replicas of a kind, beside plenty that decode, and the reverse. Then pairs are tried in the order of what they cost
// at least, each with a replica more of either pool where it fails, so that the first that sustains the rate is the
// cheapest.
func (z *sizer) disaggregated() ([]*family, error) {
	p := &pairing{sizer: z}
	z.report("pools that are never short", 0, 1)
	ok, err := p.refer()
	if err != nil || !ok {
		return nil, err
	}
	if p.hopeless != nil {
		f := familyOf(p.hopeless.shape)
		f.failed, f.searched = p.hopeless, true
		return []*family{f}, nil
	}
	if err := p.halves(); err != nil {
		return nil, err
	}
	groups := p.groups()
	for _, g := range groups {
		g.family.seeds, g.search = z.firstSeeds(), func() error { return p.cheapestOf(g) }
	}
	err = z.over(len(groups), "disaggregated deployments", func(i int) error { return groups[i].search() })
	families := make([]*family, len(groups))
	for i, g := range groups {
		families[i] = g.family
	}
	return families, err
}

// pair returns the shape of two pools, the same one whenever it is asked for.
func (z *sizer) pair(prefill, decode *half) *shape {
	s := z.unbuiltPair(prefill, decode)
	s.once.Do(func() { z.tryShape(s) })
	return s
}

func (z *sizer) unbuiltPair(prefill, decode *half) *shape {
	c := setting{decode.gpu, prefill.gpu, decode.layout, prefill.layout, decode.limit, prefill.limit}
	z.mu.Lock()
	s := z.pairs[c]
	if s == nil {
		s = z.newShape(configs.Disaggregated, c)
		z.pairs[c] = s
	}
	z.mu.Unlock()
	return s
}

// firstLimits returns the batch limits of prefill and decode pools that a study names first.
func (z *sizer) firstLimits() (tokens, seqs int) {
	q := &z.study.Search
	return orOne(q.MaxNumBatchedTokens)[0], orOne(q.MaxNumSeqs)[0]
}

// prefillReplicas returns the choices for prefill pools, beside whichever pool that decodes.
func (z *sizer) prefillReplicas() (all []replica) {
	for _, decode := range z.replicas() {
		for _, r := range z.prefillsBeside(decode) {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// likePairs returns pairs of pools that are alike, of every kind of either: what does not fit then fits nowhere.
func (z *sizer) likePairs() (all []*shape) {
	kinds := z.prefillReplicas()
	for _, r := range z.replicas() {
		if !slices.Contains(kinds, r) {
			kinds = append(kinds, r)
		}
	}
	for _, r := range kinds {
		all = append(all, z.likePair(r))
	}
	return all
}

func (z *sizer) likePair(r replica) *shape {
	tokens, seqs := z.firstLimits()
	return z.unbuiltPair(&half{replica: r, limit: tokens}, &half{replica: r, limit: seqs})
}

// halves finds how many replicas of each half the rate needs beside plenty of the other, under the best batch limit.
func (p *pairing) halves() error {
	n := len(p.prefills)
	err := p.over(n+len(p.decodes), "pools", func(i int) error {
		if i < n {
			return p.least(p.prefills[i], 0, orOne(p.study.Search.MaxNumBatchedTokens))
		}
		return p.least(p.decodes[i-n], 1, orOne(p.study.Search.MaxNumSeqs))
	})
	none := func(h *half) bool { return h.replicas == 0 }
	p.prefills, p.decodes = slices.DeleteFunc(p.prefills, none), slices.DeleteFunc(p.decodes, none)
	return err
}

// least finds the fewest replicas of a half, and the batch limit under which these do.
func (p *pairing) least(h *half, pool int, limits []int) error {
	tokens, seqs := p.firstLimits()
	other := &half{replica: p.reference[1-pool], limit: []int{tokens, seqs}[1-pool]}
	for _, most := range limits {
		tried := &half{replica: h.replica, limit: most}
		s := p.pair(tried, other)
		if pool == 1 {
			s = p.pair(other, tried)
		}
		if s.refused != "" {
			continue
		}
		low := p.replicasAt(s.poolLimits(&p.sample.Work, false)[pool])
		usual := p.replicasAt(s.poolLimits(&p.sample.Work, true)[pool])
		// From below: what fails ends early, and what does not runs to its end beside plenty of the other.
		high, guess := min(gpusMax/s.gpus[pool], idleTimes*usual), low
		if h.replicas > 0 {
			high, guess = h.replicas-1, h.replicas-1
		}
		if high < low {
			continue
		}
		n, err := smallest(low, guess, high, func(n int) (bool, error) {
			replicas := [2]int{}
			replicas[pool], replicas[1-pool] = n, p.plenty[1-pool]
			return p.sustains(p.deployment(s, replicas[0], replicas[1]), p.grid.asked)
		})
		if err != nil {
			return err
		}
		if n > 0 {
			h.replicas, h.limit = n, most
		}
	}
	return nil
}

// replicasAt returns how many replicas the asked rate takes, each of which sustains so many requests/s.
func (z *sizer) replicasAt(limitPerS float64) int {
	return max(1, int(math.Ceil(z.asked()*z.sample.Each/limitPerS-1e-9)))
}

// group is pairs of halves of which the cheapest is sought.
type group struct {
	*family
	pairs [][2]*half
}

// groups returns the searches: of each pair of GPUs the cheapest whatever the layouts, and of each GPU those whose
// pools have equal layouts.
func (p *pairing) groups() []*group {
	var all []*group
	find := func(key string, mixed bool, pair [2]*half) {
		i := slices.IndexFunc(all, func(g *group) bool { return g.series == key && g.mixed == mixed })
		if i < 0 {
			i = len(all)
			all = append(all, &group{family: &family{topology: configs.Disaggregated, series: key, mixed: mixed}})
		}
		all[i].pairs = append(all[i].pairs, pair)
	}
	for _, decode := range p.decodes {
		beside := p.prefillsBeside(decode.replica)
		for _, prefill := range p.prefills {
			if !slices.Contains(beside, prefill.replica) {
				continue
			}
			pair := [2]*half{prefill, decode}
			find(prefill.gpu+"/"+decode.gpu, true, pair)
			if prefill.replica == decode.replica {
				find(p.pair(prefill, decode).series(), false, pair)
			}
		}
	}
	return all
}

// triesMax bounds the pairs of a group that are simulated.
const triesMax = 60

// cheapestOf tries the pairs of a group in the order of their cost.
func (p *pairing) cheapestOf(g *group) error {
	g.searched = true
	var open []*deployment
	known := map[string]bool{}
	push := func(s *shape, prefill, decode int) error {
		d := p.deployment(s, prefill, decode)
		fits, err := p.fitsBudget(d)
		if err != nil || known[d.is.Name] || !fits || !p.splitAsked(prefill, decode) {
			return err
		}
		known[d.is.Name] = true
		open = append(open, d)
		return nil
	}
	waiting := p.byCost(g.pairs)
	for tries := 0; tries < triesMax; tries++ {
		i := cheapestIndex(open)
		for ; len(waiting) > 0 && (i < 0 || !waiting[0].dearer(open[i])); waiting = waiting[1:] {
			pair := waiting[0].pair
			s := p.pair(pair[0], pair[1])
			if s.refused != "" {
				continue
			}
			if g.gpus == nil {
				g.gpus = familyOf(s).gpus
			}
			if err := p.seed(s, pair, push); err != nil {
				return err
			}
			i = cheapestIndex(open)
		}
		if i < 0 {
			break
		}
		d := open[i]
		open = slices.Delete(open, i, i+1)
		ok, err := p.sustains(d, p.grid.asked)
		if ok && err == nil {
			ok, err = p.confirmed(d, g.seeds)
		}
		if err != nil {
			return err
		}
		if ok {
			g.best, g.series = d, d.series()
			return nil
		}
		if g.failed == nil {
			if _, err := p.failure(g.family, d); err != nil {
				return err
			}
		}
		for _, more := range p.neighbours(d) {
			if err := push(d.shape, more[0], more[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// seed begins with the fewest replicas of both halves, or with the splits that the study names.
func (p *pairing) seed(s *shape, pair [2]*half, push func(*shape, int, int) error) error {
	splits := p.study.Search.Split
	if splits.All() {
		return push(s, pair[0].replicas, pair[1].replicas)
	}
	for _, text := range splits {
		a, b, _ := configs.ParseSplit(text)
		n := max((pair[0].replicas+a-1)/a, (pair[1].replicas+b-1)/b)
		if err := push(s, n*a, n*b); err != nil {
			return err
		}
	}
	return nil
}

// neighbours returns the next larger numbers of replicas.
func (p *pairing) neighbours(d *deployment) [][2]int {
	prefill, decode := d.replicas[0], d.replicas[1]
	if p.study.Search.Split.All() {
		return [][2]int{{prefill + 1, decode}, {prefill, decode + 1}}
	}
	n := gcd(prefill, decode)
	return [][2]int{{prefill / n * (n + 1), decode / n * (n + 1)}}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// splitAsked reports whether the study looks at a split.
func (p *pairing) splitAsked(prefill, decode int) bool {
	if p.study.Search.Split.All() {
		return true
	}
	return slices.ContainsFunc(p.study.Search.Split, func(text string) bool {
		a, b, _ := configs.ParseSplit(text)
		return prefill*b == decode*a && prefill%a == 0
	})
}

// fitsBudget reports whether d is within the budget.
func (z *sizer) fitsBudget(d *deployment) (bool, error) {
	if !z.study.Budget.Limited() {
		return d.is.GPUs <= gpusMax, nil
	}
	fits, _, err := z.budget(d.shape)
	return err == nil && fits(d.replicas...), err
}

// unbuilt is a pair of halves that is built once no cheaper one is left, and what it costs at least.
type unbuilt struct {
	pair [2]*half
	usd  float64 // infinite: a price is unknown
	gpus int
}

// byCost returns pairs in the order of what they cost at least: the replicas that each half needs.
func (p *pairing) byCost(pairs [][2]*half) []unbuilt {
	all := make([]unbuilt, len(pairs))
	for i, pair := range pairs {
		all[i].pair = pair
		for pool, h := range pair {
			like := p.likePair(h.replica)
			n, price := h.replicas*like.gpus[pool], like.pricesUSD[pool]
			if price == 0 {
				price = math.Inf(1)
			}
			all[i].usd, all[i].gpus = all[i].usd+float64(float64(n)*price), all[i].gpus+n
		}
	}
	slices.SortStableFunc(all,
		func(a, b unbuilt) int { return cmp.Or(cmp.Compare(a.usd, b.usd), cmp.Compare(a.gpus, b.gpus)) })
	return all
}

// dearer reports whether u costs more than d.
func (u *unbuilt) dearer(d *deployment) bool {
	return cmp.Or(cmp.Compare(u.usd, d.usd()), cmp.Compare(u.gpus, d.is.GPUs)) > 0
}

// cheapestIndex returns the index of the cheapest deployment; −1: there is none.
func cheapestIndex(all []*deployment) int {
	best := min(0, len(all)-1)
	for i, d := range all {
		if cmp.Or(cheaper(d, all[best]), strings.Compare(d.is.Name, all[best].is.Name)) < 0 {
			best = i
		}
	}
	return best
}
