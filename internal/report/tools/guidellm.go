package tools

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// guidellm is benchmarks.json, version 2: one benchmark.
func (r *Result) guidellm() any {
	c, v := &r.Run.Counts, r.view("guidellm")
	totals := map[string]any{
		"successful": c.Completed, "errored": c.Failed, "incomplete": c.Unfinished,
		"total": c.Completed + c.Failed + c.Unfinished,
	}
	measured := map[string]any{"request_totals": totals}
	for i := range v.Rows {
		measured[v.Rows[i].Key] = successful(guideSummary(&v.Rows[i].Distribution, v.Rows[i].Unit.Size))
	}
	for i, rate := range v.Tool.Rates {
		measured[rate.Key] = successful(map[string]any{"mean": v.Rates[i]})
	}
	prompts, outputs := r.lengths()
	measured["prompt_token_count"] = successful(guideSummary(&prompts, 1))
	measured["output_token_count"] = successful(guideSummary(&outputs, 1))
	if v.Goodput != nil {
		measured["goodput"] = successful(map[string]any{"mean": v.Goodput.PerS})
		measured["goodput_attainment"] = v.Goodput.Share
	}
	constraints := map[string]any{}
	if r.Load.Seconds > 0 {
		constraints["max_seconds"] = map[string]any{"max_duration": r.Load.Seconds}
	} else {
		constraints["max_requests"] = map[string]any{"max_num": c.Completed + c.Failed}
	}
	benchmark := map[string]any{
		"type_":   "generative_benchmark",
		"config":  map[string]any{"strategy": r.guideStrategy(), "constraints": constraints, "model": r.Model},
		"metrics": measured, "start_time": 0.0, "end_time": r.Run.DurationS, "duration": r.Run.DurationS,
		"requests": r.guideRequests(v),
	}
	return map[string]any{
		"metadata":   map[string]any{"version": 2},
		"config":     map[string]any{"model": r.Model},
		"benchmarks": []any{benchmark},
		"decodesim":  r.origin(),
	}
}

func successful(x any) any { return map[string]any{"successful": x} }

// guideStrategy says how requests were sent; arrivals that the tool draws by no law of its own are a trace.
func (r *Result) guideStrategy() any {
	switch {
	case r.Load.Clients == 1:
		return map[string]any{"type_": "synchronous"}
	case r.Load.Clients > 1:
		return map[string]any{"type_": "concurrent", "streams": r.Load.Clients}
	case r.Load.Process == "poisson", r.Load.Process == "constant":
		return map[string]any{"type_": r.Load.Process, "rate": r.Load.RatePerS}
	}
	return map[string]any{"type_": "trace"}
}

// guideSummary is a distribution; without values it is all zeros.
func guideSummary(d *views.Distribution, size float64) any {
	of := func(x float64) float64 { return zero(x / size) }
	std := of(d.Std())
	ranks := map[string]any{}
	for _, q := range []percentile{
		{"p001", .001}, {"p01", .01}, {"p05", .05}, {"p10", .1}, {"p25", .25}, {"p50", .5}, {"p75", .75}, {"p90", .9},
		{"p95", .95},
		{"p99", .99}, {"p999", .999},
	} {
		ranks[q.name] = of(d.NearestRank(q.p))
	}
	return map[string]any{
		"mean": of(d.Mean()), "median": of(d.NearestRank(.5)), "mode": of(d.Mode()), "variance": std * std, "std_dev": std,
		"min": of(d.Min()), "max": of(d.Max()), "count": d.Weight(), "total_sum": of(d.Mean()) * float64(d.Weight()),
		"percentiles": ranks,
	}
}

// guideRequests lists the requests of the sample by how they ended.
func (r *Result) guideRequests(v *views.View) any {
	good, bad := []any{}, []any{}
	for i := range r.Run.Records {
		one := &r.Run.Records[i]
		request := map[string]any{
			"type_": "generative_request_stats", "request_id": fmt.Sprint(one.ID), "prompt_tokens": one.Prompt,
			"output_tokens":      one.Tokens(),
			"request_start_time": one.Send.Seconds(),
		}
		if n := len(one.Chunks); n > 0 {
			request["request_end_time"] = one.Chunks[n-1].At.Seconds()
		}
		if one.Outcome != sim.Completed {
			bad = append(bad, request)
			continue
		}
		for j := range v.Rows {
			request[v.Rows[j].Key] = value(v.Rows[j].Measure, one)
		}
		good = append(good, request)
	}
	return map[string]any{"successful": good, "errored": bad, "incomplete": []any{}}
}
