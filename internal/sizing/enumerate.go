package sizing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
)

// enumerate lists the deployments that the budget allows: with as many replicas as it takes where most is asked for,
// and one of each shape where the search says how many the cheapest needs.
func (z *sizer) enumerate() error {
	s := z.study
	for _, c := range z.shapes {
		if c.refused != "" {
			continue
		}
		fits, gpus, err := z.budget(c)
		if err != nil {
			return err
		}
		z.out.GPUsMax = max(z.out.GPUsMax, gpus)
		if s.Rate.At > 0 {
			if one := c.deploy(c.one()...); fits(one.replicas...) {
				z.all = append(z.all, one)
			}
			continue
		}
		for _, replicas := range c.fill(fits, false, s.Search.Split) {
			z.all = append(z.all, c.deploy(replicas...))
		}
		if len(z.all) > manyMax {
			return s.Errorf("search", "more than %d deployments; expected fewer values, a smaller budget, or splits named",
				manyMax)
		}
	}
	refused := refusals(z.shapes)
	for _, why := range refused {
		z.out.Notes = append(z.out.Notes, "left out: "+why)
	}
	z.noteUnpriced()
	if len(z.all) > 0 {
		return nil
	}
	if len(refused) > 0 {
		return s.Errorf("search", "nothing in it can be deployed: %s", strings.Join(refused, "; "))
	}
	return s.Errorf("budget", "takes no replica: %d GPUs; the smallest deployment of the search takes %d", z.out.GPUsMax,
		z.smallest())
}

// noteUnpriced says which GPUs have no price where others have one: as costs are compared, they cannot win.
func (z *sizer) noteUnpriced() {
	var unpriced []string
	priced := false
	for _, s := range z.shapes {
		for i, price := range s.pricesUSD {
			name := s.scenario.Pools[i].GPU.Name()
			priced = priced || price > 0
			if price == 0 && !slices.Contains(unpriced, name) {
				unpriced = append(unpriced, name)
			}
		}
	}
	if priced && len(unpriced) > 0 {
		z.out.Notes = append(z.out.Notes, "no source states a price of "+strings.Join(unpriced, ", ")+
			": what has a price comes before, whatever the GPUs that it takes")
	}
}

// refusals says why there can be no deployment of some shapes: each reason once, with all it holds for.
func refusals(shapes []*shape) (all []string) {
	of := map[string][]string{}
	var reasons []string
	for _, s := range shapes {
		if s.refused == "" || s.tooLarge != nil {
			continue
		}
		if !slices.Contains(reasons, s.refused) {
			reasons = append(reasons, s.refused)
		}
		if name := s.setting.String(); name != "" && !slices.Contains(of[s.refused], name) {
			of[s.refused] = append(of[s.refused], name)
		}
	}
	for _, why := range reasons {
		if names := of[why]; len(names) > 0 {
			why = strings.Join(names, ", ") + ": " + why
		}
		all = append(all, why)
	}
	if tight := tooLarge(shapes); tight != "" {
		all = append(all, tight)
	}
	return all
}

// tooLarge says in one sentence on what the model does not fit, and how much each GPU lacks at the least; empty: it
// fits everywhere.
func tooLarge(shapes []*shape) string {
	least := map[string]*hardware.MemoryError{}
	var names []string
	for _, s := range shapes {
		e := s.tooLarge
		fits := func(o *shape) bool { return o.refused == "" && o.setting.String() == s.setting.String() }
		if e == nil || slices.ContainsFunc(shapes, fits) {
			continue // or it does under other batch limits
		}
		d := e.Parallel
		name := configs.Layout{Tensor: d.Tensor, Pipeline: d.Pipeline, Data: d.Data, Expert: d.Expert}.String() + " " + e.GPU
		switch known := least[name]; {
		case known == nil:
			names = append(names, name)
			least[name] = e
		case e.MissBytes < known.MissBytes:
			least[name] = e
		}
	}
	if len(names) == 0 {
		return ""
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%.1f GB under %s", least[name].MissBytes/1e9, name))
	}
	name := names[len(names)-1]
	hint := least[name].Hint
	if len(names) > 1 { // what would do is of one layout
		hint = "under " + name + ", " + hint
	}
	return fmt.Sprintf("%s does not fit: each GPU lacks at least %s; %s", least[name].Model, strings.Join(parts, ", "),
		hint)
}

// one is a replica of each pool.
func (s *shape) one() []int {
	replicas := make([]int, len(s.gpus))
	for i := range replicas {
		replicas[i] = 1
	}
	return replicas
}

// budget returns whether replicas of c fit the budget, and how many GPUs it buys; 0: there is none.
func (z *sizer) budget(c *shape) (fits func(replicas ...int) bool, gpus int, err error) {
	b := &z.study.Budget
	gpus = b.GPUs
	if !b.Limited() {
		return func(replicas ...int) bool { return c.gpusOf(replicas) <= gpusMax }, 0, nil
	}
	for _, of := range []struct {
		key, unknown string
		most         float64
		each         []float64 // of a GPU, by pool
	}{{"usd_per_hour", "the catalog has no price of", b.USDPerHour, c.pricesUSD},
		{"power_w", "no source states the power of", b.PowerW, c.tdpW}} {
		if of.most == 0 {
			continue
		}
		least := slices.Min(of.each)
		if least == 0 {
			gpu := c.scenario.Pools[slices.Index(of.each, 0)].GPU.Name()
			return nil, 0, z.study.Errorf("budget."+of.key, "%s %s; expected gpus instead", of.unknown, gpu)
		}
		if most := int(math.Floor(of.most/least + 1e-9)); gpus == 0 || most < gpus {
			gpus = most
		}
	}
	return func(replicas ...int) bool {
		return c.gpusOf(replicas) <= gpus && (b.USDPerHour == 0 || c.sum(replicas, c.pricesUSD) <= b.USDPerHour+1e-9) &&
			(b.PowerW == 0 || c.sum(replicas, c.tdpW) <= b.PowerW+1e-9)
	}, gpus, nil
}

// sum adds up a number of every GPU, which is known by pool.
func (s *shape) sum(replicas []int, each []float64) (sum float64) {
	for i, k := range replicas {
		sum += float64(float64(k*s.gpus[i]) * each[i])
	}
	return sum
}

// gpusOf returns the GPUs of numbers of replicas.
func (s *shape) gpusOf(replicas []int) int {
	n := 0
	for i, k := range replicas {
		n += k * s.gpus[i]
	}
	return n
}

// smallest returns the GPUs of one replica of each pool of the smallest shape.
func (z *sizer) smallest() int {
	least := math.MaxInt
	for _, c := range z.shapes {
		if c.refused != "" {
			continue
		}
		sum := 0
		for _, n := range c.gpus {
			sum += n
		}
		least = min(least, sum)
	}
	return least
}

// fill returns the numbers of replicas that fit: the most of them, or any.
func (s *shape) fill(fits func(...int) bool, every bool, splits configs.Splits) (all [][]int) {
	if s.topology == configs.Colocated {
		for n := 1; fits(n); n++ {
			all = append(all, []int{n})
		}
		if n := len(all); n > 1 && !every {
			all = all[n-1:]
		}
		return all
	}
	if !splits.All() {
		for _, text := range splits {
			p, d, _ := configs.ParseSplit(text)
			for n := 1; fits(p*n, d*n); n++ {
				if every || !fits(p*(n+1), d*(n+1)) {
					all = append(all, []int{p * n, d * n})
				}
			}
		}
		return all
	}
	for p := 1; fits(p, 1); p++ {
		for d := 1; fits(p, d); d++ {
			if every || !fits(p, d+1) {
				all = append(all, []int{p, d})
			}
		}
	}
	return all
}

// landscape returns, for the plot of splits, what takes as many GPUs as d does: the families that sustain the rate on
// GPUs of the same kind, under every split.
func (z *sizer) landscape(d *deployment) (all []*deployment) {
	if len(familyOf(d.shape).gpus) > 1 {
		return nil // GPUs of several kinds are not alike
	}
	var done []*shape
	for _, f := range z.families {
		if f.best == nil || slices.Contains(done, f.best.shape) || f.best.is.Pools[0].GPU != d.is.Pools[0].GPU {
			continue
		}
		c := f.best.shape
		done = append(done, c)
		fits := func(replicas ...int) bool { return c.gpusOf(replicas) <= d.is.GPUs }
		for _, replicas := range c.fill(fits, false, z.study.Search.Split) {
			all = append(all, z.deployment(c, replicas...))
		}
	}
	return all
}
