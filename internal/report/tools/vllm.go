package tools

import (
	"math"
	"strings"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// vllm is the result of vllm bench serve, with the lists of --save-detailed. A metric without values is 0 there.
func (r *Result) vllm() any {
	c, v := &r.Run.Counts, r.view("vllm")
	result := map[string]any{
		"date": "19700101-000000", "endpoint_type": "openai", "backend": "openai", "label": "decodesim " + r.Version,
		"model_id": r.Model, "tokenizer_id": r.Model, "num_prompts": c.Completed + c.Failed,
		"request_rate": "inf", "burstiness": 1.0, "max_concurrency": nil,
		"duration": r.Run.DurationS, "completed": c.Completed, "failed": c.Failed,
		"total_input_tokens": c.Prompt, "total_output_tokens": c.Output,
		"request_throughput": v.Rates[0], "output_throughput": v.Rates[1], "total_token_throughput": v.Rates[2],
		"request_goodput": nil,
		"decodesim":       r.origin(),
	}
	if r.Load.RatePerS > 0 {
		result["request_rate"] = r.Load.RatePerS
	}
	switch {
	case r.Load.Process == "gamma" && r.Load.CV > 0:
		result["burstiness"] = 1 / (r.Load.CV * r.Load.CV)
	case r.Load.Process != "poisson" && r.Load.Clients == 0:
		result["burstiness"] = nil // the tool has no such arrivals
	}
	if r.Load.Clients > 0 {
		result["max_concurrency"] = r.Load.Clients
	}
	if v.Goodput != nil {
		result["request_goodput"] = v.Goodput.PerS
	}
	for i := range v.Rows {
		row, name := &v.Rows[i], strings.ToLower(v.Rows[i].Key)+"_ms"
		result["mean_"+name], result["std_"+name] = zero(1e3*row.Mean()), zero(1e3*row.Std())
		result["median_"+name] = zero(1e3 * row.Percentile(.5))
		for _, p := range []struct {
			name string
			p    float64
		}{{"p90_", .9}, {"p95_", .95}, {"p99_", .99}} {
			result[p.name+name] = zero(1e3 * row.Percentile(p.p))
		}
	}
	r.vllmLists(result, v)
	return result
}

func zero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// vllmLists adds what each request of the sample saw, in seconds. One that failed has no tokens there.
func (r *Result) vllmLists(result map[string]any, v *views.View) {
	n := len(r.Run.Records)
	inputs, outputs := make([]int32, n), make([]int32, n)
	texts, errors := make([]string, n), make([]string, n)
	ttfts, itls := make([]float64, n), make([][]float64, n)
	itl := v.Row(views.ITL).Measure
	for i := range r.Run.Records {
		one := &r.Run.Records[i]
		inputs[i], itls[i] = one.Prompt, []float64{}
		if one.Outcome != sim.Completed {
			errors[i] = one.Outcome.String()
			continue
		}
		outputs[i], ttfts[i] = one.Tokens(), float64(value(v.Row(views.TTFT).Measure, one))/1e3
		for _, ms := range list(itl, one) {
			itls[i] = append(itls[i], ms/1e3)
		}
	}
	result["input_lens"], result["output_lens"] = inputs, outputs
	result["generated_texts"], result["errors"] = texts, errors
	result["ttfts"], result["itls"] = ttfts, itls
}
