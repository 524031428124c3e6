package sensitivity

import (
	"context"
	"math"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/sizing"
)

// ofSize answers by the search for the best deployment of a study. What is decided is which one that is.
type ofSize struct {
	plan   Plan
	study  *configs.Study
	base   *configs.Scenario
	inputs []Input
}

// newSize reads the study as it is. Numbers of accelerators and fitted constants are varied on the pools of its
// scenario: where a study searches accelerators, they are not varied, for each has its own.
func newSize(ctx context.Context, p Plan) (*ofSize, error) {
	study, err := configs.LoadStudy(p.Source, p.Set)
	if err != nil {
		return nil, err
	}
	s, err := study.Base(p.Env, p.Seed)
	if err != nil {
		return nil, err
	}
	b, err := build.NewUntil(ctx, s)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	vary, err := ownRanges(p.Vary, s)
	if err != nil {
		return nil, err
	}
	z := &ofSize{plan: p, study: study, base: s, inputs: append(inputsOf(b, vary), prices(b, s)...)}
	z.inputs = slices.DeleteFunc(z.inputs, func(i Input) bool {
		return study.Search.GPU != nil && (i.Kind == DataSheet || i.Kind == Fitted)
	})
	if study.Rate.At > 0 {
		x := study.Rate.At
		at := Input{Name: "rate.at", Kind: Forecast, Value: x, Low: 0.8 * x, High: 1.2 * x,
			Source: "±20 %, " + assumed, assign: setting("rate.at", s)}
		z.inputs = append([]Input{at}, z.inputs...)
	}
	// The study sets the rate, whatever the scenario's own is.
	z.inputs = slices.DeleteFunc(z.inputs, func(i Input) bool { return i.Name == "rate" })
	return z, nil
}

// Inputs implements Subject.
func (z *ofSize) Inputs() []Input { return z.inputs }

// Answer implements Subject: dollars per hour of the best deployment, or what it sustains per GPU where no rate is
// asked for.
func (z *ofSize) Answer(ctx context.Context, set []string, _ func(share float64)) (Answer, error) {
	study, err := configs.LoadStudy(z.plan.Source, slices.Concat(z.plan.Set, set))
	if err != nil {
		return Answer{}, err
	}
	out, _, err := sizing.Search(ctx, study, sizing.Options{Env: z.plan.Env, Seed: z.plan.Seed, Version: z.plan.Version,
		Progress: func(string, int, int) {}})
	if err != nil {
		return Answer{}, err
	}
	if out.Best == nil {
		return Answer{Values: []float64{math.NaN()}, Decision: "no deployment sustains it"}, nil
	}
	a := Answer{Values: []float64{out.Best.GoodputPerSPerGPU}, Decision: out.Best.Name}
	if study.Rate.At > 0 {
		a.Values[0] = out.Best.USDPerHour
	}
	return a, nil
}
