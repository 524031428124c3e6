package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
	"gonum.org/v1/gonum/stat"
)

// final is a deployment of the last round under every seed.
type final struct {
	*deployment
	steps   []int     // of the grid, by seed: its capacity
	rates   []float64 // the same in requests/s; 0: it does not sustain the lowest rate
	at      outcome   // under the first seed, at its capacity
	next    outcome   // at the next higher rate
	noLimit bool      // under some seed it sustains the highest rate
}

// conclude runs the last round and fills the answer; finalists are sorted as it ranks them.
func (z *sizer) conclude(finalists []*deployment) error {
	all := make([]*final, len(finalists))
	for i, d := range finalists {
		n := len(z.out.Seeds)
		all[i] = &final{deployment: d, steps: make([]int, n), rates: make([]float64, n)}
	}
	if err := z.lastRound(all); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *final) int {
		most := cmp.Compare(stat.Mean(b.rates, nil), stat.Mean(a.rates, nil))
		if z.study.Rate.At > 0 {
			return cmp.Or(cheaper(a.deployment, b.deployment), most, cmp.Compare(len(a.warnings), len(b.warnings)))
		}
		return cmp.Or(most, cheaper(a.deployment, b.deployment))
	})
	for i, f := range all {
		finalists[i] = f.deployment
		z.out.Finalists = append(z.out.Finalists, z.finalist(f))
		for _, x := range expected.Of(f.shape.scenario) {
			if !slices.Contains(z.out.Expected, x) {
				z.out.Expected = append(z.out.Expected, x)
			}
		}
	}
	if len(all) > 0 {
		z.out.Best, z.out.ofBest = &z.out.Finalists[0], errorOf(all[0].shape.scenario)
	}
	if len(all) > 1 && !slices.Contains(all[1].rates, 0) {
		z.out.Lead = leadOf(all[0], all[1])
	}
	z.noteLength()
	var first *deployment
	if len(finalists) > 0 {
		first = finalists[0]
	}
	if err := z.rows(first); err != nil {
		return err
	}
	if err := z.draw(finalists); err != nil {
		return err
	}
	if len(all) == 0 {
		if err := z.fail(); err != nil {
			return err
		}
	}
	z.list()
	z.out.Simulations = z.runs.Load()
	return nil
}

// noteLength says how long runs of sessions are at the rate of the answer, and that runs were lengthened.
func (z *sizer) noteLength() {
	if z.longest > 0 {
		z.out.Notes = append(z.out.Notes, fmt.Sprintf("answers take long: runs that were too short to say whether requests "+
			"pile up had up to %s requests", text.Count(z.longest)))
	}
	rate := z.study.Rate.At
	if rate == 0 {
		rate = z.grid.low
		if z.out.Best != nil {
			rate = max(rate, z.out.Best.CapacityPerS)
		}
	}
	if said := z.load.Lasts(rate); said != "" {
		z.out.Notes = append(z.out.Notes, said)
	}
}

// lastRound finds capacities under every seed, and looks closely at what happens there and at the next rate.
func (z *sizer) lastRound(all []*final) error {
	last := rounds(z.study.Requests)[2]
	n := len(z.out.Seeds)
	errs := make([]error, len(all)*n)
	z.report("last round", 0, len(errs))
	z.each(len(errs), func(k int) {
		f, seed := all[k/n], k%n
		f.steps[seed], errs[k] = z.grid.highest(f.capacity, last.stride, func(step int) (bool, error) {
			x, err := z.simulate(f.deployment, step, last.requests, z.out.Seeds[seed], verdict)
			return x.Carried, err
		})
		if z.grid.at > 0 {
			f.steps[seed] = max(f.steps[seed], z.grid.asked) // which is confirmed, under this seed too
		}
		if f.steps[seed] >= 0 {
			f.rates[seed] = z.grid.rate(f.steps[seed])
		}
	}, func(done int) { z.report("last round", done, len(errs)) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	errs = make([]error, 2*len(all))
	z.report("around capacities", 0, len(errs))
	z.each(len(errs), func(k int) {
		f := all[k/2]
		switch step := max(0, f.steps[0]); {
		case k%2 == 0:
			f.at, errs[k] = z.simulate(f.deployment, step, last.requests, z.out.Seeds[0], portrait)
		case step < z.grid.last:
			f.next, errs[k] = z.simulate(f.deployment, step+1, last.requests, z.out.Seeds[0], whole)
		}
	}, func(done int) { z.report("around capacities", done, len(errs)) })
	for _, f := range all {
		f.round, f.capacity = 3, f.steps[0]
		f.carried = append(f.carried, f.at)
		f.noLimit = slices.Max(f.steps) == z.grid.last
	}
	z.out.Rounds[2] = len(all)
	return errors.Join(errs...)
}

// finalist says what f does at its capacity.
func (z *sizer) finalist(f *final) Finalist {
	x := &f.at
	a := Finalist{
		Deployment: f.is, CapacityPerS: stat.Mean(f.rates, nil), BySeed: f.rates, AtLeast: f.noLimit,
		Margin:            stats.Number(math.NaN()),
		RooflineLimitPerS: x.Perfect / x.Each, GoodputPerS: x.Goodput, GoodputPerSPerGPU: x.Goodput / float64(f.is.GPUs),
		UserTokensPerS: x.Speed, TTFTS: x.TTFT, TPOTS: x.TPOT, Rules: x.Rules, Spending: x.Spending,
	}
	if len(f.rates) > 1 {
		a.Interval = stats.IntervalAround(a.CapacityPerS, f.rates)
	}
	if z.study.Rate.At > 0 {
		a.Margin = stats.Number(a.CapacityPerS/z.study.Rate.At - 1)
	}
	a.OfPerfect = x.Rate * x.Each / x.Perfect
	z.out.RooflineLimitPerS = max(z.out.RooflineLimitPerS, a.RooflineLimitPerS) // which is of the run's own requests
	if a.GoodputPerS > 0 {
		a.USDPerMillion = f.is.USDPerHour / 3600 / a.GoodputPerS * 1e6
	}
	a.Limit = Limiting{Utilization: x.Busy, Share: x.Bound.Share, Of: x.Bound.Limit}
	a.OfPeak, a.SlowParts = f.ofPeak()
	a.Warnings = f.warnings
	if n := &f.next; n.Rate > 0 {
		a.Limit.RatePerS, a.Limit.Attainment, a.Limit.Refused = n.Rate, n.Attainment, n.Refused
		a.Limit.Rules = n.Rules
		a.Limit.TTFTMissed, a.Limit.TPOTMissed, a.Limit.E2EMissed = n.Missed[0], n.Missed[1], n.Missed[2]
	}
	return a
}

// ofPeak returns what the parts of the usual step of each pool that decodes achieve of the peaks, and warnings of parts
// that a fitted constant keeps far below it.
func (f *final) ofPeak() (all []metrics.OfPeak, slow []string) {
	for i := range f.at.Batch {
		p := &f.shape.scenario.Pools[i]
		if !p.Decodes() {
			continue
		}
		x, warnings := run.OfPeak(f.shape.models[i], p.Name, f.at.Batch[i], f.shape.context)
		if len(x.Parts) > 0 {
			all, slow = append(all, x), append(slow, warnings...)
		}
	}
	return all, slow
}

// leadOf compares the first with the second, seed by seed: both saw the same requests.
func leadOf(first, second *final) *Lead {
	relative := make([]float64, len(first.rates))
	for i := range relative {
		relative[i] = first.rates[i]/second.rates[i] - 1
	}
	l := &Lead{Relative: stat.Mean(relative, nil)}
	if len(relative) > 1 {
		l.Interval = stats.IntervalAround(l.Relative, relative)
	}
	return l
}

// list lists every deployment, in the order of the search.
func (z *sizer) list() {
	z.out.Candidates = make([]Candidate, len(z.all))
	for i, d := range z.all {
		c := Candidate{Deployment: d.is, RooflineLimitPerS: d.bound, CapacityPerS: stats.Number(math.NaN()), Round: d.round}
		switch {
		case d.round == 0:
			c.Why = d.skipped
		case d.capacity >= 0:
			c.CapacityPerS = stats.Number(z.grid.rate(d.capacity))
			if x := d.atCapacity(); x != nil {
				c.Spending = x.Spending
			}
		default:
			c.CapacityPerS, c.Why = 0, "does not sustain the lowest rate"
		}
		z.out.Candidates[i] = c
	}
}
