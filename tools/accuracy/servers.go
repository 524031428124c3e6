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

// rateMoved is by what the rate of a server is moved to either side, to see how much of TPOT it decides.
const rateMoved = 0.05

// The lines of a scenario that say what a published server is asked for.
var (
	atRate       = regexp.MustCompile(`arrivals: \{process: poisson, rate: ([0-9.e+-]+)\}`)
	fixedOutputs = regexp.MustCompile(`output_tokens: \{distribution: fixed, mean: (\d+)\}`)
)

// servers predicts the mean TPOT of servers whose prompts are a dataset that rows only name: at their rate and beside
// it, and of as many clients as they had requests in flight.
func servers(ctx context.Context, sets catalog.Sets, files []*measured.File) (page.Servers, error) {
	var out page.Servers
	for _, f := range files {
		for i := range f.Runs {
			run := &f.Runs[i]
			if run.Skip != "" || run.Labels.Quality == "C" || !strings.HasPrefix(run.Labels.Load, "dataset/") {
				continue
			}
			at, ok := variantsOf(run)
			if !ok {
				continue
			}
			predictions, err := validation.Predict(ctx, at, func(run *measured.Run,
				d *hardware.Deployment) hardware.Efficiency {
				return sets.On(&run.Labels, d)
			}, nil)
			if err != nil {
				return out, err
			}
			if slices.ContainsFunc(predictions, func(p validation.Prediction) bool { return p.Skip != "" }) {
				continue // as in the table of published figures
			}
			out.Add(predictions[0].Value.Measured, predictions[0].Predicted, predictions[1].Predicted,
				predictions[2].Predicted, predictions[3].Predicted)
		}
	}
	return out, nil
}

// variantsOf returns a run of which TPOT alone is predicted, at its rate, at less, at more and in a closed loop; false:
// it is of no rate, or its mean TPOT or TTFT was not measured.
func variantsOf(run *measured.Run) (variants []measured.Run, ok bool) {
	asked := atRate.FindStringSubmatch(run.Scenario)
	outputs := fixedOutputs.FindStringSubmatch(run.Scenario)
	tpot, ttft := leading(run, measured.TPOT), leading(run, measured.TTFT)
	if asked == nil || outputs == nil || tpot == nil || ttft == nil {
		return nil, false
	}
	rate, _ := strconv.ParseFloat(asked[1], 64)
	tokens, _ := strconv.ParseFloat(outputs[1], 64)
	for _, scenario := range []string{run.Scenario,
		atRate.ReplaceAllString(run.Scenario, fmt.Sprintf("arrivals: {process: poisson, rate: %.6g}", rate*(1-rateMoved))),
		atRate.ReplaceAllString(run.Scenario, fmt.Sprintf("arrivals: {process: poisson, rate: %.6g}", rate*(1+rateMoved))),
		inFlight(run.Scenario, rate*(ttft.Measured+tpot.Measured*(tokens-1))/1e3, tokens),
	} {
		v := *run
		v.Scenario = scenario
		v.Rows = []measured.Row{{ID: run.ID, Request: -1, Values: []measured.Value{*tpot}}}
		variants = append(variants, v)
	}
	return variants, true
}

// inFlight makes a scenario at a rate one of so many clients that send again at once. Their outputs are even between
// half and one and a half times the mean, for those of one length would stay in step: whole waves would wait for their
// prompts, and TPOT would be that of decodes alone.
func inFlight(scenario string, clients, tokens float64) string {
	scenario = atRate.ReplaceAllString(scenario, fmt.Sprintf("closed_loop: {concurrency: %.0f}",
		math.Max(1, math.Round(clients))))
	outputs := fmt.Sprintf("output_tokens: {distribution: uniform, min: %.0f, max: %.0f}", math.Round(tokens/2),
		math.Round(1.5*tokens))
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
