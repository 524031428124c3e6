package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// The lines of a scenario that say what a published server is asked for.
var (
	atRate       = regexp.MustCompile(`arrivals: \{process: poisson, rate: ([0-9.e+-]+)\}\n  requests: \d+\n`)
	fixedOutputs = regexp.MustCompile(`output_tokens: \{distribution: fixed, mean: (\d+)\}`)
	replicasOf   = regexp.MustCompile(`\n +replicas: (\d+)\n`)
)

// asked is what a published server was asked for, and how quick it was.
type asked struct {
	run        *measured.Run
	rate       float64 // of one replica, requests/s
	tokens     float64 // of an output
	tpot, ttft *measured.Value
	inFlight   float64 // requests of one replica, by Little's law
}

// servers predicts the mean TPOT of servers whose prompts are a dataset that rows only name: at their rate, and with as
// many requests as they had in flight.
func servers(ctx context.Context, sets catalog.Sets, files []*measured.File) (page.Servers, error) {
	var out page.Servers
	for _, f := range files {
		for i := range f.Runs {
			run := &f.Runs[i]
			if run.Skip != "" || run.Labels.Quality == "C" || !strings.HasPrefix(run.Labels.Load, "dataset/") {
				continue
			}
			a, ok := askedOf(run)
			if !ok {
				continue
			}
			s, ok, err := a.predict(ctx, sets)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, s) // others are skipped in the table of published figures too
			}
		}
	}
	return out, nil
}

// askedOf reads a run; false: it is of no rate, or its mean TPOT or TTFT was not measured.
func askedOf(run *measured.Run) (a asked, ok bool) {
	rate := atRate.FindStringSubmatch(run.Scenario)
	outputs := fixedOutputs.FindStringSubmatch(run.Scenario)
	a = asked{run: run, tpot: leading(run, measured.TPOT), ttft: leading(run, measured.TTFT)}
	if rate == nil || outputs == nil || a.tpot == nil || a.ttft == nil {
		return a, false
	}
	a.rate, _ = strconv.ParseFloat(rate[1], 64)
	a.tokens, _ = strconv.ParseFloat(outputs[1], 64)
	if m := replicasOf.FindStringSubmatch(run.Scenario); m != nil {
		replicas, _ := strconv.ParseFloat(m[1], 64)
		a.rate /= replicas
	}
	a.inFlight = a.rate * a.seconds(a.tpot.Measured, a.ttft.Measured)
	return a, true
}

// seconds is how long a request takes, of which both are known in milliseconds.
func (a *asked) seconds(tpot, ttft float64) float64 { return (ttft + float64(tpot*(a.tokens-1))) / 1e3 }

// predict simulates the run as it was, and one replica with more and more requests in flight.
func (a *asked) predict(ctx context.Context, sets catalog.Sets) (s page.Server, ok bool, err error) {
	variants := []measured.Run{a.variant(a.run.Scenario)}
	for _, part := range crowds {
		variants = append(variants, a.variant(a.crowded(part*a.inFlight)))
	}
	predictions, err := validation.Predict(ctx, variants, func(run *measured.Run,
		d *hardware.Deployment) hardware.Efficiency {
		return sets.On(&run.Labels, d)
	}, nil)
	skipped := func(p validation.Prediction) bool { return p.Skip != "" }
	if err != nil || slices.ContainsFunc(predictions, skipped) {
		return s, false, err
	}
	var all []crowd
	for i, part := range crowds {
		tpot, ttft := predictions[2*i+2].Predicted, predictions[2*i+3].Predicted
		all = append(all, crowd{rate: part * a.inFlight / a.seconds(tpot, ttft), tpot: tpot})
	}
	c, had := curveOf(all), all[asMany]
	return page.Server{
		Name: a.name(), Margin: c.margin(had.rate, page.ServerAimPct),
		AtRate:   100 * (predictions[0].Predicted/a.tpot.Measured - 1),
		InFlight: 100 * (had.tpot/a.tpot.Measured - 1),
		Rate:     100 * (had.rate/a.rate - 1),
		Bears:    100 * (c.bears()/a.rate - 1),
		Quicker:  c.slowed(had.rate, 1-page.ServerSpeedPct/100),
		Slower:   c.slowed(had.rate, 1+page.ServerSpeedPct/100),
	}, true, nil
}

// name is of what and at which rate.
func (a *asked) name() string {
	l := &a.run.Labels
	return fmt.Sprintf("%s in %s · %s · %s, %.3g requests/s a replica, %.3g ms", l.Model, l.Precision, l.GPU, l.Engine,
		a.rate, a.tpot.Measured)
}

// variant is the run with another scenario, of which TPOT and TTFT are predicted.
func (a *asked) variant(scenario string) measured.Run {
	v := *a.run
	v.Scenario = scenario
	v.Rows = []measured.Row{{ID: a.run.ID, Request: -1, Values: []measured.Value{*a.tpot, *a.ttft}}}
	return v
}

// roundsOfClients is how many requests each client of a closed loop sends. While the last ones end, fewer are in
// flight.
const roundsOfClients = 20

// crowded makes a scenario at a rate one of a replica with so many requests in flight: clients that send again at once,
// one more of them, for one that comes at random finds as many requests as there are on average, and one of a closed
// loop those of the other clients. Their outputs are even between half and one and a half times the mean, for those of
// one length would stay in step: whole waves would wait for their prompts, and TPOT would be that of decodes alone.
func (a *asked) crowded(inFlight float64) string {
	clients := 1 + int(math.Max(1, math.Round(inFlight)))
	scenario := atRate.ReplaceAllString(a.run.Scenario, fmt.Sprintf("closed_loop: {concurrency: %d}\n  requests: %d\n",
		clients, roundsOfClients*clients))
	scenario = replicasOf.ReplaceAllString(scenario, "\n")
	outputs := fmt.Sprintf("output_tokens: {distribution: uniform, min: %.0f, max: %.0f}", math.Round(a.tokens/2),
		math.Round(1.5*a.tokens))
	return fixedOutputs.ReplaceAllString(scenario, outputs)
}

// leading is the mean of a metric over the requests of a run, in milliseconds; nil: it was not measured.
func leading(run *measured.Run, m measured.Metric) *measured.Value {
	for i := range run.Rows {
		for j := range run.Rows[i].Values {
			if v := &run.Rows[i].Values[j]; v.Metric == m && v.Name == m.String() && v.Unit.Name == "ms" {
				return v
			}
		}
	}
	return nil
}
