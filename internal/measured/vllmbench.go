package measured

import (
	"cmp"
	"slices"
)

// vllmBench is what `vllm bench serve` writes, and SGLang's bench_serving in much the same words: a result per run, in a
// file or line of its own. Latencies are in milliseconds but for the lists per request, in seconds. The wait for a seat
// under max_concurrency is no part of TTFT or E2E.
var vllmBench = schema{
	name:  "vllm bench serve",
	about: "results of vllm bench serve (JSON with request_rate, max_concurrency, completed, total_input_tokens, mean_ttft_ms)",
	is: func(s *source) bool {
		return len(s.json) > 0 && s.json[0].has("completed", "total_input_tokens", "total_output_tokens") &&
			s.json[0].hasOne("mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms", "mean_e2el_ms", "mean_e2e_latency_ms")
	},
	read: readVLLMBench,
}

func readVLLMBench(s *source, f *File) error {
	f.Notes = append(f.Notes, noteOfDeployment,
		"prompt and output lengths are those of each request, in the order sent, where the result lists them for those that got an answer; "+
			"else all are at the mean",
		"a request rate of inf without max_concurrency sends every request at once; arrivals at a rate are not stretched to end on time, "+
			"as the tool's are")
	for i, id := range s.names(len(s.json)) {
		run := vllmRun(s.json[i], id)
		if err := s.json[i].origin.err; err != nil {
			return err
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

func vllmRun(o object, id string) Run {
	run := Run{ID: id, Labels: Labels{Source: "vllm bench serve", Model: measuredModel(o.text("model_id"))}}
	row := Row{ID: id, Request: -1, Values: vllmValues(o)}
	completed, _ := o.amount("completed")
	failures, _ := o.amount("failed")
	all, ok := o.above("num_prompts")
	if !ok {
		all = completed + failures
	}
	if completed == 0 {
		run.Skip, run.Rows = "no request completed", []Row{row}
		return run
	}
	a := asked{requests: int(all), underWay: vllmUnderWay(o, completed)}
	a.prompt = counts{mean: o.required("total_input_tokens", "tokens above 0") / completed}
	a.output = counts{mean: o.required("total_output_tokens", "tokens above 0") / completed}
	of := vllmLengths(o, &a)
	skipChunks(o, &a, row.Values)
	vllmArrivals(o, &a)
	a.label(&run.Labels)
	run.Rows, run.Over = append([]Row{row}, vllmRequests(o, id, &a, of)...), a.over()
	ramp := ""
	if o.text("ramp_up_strategy") != "" {
		ramp = "the request rate ramps up, which no workload does"
	}
	run.Skip = cmp.Or(failed(all-completed, all), ramp, a.skip())
	return run
}

// vllmArrivals reads when requests were sent: burstiness is the shape of gamma gaps, 1 where absent.
func vllmArrivals(o object, a *asked) {
	if x, ok := o.above("max_concurrency"); ok {
		a.clients = int(x)
	}
	switch rate := o.fields["request_rate"]; {
	case rate == nil && a.clients == 0:
		o.fail("request_rate", nil, `requests/s, or "inf", or max_concurrency beside it`)
	case rate == nil, rate == "inf":
	default:
		a.rate = o.required("request_rate", `requests/s above 0, or "inf"`)
	}
	if shape, ok := o.above("burstiness"); ok && a.rate > 0 {
		a.cv = gammaCV(shape)
	}
}

// vllmUnderWay returns the most requests under way, or their mean by Little's law.
func vllmUnderWay(o object, completed float64) float64 {
	if x, ok := o.amount("max_concurrent_requests"); ok {
		return x
	}
	seconds, _ := o.amount("duration")
	ttft, _ := o.optional("mean_ttft_ms")
	tpot, _ := o.optional("mean_tpot_ms")
	tokens, _ := o.optional("total_output_tokens")
	if seconds == 0 {
		return 0
	}
	return (completed*ttft + max(0, tokens-completed)*tpot) / 1000 / seconds
}

// skipChunks keeps gaps between chunks of several tokens from being compared with gaps between tokens. Pooled over
// requests, the mean gap is Σ decode time / Σ gaps; far above the time per token, a gap is not one token's.
func skipChunks(o object, a *asked, values []Value) {
	itl, _ := o.optional("mean_itl_ms")
	tpot, _ := o.optional("mean_tpot_ms")
	far := tpot > 0 && itl > 1.5*tpot
	if lists, ok := o.fields["itls"].([]any); ok && len(a.output.each) > 0 {
		gaps, tokens := 0, 0.0
		for _, l := range lists {
			one, _ := l.([]any)
			gaps += len(one)
		}
		for _, n := range a.output.each {
			tokens += n - 1
		}
		far = float64(gaps) < 0.9*tokens
	}
	if !far {
		return
	}
	for i := range values {
		if values[i].Metric == ITL {
			values[i].Skip = "gaps are between chunks of several tokens"
		}
	}
}

// vllmMetrics are the names of latencies in the result, each with other names of the same.
var vllmMetrics = []struct {
	metric Metric
	names  []string
}{{TTFT, []string{"ttft"}}, {TPOT, []string{"tpot"}}, {ITL, []string{"itl"}}, {E2E, []string{"e2el", "e2e_latency"}}}

// vllmValues reads the latencies and rates. The mean leads; where it is absent, the median does.
func vllmValues(o object) []Value {
	var values []Value
	for _, m := range vllmMetrics {
		var found statistics
		for _, name := range m.names {
			for _, s := range []struct {
				stat   Stat
				prefix string
			}{{Mean, "mean_"}, {P50, "median_"}, {P50, "p50_"}, {P90, "p90_"}, {P95, "p95_"}, {P99, "p99_"}, {Max, "max_"}} {
				if x, ok := o.amount(s.prefix + name + "_ms"); ok {
					found.add(s.stat, x)
				}
			}
		}
		if m.metric == E2E && found.none() {
			found = endToEnd(o)
		}
		values = found.values(values, m.metric)
	}
	if x, ok := o.above("output_throughput"); ok {
		values = append(values, Lead(OutputPerS, Mean, x))
	}
	if x, ok := o.above("request_throughput"); ok {
		values = append(values, Lead(RequestsPerS, Mean, x))
	}
	return values
}

// endToEnd adds up the latency of each request from the lists, where the file has them: TTFT and all gaps after it.
func endToEnd(o object) statistics {
	var found statistics
	ttfts, _ := o.fields["ttfts"].([]any)
	itls, _ := o.fields["itls"].([]any)
	if len(ttfts) == 0 || len(ttfts) != len(itls) {
		return found
	}
	outputs := o.numbers("output_lens")
	var all []float64
	for i := range ttfts {
		ms, ok := numberOf(ttfts[i])
		if !ok || i < len(outputs) && outputs[i] < 1 {
			continue
		}
		gaps, _ := itls[i].([]any)
		for _, g := range gaps {
			gap, _ := numberOf(g)
			ms += gap
		}
		all = append(all, 1000*ms)
	}
	if len(all) == 0 {
		return found
	}
	slices.Sort(all)
	found.add(Mean, (&counts{each: all}).average())
	found.add(P50, Quantile(all, 0.5))
	found.add(P99, Quantile(all, 0.99))
	return found
}
