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
	var refused []string
	for _, c := range z.shapes {
		if c.refused != "" {
			if !slices.Contains(refused, c.refused) {
				refused = append(refused, c.refused)
			}
			continue
		}
		gpus, err := z.budget(c)
		if err != nil {
			return err
		}
		z.out.GPUsMax = max(z.out.GPUsMax, gpus)
		for _, replicas := range c.fill(gpus, s.Rate.At > 0, s.Search.Split) {
			z.all = append(z.all, c.deploy(replicas...))
		}
		if len(z.all) > manyMax {
			return s.Errorf("search", "more than %d deployments; expected fewer values, a smaller budget, or splits named",
				manyMax)
		}
	}
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

// budget returns the GPUs that the budget buys.
func (z *sizer) budget(c *shape) (int, error) {
	b := &z.study.Budget
	if b.USDPerHour == 0 {
		return b.GPUs, nil
	}
	if c.priceUSD == 0 {
		return 0, z.study.Errorf("budget.usd_per_hour", "the catalog has no price of %s; expected gpus instead", z.out.GPU)
	}
	n := int(math.Floor(b.USDPerHour/c.priceUSD + 1e-9))
	if b.GPUs > 0 {
		n = min(n, b.GPUs)
	}
	return n, nil
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

// fill returns the numbers of replicas that some GPUs take: the most of them, or any.
func (s *shape) fill(gpus int, every bool, splits configs.Splits) (all [][]int) {
	if s.topology == configs.Colocated {
		for n := gpus / s.gpus[0]; n >= 1; n-- {
			all = append(all, []int{n})
			if !every {
				break
			}
		}
		slices.Reverse(all)
		return all
	}
	if !splits.All() {
		for _, text := range splits {
			p, d, _ := configs.ParseSplit(text)
			most := gpus / (p*s.gpus[0] + d*s.gpus[1])
			for n := 1; n <= most; n++ {
				if every || n == most {
					all = append(all, []int{p * n, d * n})
				}
			}
		}
		return all
	}
	for p := 1; p*s.gpus[0]+s.gpus[1] <= gpus; p++ {
		most := (gpus - p*s.gpus[0]) / s.gpus[1]
		for d := 1; d <= most; d++ {
			if every || d == most {
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
		for _, replicas := range c.fill(d.is.GPUs, false, z.study.Search.Split) {
			all = append(all, c.deploy(replicas...))
		}
	}
	for _, e := range all {
		e.bound = d.bound
	}
	return all
}
