package sizing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Failure is why nothing sustains the lowest rate: what came nearest to it, and what nobody tried.
type Failure struct {
	RatePerS   float64           `json:"rate_per_s"`
	Nearest    Deployment        `json:"nearest"`
	Attainment float64           `json:"attainment"` // of the rule that it misses most: the share within its limit
	SLO        []metrics.Verdict `json:"slo"`
	Broke      string            `json:"broke"`     // the rule that it misses most
	NotTried   []string          `json:"not_tried"` // which might change the answer
}

// fail explains that nothing sustains the lowest rate.
func (z *sizer) fail() error {
	nearest, err := z.nearest()
	if err != nil || nearest == nil {
		return err
	}
	f := &Failure{RatePerS: nearest.Rate, Nearest: nearest.is, Attainment: nearest.Within, SLO: nearest.Verdicts,
		NotTried: z.notTried()}
	if i := worst(nearest.Verdicts); i >= 0 {
		f.Broke = nearest.Verdicts[i].Rule
	}
	z.out.Failure = f
	return nil
}

// failuresMax bounds the deployments that are looked at for the nearest to an answer.
const failuresMax = 32

// nearest returns what comes nearest to the lowest rate.
func (z *sizer) nearest() (*attempt, error) {
	var all []*attempt
	for _, f := range z.families {
		if f.failed != nil {
			all = append(all, f.failed)
		}
	}
	if z.grid.at == 0 || len(all) == 0 {
		order := slices.Clone(z.all)
		slices.SortStableFunc(order, func(a, b *deployment) int { return cmp.Compare(b.bound, a.bound) })
		order = order[:min(len(order), failuresMax)]
		all = make([]*attempt, len(order))
		err := z.over(len(order), "what comes nearest", func(i int) error {
			x, err := z.simulate(order[i], z.grid.asked, rounds(z.study.Requests)[0].requests, z.base.Seed, whole)
			all[i] = &attempt{order[i], x}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return slices.MaxFunc(all, func(a, b *attempt) int {
		return cmp.Or(nearness(a.Within, b.Within, a.Verdicts, b.Verdicts), cmp.Compare(b.is.GPUs, a.is.GPUs))
	}), nil
}

// nearness compares how near two runs come to the SLO: by the share within the limit that they miss most, and where
// that is the same, as it is where it is none, by how far beyond the limit they are.
func nearness(within, other float64, verdicts, others []metrics.Verdict) int {
	return cmp.Or(cmp.Compare(within, other), cmp.Compare(leastMargin(verdicts), leastMargin(others)))
}

// leastMargin is the margin of the rule that is furthest outside its limit; 0: all hold.
func leastMargin(verdicts []metrics.Verdict) float64 {
	if i := worst(verdicts); i >= 0 {
		return verdicts[i].Margin
	}
	return 0
}

// worst returns the index of the rule that is furthest outside its limit; −1: all hold.
func worst(verdicts []metrics.Verdict) int {
	at := -1
	for i := range verdicts {
		if v := &verdicts[i]; v.Broken() && (at < 0 || !(v.Margin >= verdicts[at].Margin)) {
			at = i
		}
	}
	return at
}

// whyNone says why no deployment of a family sustains the rate.
func (z *sizer) whyNone(f *family) string {
	most := "the budget"
	if !z.study.Budget.Limited() {
		most = fmt.Sprintf("the %s that are tried without a budget", text.Counted(gpusMax, "GPU"))
	}
	switch {
	case f.failed == nil && f.least > 0:
		return fmt.Sprintf("at least %s by its roofline limit, more than %s", text.Counted(f.least, "GPU"), most)
	case f.failed == nil && f.topology == configs.Disaggregated:
		return "no pair of pools that it allows is within " + most
	case f.failed == nil: // the fewest were found, and then not confirmed
		return "short runs that it sustains are not confirmed by whole ones, whatever the replicas within " + most
	}
	if i := worst(f.failed.Verdicts); i >= 0 {
		v := &f.failed.Verdicts[i]
		return fmt.Sprintf("%s is %s on %s", v.Rule, report.RuleValue(v), text.Counted(f.failed.is.GPUs, "GPU"))
	}
	return fmt.Sprintf("short runs that it sustains are not confirmed by whole ones on %s",
		text.Counted(f.failed.is.GPUs, "GPU"))
}

// notTried lists what the search left out and might have changed its answer.
func (z *sizer) notTried() (all []string) {
	q := &z.study.Search
	for _, topology := range []string{configs.Colocated, configs.Disaggregated} {
		if !z.searches(topology) {
			all = append(all, topology+" deployments")
		}
	}
	if z.study.Budget.Limited() {
		all = append(all, "a larger budget")
	}
	all = append(all, "GPUs other than "+z.out.GPU)
	if !q.Parallel.Auto() {
		all = append(all, "layouts other than "+strings.Join(z.layoutNames(), ", "))
	}
	for _, of := range []struct {
		name string
		list []int
	}{{"max_num_seqs", q.MaxNumSeqs}, {"max_num_batched_tokens", q.MaxNumBatchedTokens}} {
		if len(of.list) < 2 {
			all = append(all, "other "+of.name)
		}
	}
	if z.base.KVCache == "" {
		all = append(all, "a KV cache of fp8")
	}
	if !z.base.Speculation.On() {
		all = append(all, "speculation")
	}
	return append(all, "other engines than "+z.base.Pools[0].Engine)
}

// layoutNames returns the layouts that were searched, each once.
func (z *sizer) layoutNames() (names []string) {
	for _, s := range z.shapes {
		if s.refused != "" {
			continue
		}
		for i := range s.scenario.Pools {
			if name := configs.LayoutOf(&s.scenario.Pools[i]).String(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// soFar says what a search that did not end had found: the cheapest deployment that sustained the asked rate in a run,
// or the one that sustained most, of whole runs before short ones, which flatter.
func (z *sizer) soFar() string {
	z.mu.Lock()
	made := slices.Collect(maps.Keys(z.simulated))
	known := maps.Clone(z.deployments)
	z.mu.Unlock()
	for _, d := range z.all {
		known[d.is.Name] = d
	}
	slices.SortFunc(made, func(a, b simulation) int { // whole runs first, then by name: no map decides
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(a.name, b.name), cmp.Compare(b.step, a.step))
	})
	var best *deployment
	var of simulation
	for _, k := range made {
		d := known[k.name]
		if d == nil || !z.simulated[k].Carried || z.grid.at > 0 && k.step < z.grid.asked ||
			best != nil && k.requests < of.requests {
			continue
		}
		if fits, err := z.fitsBudget(d); err != nil || !fits {
			continue
		}
		if best == nil || z.grid.at > 0 && cheaper(d, best) < 0 || z.grid.at == 0 && k.step > of.step {
			best, of = d, k
		}
	}
	runs := text.Counted(z.runs.Load(), "run")
	if best == nil {
		return fmt.Sprintf("unfinished: after %s nothing is found that sustains a rate", runs)
	}
	cost := ""
	if best.is.USDPerHour > 0 {
		cost = fmt.Sprintf(", %s per hour", text.USD(best.is.USDPerHour))
	}
	first := "the one that sustains most"
	if z.grid.at > 0 {
		first = "the cheapest"
	}
	x := z.simulated[of]
	return fmt.Sprintf("unfinished: %s so far, after %s, is %s on %s%s, which sustained %s %s in a run of %s",
		first, runs, best.is.Name, best.is.hardware(), cost, text.Significant(x.Rate), z.out.Unit,
		text.Counted(x.Work.Requests, "request"))
}
