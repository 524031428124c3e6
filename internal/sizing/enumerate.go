package sizing

import (
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
)

// enumerate lists the deployments that the budget allows: with as many replicas as it takes where most is asked for,
// and with any number where cheapest is.
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
		for _, replicas := range c.fill(fits, s.Rate.At > 0, s.Search.Split) {
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
	if len(z.all) > 0 {
		return nil
	}
	if len(refused) > 0 {
		return s.Errorf("search", "nothing in it can be deployed: %s", strings.Join(refused, "; "))
	}
	return s.Errorf("budget", "takes no replica: %d GPUs; the smallest deployment of the search takes %d", z.out.GPUsMax,
		z.smallest())
}

// refusals says why there can be no deployment of some shapes: each reason once, with all it holds for.
func refusals(shapes []*shape) (all []string) {
	of := map[string][]string{}
	var reasons []string
	for _, s := range shapes {
		if s.refused == "" {
			continue
		}
		if of[s.refused] == nil {
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
	return all
}

// budget returns whether replicas of c fit the budget, and how many GPUs it buys.
func (z *sizer) budget(c *shape) (fits func(replicas ...int) bool, gpus int, err error) {
	b := &z.study.Budget
	gpus = b.GPUs
	if b.USDPerHour > 0 {
		least := slices.Min(c.pricesUSD)
		if least == 0 {
			return nil, 0, z.study.Errorf("budget.usd_per_hour", "the catalog has no price of %s; expected gpus instead",
				c.unpriced())
		}
		most := int(math.Floor(b.USDPerHour/least + 1e-9))
		if gpus == 0 || most < gpus {
			gpus = most
		}
	}
	return func(replicas ...int) bool {
		n, usd := 0, 0.0
		for i, k := range replicas {
			n += k * c.gpus[i]
			usd += float64(float64(k*c.gpus[i]) * c.pricesUSD[i])
		}
		return n <= gpus && (b.USDPerHour == 0 || usd <= b.USDPerHour+1e-9)
	}, gpus, nil
}

// unpriced returns the first GPU of s without a price.
func (s *shape) unpriced() string { return s.scenario.Pools[slices.Index(s.pricesUSD, 0)].GPU }

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

// landscape returns, for the plot of splits, what takes as many GPUs as d does, under the batch limits of d.
func (z *sizer) landscape(d *deployment) (all []*deployment) {
	for _, c := range z.shapes {
		if c.refused != "" || c.setting.seqs != d.setting.seqs || c.setting.tokens != d.setting.tokens {
			continue
		}
		fits := func(replicas ...int) bool {
			n := 0
			for i, k := range replicas {
				n += k * c.gpus[i]
			}
			return n <= d.is.GPUs
		}
		for _, replicas := range c.fill(fits, false, z.study.Search.Split) {
			all = append(all, c.deploy(replicas...))
		}
	}
	for _, e := range all {
		e.bound = d.bound
	}
	return all
}
