package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// loads are how popular experts are and their copies, each of which is made of the first that has most.
func loads(e, redundant int, skew float64) []float64 {
	all, copies, sum := make([]float64, e), make([]float64, e), 0.0
	for i := range all {
		all[i] = math.Exp(math.Sqrt(2*math.Log(1+skew*skew)) * math.Erfinv((2*float64(i)+1)/float64(e)-1))
		sum += all[i]
		copies[i] = 1
	}
	for range redundant {
		most := 0
		for i := range all {
			if all[i]/copies[i] > all[most]/copies[most]*(1+1e-15) {
				most = i
			}
		}
		copies[most]++
	}
	var each []float64
	for i := range all {
		each = append(each, all[i]*float64(e)/sum/copies[i])
	}
	for i := range all {
		for range int(copies[i]) - 1 {
			each = append(each, each[i])
		}
	}
	return each
}

// touches is the share of all experts that so many tokens touch, and that of its own that the busiest GPU has: the mean
// of the greatest binomial is a sum over what all stay below.
func touches(d *hardware.Deployment, popular []float64, tokens float64) (all, busiest float64) {
	e, k, gpus := float64(d.Model.Experts()), float64(d.Model.TopK()), float64(d.Parallel.Tensor*d.Parallel.Ranks())
	squares, n := 0.0, float64(len(popular))
	for _, p := range popular {
		touched := 1 - math.Pow(1-min(p*k/e, 0.999), tokens)
		all, squares = all+touched/n, squares+touched*touched/n
	}
	if all >= 1-1e-9 {
		return all, all
	}
	m, free := math.Ceil((e+float64(d.Routing.Redundant))/gpus), 1-all
	neither := math.Exp(tokens * (math.Log((e-k)*(e-k-1)/(e*(e-1))) - 2*math.Log(1-k/e)))
	varies := m*all*free + m*(free*free-free*free*neither)
	if d.Routing.Balanced {
		varies -= m * max(0, squares-all*all)
	}
	greatest, below := 0.0, 0.0
	for x := range int(m) {
		ways, _ := math.Lgamma(m + 1)
		chosen, _ := math.Lgamma(float64(x) + 1)
		others, _ := math.Lgamma(m - float64(x) + 1)
		below += math.Exp(ways - chosen - others + float64(x)*math.Log(all) + (m-float64(x))*math.Log(free))
		greatest += 1 - math.Pow(min(1, below), gpus)
	}
	return all, min(1, all+(greatest-m*all)/math.Sqrt(m*all*free)*math.Sqrt(max(0, varies))/m)
}

// routed is what Touched says, worked out for each number of tokens that the tables have, and evenly between them.
func routed(d *hardware.Deployment, tokens float64) (all, busiest, rows float64) {
	e, k, gpus := float64(d.Model.Experts()), float64(d.Model.TopK()), float64(d.Parallel.Tensor*d.Parallel.Ranks())
	skew, waits := d.Routing.Skew, d.Efficiency.ExpertImbalance
	if skew == 0 {
		skew = d.Efficiency.ExpertSkew * min(1, e/128)
	}
	if d.Routing != (hardware.Routing{}) {
		waits = 1
	}
	if e == k {
		return 1, 1, 1
	}
	spread := d.Parallel.Expert && gpus > 1 && waits > 0
	popular, seen := loads(d.Model.Experts(), d.Routing.Redundant, skew), min(tokens, 2048)
	from, to := 0, 0
	for float64(to) < seen {
		from, to = to, min(2048, to+max(1, to/5))
	}
	low, lowBusiest := 0.0, 0.0
	if from > 0 {
		low, lowBusiest = touches(d, popular, float64(from))
	}
	high, highBusiest := touches(d, popular, float64(to))
	part := 0.0
	if to > from {
		part = (seen - float64(from)) / float64(to-from)
	}
	all, busiest = low+part*(high-low), lowBusiest+part*(highBusiest-lowBusiest)
	if skew == 0 && d.Routing.Redundant == 0 {
		all = 1 - math.Pow(1-k/e, tokens)
	}
	if !spread || tokens == 0 {
		return all, all, 1
	}
	uneven := gpus / (tokens * k) * (e - k) / (e - 1)
	if !d.Routing.Balanced {
		uneven += d.Routing.Skew * d.Routing.Skew * gpus / e
	}
	rows = max(busiest/all, 1+hardware.GreatestNormal(gpus)*math.Sqrt(uneven))
	return all, all + waits*(busiest-all), 1 + waits*(rows-1)
}

// TestTablesOfRoutingAreTheirFormula, of experts down to one, sliced or whole, on few GPUs or many, with copies or not,
// however scenarios or efficiencies have tokens choose them.
func TestTablesOfRoutingAreTheirFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(71, 72))
	one := func(of ...float64) float64 { return of[random.IntN(len(of))] }
	met := map[string]int{}
	for met["all"] < 150 {
		d := deployment(t, "mixtral-8x7b", "h100-sxm", 1)
		e := int(one(1, 2, 3, 4, 8, 60, 200))
		d.Model.Layers = []llm.LayerRun{{Count: 1, Mixer: d.Model.Layers[0].Mixer, FFN: llm.FFN{Experts: e, ExpertWidth: 8,
			TopK: min(e, int(one(1, 2, 3, 8)))}}}
		d.Parallel.Data, d.Parallel.Expert = int(one(1, 2, 3, 4, 8)), random.IntN(3) > 0
		d.Efficiency.ExpertImbalance, d.Efficiency.ExpertSkew = one(0, 0.3, 1), one(0, 0, 1.5)
		d.Routing.Skew, d.Routing.Balanced = one(0, 0, 0.4, 3), random.IntN(2) == 0
		if d.Routing.Balanced {
			d.Routing.Redundant = random.IntN(9)
		}
		if d.Validate() != nil {
			continue
		}
		for _, tokens := range []float64{0, 1, 2, 2.5, 3 + float64(random.IntN(300)), 2047, 2048, 5000} {
			all, busiest, rows := hardware.Touched(&d, tokens)
			wantAll, wantBusiest, wantRows := routed(&d, tokens)
			what := []any{"%g tokens, %d experts, %+v, %+v", tokens, e, d.Parallel, d.Routing}
			require.InDelta(t, wantAll, all, 1e-9, what...)
			require.InDelta(t, wantBusiest, busiest, 1e-9, what...)
			require.InDelta(t, wantRows, rows, 1e-8*wantRows, what...)
		}
		met["all"]++
		for name, on := range map[string]bool{"copies": d.Routing.Redundant > 0, "uneven": d.Routing.Skew > 0,
			"usual": d.Efficiency.ExpertSkew > 0 && d.Routing.Skew == 0, "whole": d.Parallel.Expert && d.Parallel.Data == 2} {
			if on {
				met[name]++
			}
		}
	}
	require.Len(t, met, 5, "%v", met)
}

// TestAnExpertWithMostHasTheNextCopy: the first of equals, and then each that has more than the others.
func TestAnExpertWithMostHasTheNextCopy(t *testing.T) {
	for redundant, want := range map[int][]float64{
		1: {0.5, 1, 1, 1, 1, 1, 1, 1, 0.5}, 2: {0.5, 0.5, 1, 1, 1, 1, 1, 1, 0.5, 0.5},
		9: {1. / 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1. / 3, 1. / 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
	} {
		d := deployment(t, "mixtral-8x7b", "h100-sxm", 1)
		d.Routing.Redundant = redundant
		require.InDeltaSlice(t, want, hardware.Popularity(&d), 1e-12)
	}
}

// TestTokensReachSomeGroupsOfExperts, on as many places as the ways to choose groups say, also where so many are chosen
// that no place is without one.
func TestTokensReachSomeGroupsOfExperts(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 1)
	d.Model.Layers = []llm.LayerRun{{Count: 1, Mixer: d.Model.Layers[0].Mixer}}
	f := &d.Model.Layers[0].FFN
	for _, groups := range []int{1, 4, 8} {
		for top := 1; top <= groups; top++ {
			for _, k := range []int{1, 2, 5, 8, 10, 13, 32} {
				*f = llm.FFN{Experts: 64, ExpertWidth: 1, TopK: k, Groups: groups, TopGroups: top}
				for _, n := range []int{1, 2, 4, 8, 16, 32} {
					require.InDelta(t, hit(&d, n), d.Reached(n), 1e-9, "%d places, %+v", n, *f)
				}
			}
		}
	}
}
