package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Row is the cheapest deployment of a topology, of kinds of GPUs and of a layout that sustains the asked rate. What it
// does, it does at that rate.
type Row struct {
	Deployment                            // without a name: none sustains the rate
	GPU                 string            `json:"gpu"`             // of the pools, each kind once: h200-sxm, or b200-sxm + h200-sxm
	Layout              string            `json:"layout"`          // tp4, or tp2/tp4 of prefill and decode pools
	CheapestOfGPU       bool              `json:"cheapest_of_gpu"` // among all rows of its kinds of GPUs
	Seeds               int               `json:"seeds"`           // under which whole runs sustain the rate
	USDPerMillionTokens float64           `json:"usd_per_million_output_tokens,omitempty"`
	Spending            *Spending         `json:"spending,omitempty"`
	CapacityPerS        stats.Number      `json:"capacity_per_s"` // null: not sought
	Margin              stats.Number      `json:"margin"`         // capacity over the asked rate, less 1; null: not sought
	TTFTS               Percentile        `json:"ttft_s"`
	TPOTS               Percentile        `json:"tpot_s"`
	SLO                 []metrics.Verdict `json:"slo"`
	More                []More            `json:"more,omitempty"` // twice and three times the rate; only of the cheapest of a GPU
	Warnings            []string          `json:"warnings,omitempty"`
	Why                 string            `json:"why,omitempty"` // there is none
}

// More is what becomes of a multiple of the asked rate.
type More struct {
	Times    int               `json:"times"`
	RatePerS float64           `json:"rate_per_s"`
	SLO      []metrics.Verdict `json:"slo"`   // of the deployment as it is
	Needs    *Deployment       `json:"needs"` // the same with more replicas; null: none within reach sustains it
}

// rows fills the cheapest deployment of each family, and what becomes of more load; first is the answer; nil: none.
func (z *sizer) rows(first *deployment) error {
	var printed []*family
	for _, f := range z.families {
		if f.redundant(z.families) {
			continue
		}
		printed = append(printed, f)
	}
	slices.SortStableFunc(printed, func(a, b *family) int {
		return cmp.Or(cmp.Compare(len(a.gpus), len(b.gpus)), cmp.Compare(a.gpuNames(), b.gpuNames()),
			cmp.Compare(a.topology, b.topology), orderOf(a, b))
	})
	leaders := leadersOf(z.families, first)
	all := make([]Row, len(printed))
	err := z.over(len(printed), "answer", func(i int) (err error) {
		f := printed[i]
		all[i], err = z.row(f, slices.ContainsFunc(leaders, func(l *family) bool { return l.best == f.best }))
		return err
	})
	z.out.Rows = all
	return err
}

// orderOf puts what is cheaper first, and what sustains nothing last.
func orderOf(a, b *family) int {
	switch {
	case a.best != nil && b.best != nil:
		return cheaper(a.best, b.best)
	case a.best != nil:
		return -1
	case b.best != nil:
		return 1
	}
	return cmp.Compare(a.series, b.series)
}

func (f *family) gpuNames() string { return strings.Join(f.gpus, " + ") }

// redundant reports whether another family has the same answer: the cheapest of a group that is also that of its
// layout, or pools of different GPUs that are not the cheapest such.
func (f *family) redundant(all []*family) bool {
	if !f.mixed {
		return false
	}
	if len(f.gpus) > 1 {
		return slices.ContainsFunc(all, func(o *family) bool { return o != f && len(o.gpus) > 1 && orderOf(o, f) < 0 }) ||
			f.best == nil
	}
	return slices.ContainsFunc(all, func(o *family) bool {
		return o != f && o.topology == f.topology && slices.Equal(o.gpus, f.gpus) && (f.best == nil || o.best == f.best)
	})
}

// leadersOf returns the cheapest family of each kind of GPU, and the cheapest with GPUs of several kinds. That of first
// is one of them: where several cost the same, the answer goes by all seeds.
func leadersOf(families []*family, first *deployment) (leaders []*family) {
	best := map[string]int{}
	for _, f := range families {
		if f.best == nil {
			continue
		}
		key := f.gpuNames()
		if len(f.gpus) > 1 {
			key = "several"
		}
		if i, known := best[key]; !known {
			best[key] = len(leaders)
			leaders = append(leaders, f)
		} else if f.best == first || leaders[i].best != first && better(f.best, leaders[i].best) < 0 {
			leaders[i] = f
		}
	}
	return leaders
}

// firstSeedOnly warns of a row that cannot be the answer, so that no further seeds are simulated.
const firstSeedOnly = "confirmed under seed %d alone; under further seeds it may take more replicas, or fail with " +
	"any number"

// row says what the best of a family does at the asked rate.
func (z *sizer) row(f *family, leads bool) (Row, error) {
	r := Row{
		GPU: f.gpuNames(), Layout: f.layout(), CapacityPerS: stats.Number(math.NaN()), Margin: stats.Number(math.NaN()),
		CheapestOfGPU: leads, SLO: []metrics.Verdict{},
	}
	r.Topology = f.topology
	d := f.best
	if d == nil {
		r.Why = z.whyNone(f)
		if f.failed != nil {
			r.SLO, r.Warnings = f.failed.Verdicts, f.failed.warnings
		}
		return r, nil
	}
	x, err := z.simulate(d, z.grid.asked, z.study.Requests, z.base.Seed, verdict)
	if err != nil {
		return r, err
	}
	r.Deployment, r.Warnings, r.Seeds = d.is, d.warnings, f.seeds
	if f.seeds < len(z.out.Seeds) {
		r.Warnings = append(slices.Clone(d.warnings), fmt.Sprintf(firstSeedOnly, z.base.Seed))
	}
	r.TTFTS, r.TPOTS, r.SLO = x.TTFT, x.TPOT, x.Verdicts
	r.Spending = x.Spending
	if tokens := float64(x.Work.Decodes+x.Work.Prompts) / float64(x.Work.Requests); tokens > 0 {
		r.USDPerMillionTokens = d.is.USDPerHour / 3600 / (x.Rate * x.Each * tokens) * 1e6
	}
	if !leads {
		return r, nil
	}
	rate := z.grid.rate(d.capacity)
	r.CapacityPerS, r.Margin = stats.Number(rate), stats.Number(rate/z.asked()-1)
	for i := range z.grid.beyond {
		more, err := z.more(d, i)
		if err != nil {
			return r, err
		}
		r.More = append(r.More, more)
	}
	return r, nil
}

// layout names how the GPUs of a family's replicas share the model.
func (f *family) layout() string {
	s := f.series
	for _, gpu := range f.gpus {
		s = strings.ReplaceAll(s, " "+gpu, "")
	}
	return s
}

// more finds what becomes of d under the i-th multiple of the asked rate, and how many replicas that takes.
func (z *sizer) more(d *deployment, i int) (More, error) {
	step := z.grid.last + 1 + i
	m := More{Times: i + 2, RatePerS: z.grid.rate(step)}
	x, err := z.simulate(d, step, z.study.Requests, z.base.Seed, whole)
	if err != nil {
		return m, err
	}
	m.SLO = x.Verdicts
	e, err := z.grown(d, step, m.Times)
	if e != nil {
		m.Needs = &e.is
	}
	return m, err
}

// grown returns the fewest replicas like those of d that sustain a step: that many times as many, with one less of
// either pool as long as that will do, or some more where it does not.
func (z *sizer) grown(d *deployment, step, times int) (*deployment, error) {
	replicas := slices.Clone(d.replicas)
	for i := range replicas {
		replicas[i] *= times
	}
	sustains := func(replicas []int) (bool, error) {
		x, err := z.simulate(z.deployment(d.shape, replicas...), step, z.study.Requests, z.base.Seed, verdict)
		return x.Carried, err
	}
	const more = 12
	for tries := 0; ; tries++ {
		ok, err := sustains(replicas)
		if err != nil || ok {
			if err != nil {
				return nil, err
			}
			break
		}
		if tries == more || d.shape.gpusOf(replicas) > gpusMax {
			return nil, nil
		}
		for i := range replicas {
			replicas[i] += max(1, replicas[i]/20)
		}
	}
	for smaller := true; smaller; {
		smaller = false
		for i := range replicas {
			if replicas[i] == 1 {
				continue
			}
			replicas[i]--
			ok, err := sustains(replicas)
			if err != nil {
				return nil, err
			}
			if ok {
				smaller = true
			} else {
				replicas[i]++
			}
		}
	}
	return z.deployment(d.shape, replicas...), nil
}

// shareRule is what the limits of a study are as a rule; nil: there are none.
func (o *objective) shareRule() *metrics.Rule {
	if !o.asked.OfRequests() {
		return nil
	}
	r := &metrics.Rule{Share: o.share}
	for _, of := range []metrics.Term{
		{Metric: metrics.RuleTTFT, Limit: o.limits.TTFT}, {Metric: metrics.RuleTPOT, Limit: o.limits.TPOT},
		{Metric: metrics.RuleE2E, Limit: o.limits.E2E},
	} {
		if of.Limit > 0 {
			r.Terms = append(r.Terms, of)
		}
	}
	return r
}

// disaggregates reports whether a deployment has pools that KV is transferred between.
func (s *shape) disaggregates() bool { return s.topology == configs.Disaggregated }
