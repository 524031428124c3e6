package sensitivity

import (
	"context"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/sweep"
)

// Subject is what gives an answer to a scenario.
type Subject interface {
	// Inputs returns what the answer rests on.
	Inputs() []Input
	// Answer gives the answer with some settings over the scenario's, and says which share of its work is done.
	Answer(ctx context.Context, set []string, progress func(share float64)) (Answer, error)
}

var (
	_ Subject = (*ofRun)(nil)
	_ Subject = (*ofSize)(nil)
)

// Answer is a number, and what one decides by it.
type Answer struct {
	Values   []float64 // by seed
	Decision string
}

// mean returns the mean over seeds.
func (a *Answer) mean() float64 {
	sum := 0.0
	for _, x := range a.Values {
		sum += x
	}
	return sum / float64(len(a.Values))
}

// ofRun answers by a run under each of some seeds, the same for every input.
type ofRun struct {
	plan   Plan
	seeds  []uint64
	inputs []Input
}

// newRun reads and builds the scenario as it is.
func newRun(ctx context.Context, p Plan) (*ofRun, *configs.Scenario, error) {
	s, err := configs.Load(p.Source, configs.Options{Set: p.Set, Env: p.Env, Seed: p.Seed})
	if err != nil {
		return nil, nil, err
	}
	if s.Workload.Precision > 0 {
		return nil, nil, s.Errorf("workload.precision", "%g lengthens each run by itself, and runs with other inputs send "+
			"the same requests; expected null", s.Workload.Precision)
	}
	if p.Seeds > 1 && s.Workload.Trace != nil {
		return nil, nil, fmt.Errorf("--seeds %d: the requests of %s come from a trace, and are the same under every seed; "+
			"expected 1", p.Seeds, p.Source)
	}
	b, err := build.NewUntil(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	vary, err := ownRanges(p.Vary, s)
	if err != nil {
		return nil, nil, err
	}
	r := &ofRun{plan: p, inputs: inputsOf(b, vary)}
	if aboutMoney(p.Metric) {
		r.inputs = append(r.inputs, prices(b, s)...)
	}
	for i := range p.Seeds {
		r.seeds = append(r.seeds, s.Seed+uint64(i))
	}
	return r, s, nil
}

// ownRanges reads the user's own ranges.
func ownRanges(texts []string, s *configs.Scenario) (all []Input, err error) {
	for _, text := range texts {
		in, err := ParseVary(text, s)
		if err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

// aboutMoney reports whether prices say anything of a metric.
func aboutMoney(metric string) bool {
	return metric == "usd_per_hour" || metric == "usd_per_million_output_tokens"
}

// Inputs implements Subject.
func (r *ofRun) Inputs() []Input { return r.inputs }

// Answer implements Subject. What is decided is what most seeds say.
func (r *ofRun) Answer(ctx context.Context, set []string, progress func(share float64)) (Answer, error) {
	var a Answer
	good, judged := 0, false
	for i, seed := range r.seeds {
		options := configs.Options{Set: slices.Concat(r.plan.Set, set), Env: r.plan.Env, Seed: &seed}
		s, err := configs.Load(r.plan.Source, options)
		if err != nil {
			return a, err
		}
		s.Output.Attribution, s.Output.OverTime = false, false
		b, err := build.NewUntil(ctx, s)
		if err != nil {
			return a, err
		}
		o, err := sweep.Measure(ctx, b, r.plan.Version, func(p run.Progress) {
			progress((float64(i) + p.Share) / float64(len(r.seeds)))
		})
		_ = b.Close()
		if err != nil {
			return a, err
		}
		a.Values = append(a.Values, o.Value(r.plan.Metric))
		judged = o.Judged
		if !o.Saturated && (o.Met || !o.Judged) {
			good++
		}
	}
	yes := 2*good > len(r.seeds)
	switch {
	case judged && yes:
		a.Decision = "the SLO is met"
	case judged:
		a.Decision = "the SLO is missed"
	case yes:
		a.Decision = "the load is sustained"
	default:
		a.Decision = "the load saturates it"
	}
	return a, nil
}
