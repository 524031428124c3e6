package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/results"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// runX is what the page shows of a simulated state.
type runX struct {
	Error   *refusal         `json:"error,omitempty"`
	Answer  string           `json:"answer,omitempty"`
	Facts   []factX          `json:"facts,omitempty"`
	ITL     *page.Plot       `json:"itl,omitempty"`
	TTFT    *page.Plot       `json:"ttft,omitempty"`
	Summary *metrics.Summary `json:"summary,omitempty"` // as run --json has it
}

// timeMost is how long a run may take.
const timeMost = 10 * time.Second

// simulate runs the scenario of a URL. An error is that of ctx; what the URL cannot mean is in the answer.
func simulate(ctx context.Context, q url.Values, own *base, version string) (*runX, error) {
	bounded, stop := context.WithTimeout(ctx, timeMost)
	defer stop()
	began := time.Now()
	r, err := ran(bounded, q, own, version)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &runX{Error: &refusal{"requests", fmt.Sprintf(
			"the run took longer than %s; expected fewer or shorter requests", timeMost)}}, nil
	case err != nil:
		return &runX{Error: refused(err)}, nil
	}
	return answerOf(r, time.Since(began)), nil
}

// firstRequests are those of the first picture of a run: what users feel is seen before all of it is simulated.
const firstRequests = 100

// first runs the scenario of a URL with few requests. Where that is no shorter, or cannot be, its answer is empty: the
// run itself has what there is to say.
func first(ctx context.Context, q url.Values, own *base, version string) (*runX, error) {
	s, err := stateOf(q, own)
	if err != nil {
		return &runX{}, ctx.Err()
	}
	all := s.value("requests")
	if requests().not(s.base.scenario) != "" || all < 2*firstRequests {
		return &runX{}, ctx.Err()
	}
	few := maps.Clone(q)
	few.Set("requests", strconv.Itoa(firstRequests))
	x, err := simulate(ctx, few, own, version)
	if err != nil || x.Error != nil {
		return &runX{}, err
	}
	_, what, _ := strings.Cut(x.Answer, ": ")
	x.Answer = fmt.Sprintf("A first picture, of %s requests: %s A run of %s is on its way.",
		text.Count(x.Summary.Requests.Arrived), what, text.Count(int64(all)))
	return x, nil
}

// ran loads, builds and runs.
func ran(ctx context.Context, q url.Values, own *base, version string) (*run.Result, error) {
	s, err := stateOf(q, own)
	if err != nil {
		return nil, err
	}
	yaml, err := s.text()
	if err != nil {
		return nil, err
	}
	loaded, err := configs.Load("-", s.options(yaml))
	if err != nil {
		return nil, err
	}
	b, err := build.NewUntil(ctx, loaded)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return run.Simulate(ctx, b, run.Options{Version: version})
}

// answerOf draws what users feel.
func answerOf(r *run.Result, took time.Duration) *runX {
	s := r.Summary
	x := &runX{Summary: s}
	drawn := results.Distributions(&results.Result{Result: r})
	itl, ttft := pages.Distribution(drawn[0]), pages.Distribution(drawn[1])
	x.ITL, x.TTFT = &itl, &ttft
	gaps := "ITL"
	if s.Latency.Bursts() {
		gaps = "ITL of chunks"
	}
	x.Facts = append(quantiles(gaps, &s.Latency.ITLChunk), quantiles("TTFT", &s.Latency.TTFT)...)
	x.Facts = append(x.Facts, factX{"Output", text.Significant(s.Throughput.OutputTokensPerS) + " tokens/s",
		"of all replicas"})
	x.Facts = append(x.Facts, batch(s.Pools))
	x.Facts = append(x.Facts, verdicts("SLO", s.SLO, s.Rules)...)
	for i := range s.Classes {
		if c := &s.Classes[i]; s.SLO == nil && len(s.Rules) == 0 {
			x.Facts = append(x.Facts, verdicts("SLO of "+c.Name, c.SLO, c.Rules)...)
		}
	}
	if s.Cost != nil {
		x.Facts = append(x.Facts, factX{"Cost", text.USD(s.Cost.USDPerMillionOutputTokens), "per million output tokens"})
	}
	x.Answer = fmt.Sprintf("%s requests simulated in %s: %s p50 %s, p99 %s; TTFT p50 %s, p99 %s.",
		text.Count(s.Requests.Arrived), text.Duration(took.Seconds()), gaps, x.Facts[0].Value, x.Facts[1].Value,
		x.Facts[2].Value, x.Facts[3].Value)
	return x
}

// batch is what a step holds under the load, beside the step above it that holds all that fit.
func batch(pools []metrics.PoolResult) factX {
	p := &pools[slices.IndexFunc(pools, func(p metrics.PoolResult) bool { return p.Role != "prefill" })]
	mean := "none"
	if p.BatchMean > 0 {
		mean = text.Significant(p.BatchMean)
	}
	return factX{"Batch", mean, "sequences that decode in a step, on average"}
}

// verdicts says what became of an SLO: the share of the requests that keep its limits, and each of its rules.
// A share of no requests is none.
func verdicts(name string, o *metrics.SLO, rules []metrics.Verdict) []factX {
	var facts []factX
	if o != nil {
		share := "none"
		if o.Unmeasured == "" {
			share = text.Percent(o.Attainment)
		}
		facts = append(facts, factX{name + " met", share, report.Limits(o)})
	}
	for i := range rules {
		v, value, note := &rules[i], "met", ""
		switch {
		case v.Unmeasured != "":
			value, note = "none", v.Unmeasured
		case !v.Met:
			value = "missed"
		}
		facts = append(facts, factX{name, value, v.Rule + ": " + cmp.Or(note, report.RuleValue(v))})
	}
	return facts
}

// quantiles are the median and the tail of a latency.
func quantiles(name string, q *metrics.Quantiles) []factX {
	value := func(s float64) string {
		if q.N == 0 {
			return "none"
		}
		return text.Duration(s)
	}
	return []factX{{name + " p50", value(q.P50), ""}, {name + " p99", value(q.P99), ""}}
}
