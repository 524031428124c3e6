package benchtools

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// vllmBench is what `vllm bench serve` writes, and SGLang's bench_serving in much the same words: a result per run, in
// a file or line of its own. Latencies are in milliseconds but for the lists per request, in seconds. The wait for a
// turn under max_concurrency is no part of TTFT or E2E.
var vllmBench = datafile.Schema{
	Name: "vllm bench serve",
	About: "results of vllm bench serve (JSON with request_rate, max_concurrency, completed, total_input_tokens, " +
		"mean_ttft_ms)",
	Is: func(s *datafile.Source) bool {
		return len(s.JSON) > 0 && s.JSON[0].Has("completed", "total_input_tokens", "total_output_tokens") &&
			s.JSON[0].HasAny("mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms", "mean_e2el_ms", "mean_e2e_latency_ms")
	},
	Read: readVLLMBench,
}

func readVLLMBench(s *datafile.Source, f *measured.File) error {
	f.Notes = append(f.Notes, noteOfDeployment,
		"prompt and output lengths are those of each request, in the order sent, where the result lists them for those "+
			"that got an answer; else all are at the mean",
		"a request rate of inf without max_concurrency sends every request at once; arrivals at a rate are not stretched "+
			"to end on time, as the tool's are")
	for i, id := range s.RunIDs(len(s.JSON)) {
		run := vllmRun(s.JSON[i], id)
		if err := s.JSON[i].Origin.Err; err != nil {
			return err
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

func vllmRun(o datafile.Object, id string) measured.Run {
	run := measured.Run{ID: id, Labels: measured.Labels{Source: "vllm bench serve",
		Model: measuredModel(o.Text("model_id"))}}
	row := measured.Row{ID: id, Request: -1, Values: vllmValues(o)}
	completed, _ := o.Amount("completed")
	failures, _ := o.Amount("failed")
	all, ok := o.Positive("num_prompts")
	if !ok {
		all = completed + failures
	}
	if completed == 0 {
		run.Skip, run.Rows = "no request completed", []measured.Row{row}
		return run
	}
	a := setup.Load{Requests: int(all), InFlight: vllmUnderWay(o, completed)}
	a.Prompt = setup.Counts{Mean: o.Required("total_input_tokens", "tokens above 0") / completed}
	a.Output = setup.Counts{Mean: o.Required("total_output_tokens", "tokens above 0") / completed}
	of := vllmLengths(o, &a)
	skipChunks(o, &a, row.Values)
	vllmArrivals(o, &a)
	a.Label(&run.Labels)
	run.Rows, run.Over = append([]measured.Row{row}, vllmRequests(o, id, &a, of)...), a.Overlay()
	ramp := ""
	if o.Text("ramp_up_strategy") != "" {
		ramp = "the request rate ramps up, which no workload does"
	}
	run.Refuse(setup.TooManyFailed(all-completed, all), cmp.Or(ramp, a.Skip()))
	return run
}

// vllmArrivals reads when requests were sent: burstiness is the shape of gamma gaps, 1 where absent.
func vllmArrivals(o datafile.Object, a *setup.Load) {
	if x, ok := o.Positive("max_concurrency"); ok {
		a.Clients = int(x)
	}
	switch rate := o.Fields["request_rate"]; {
	case rate == nil && a.Clients == 0:
		o.Fail("request_rate", nil, `requests/s, or "inf", or max_concurrency beside it`)
	case rate == nil, rate == "inf":
	default:
		a.Rate = o.Required("request_rate", `requests/s above 0, or "inf"`)
	}
	if shape, ok := o.Positive("burstiness"); ok && a.Rate > 0 {
		a.CV = setup.GammaCV(shape)
	}
}

// vllmUnderWay returns the most requests under way, or their mean by Little's law.
func vllmUnderWay(o datafile.Object, completed float64) float64 {
	if x, ok := o.Amount("max_concurrent_requests"); ok {
		return x
	}
	seconds, _ := o.Amount("duration")
	ttft, _ := o.Optional("mean_ttft_ms")
	tpot, _ := o.Optional("mean_tpot_ms")
	tokens, _ := o.Optional("total_output_tokens")
	if seconds == 0 {
		return 0
	}
	return (float64(completed*ttft) + float64(max(0, tokens-completed)*tpot)) / 1000 / seconds
}

// skipChunks keeps gaps between chunks of several tokens from being compared with gaps between tokens. Pooled over
// requests, the mean gap is Σ decode time / Σ gaps; far above the time per token, a gap is not one token's.
func skipChunks(o datafile.Object, a *setup.Load, values []measured.Value) {
	itl, _ := o.Optional("mean_itl_ms")
	tpot, _ := o.Optional("mean_tpot_ms")
	far := tpot > 0 && itl > 1.5*tpot
	if lists := o.NumberLists("itls", "seconds"); len(lists) > 0 && len(a.Output.Each) > 0 {
		gaps, tokens := 0, 0.0
		for _, l := range lists {
			gaps += len(l)
		}
		for _, n := range a.Output.Each {
			tokens += n - 1
		}
		far = float64(gaps) < 0.9*tokens
	}
	if !far {
		return
	}
	for i := range values {
		if values[i].Metric == measured.ITL {
			values[i].Skip = "gaps are between chunks of several tokens"
		}
	}
}

// vllmMetrics are the names of latencies in the result, each with other names of the same.
var vllmMetrics = []struct {
	metric measured.Metric
	names  []string
}{{measured.TTFT, []string{"ttft"}}, {measured.TPOT, []string{"tpot"}}, {measured.ITL, []string{"itl"}},
	{measured.E2E, []string{"e2el", "e2e_latency"}}}

// vllmValues reads the latencies and rates. The mean leads; where it is absent, the median does.
func vllmValues(o datafile.Object) []measured.Value {
	var values []measured.Value
	for _, m := range vllmMetrics {
		var found statistics
		for _, name := range m.names {
			for _, s := range []struct {
				stat   measured.Stat
				prefix string
			}{{measured.Mean, "mean_"}, {measured.P50, "median_"}, {measured.P50, "p50_"}, {measured.P90, "p90_"},
				{measured.P95, "p95_"}, {measured.P99, "p99_"}, {measured.Max, "max_"}} {
				if x, ok := o.Amount(s.prefix + name + "_ms"); ok {
					found.add(s.stat, x)
				}
			}
		}
		if m.metric == measured.E2E && found.none() {
			found = endToEnd(o)
		}
		values = found.values(values, m.metric)
	}
	if x, ok := o.Positive("output_throughput"); ok {
		values = append(values, measured.Lead(measured.OutputPerS, measured.Mean, x))
	}
	if x, ok := o.Positive("request_throughput"); ok {
		values = append(values, measured.Lead(measured.RequestsPerS, measured.Mean, x))
	}
	return values
}

// endToEnd adds up the latency of each request from the lists, where the file has them: TTFT and all gaps after it.
func endToEnd(o datafile.Object) statistics {
	var found statistics
	ttfts, decodes := o.Numbers("ttfts"), gapSums(o, "itls")
	if len(ttfts) == 0 || len(ttfts) != len(decodes) {
		return found
	}
	outputs := o.Numbers("output_lens")
	var all []float64
	for i := range ttfts {
		if i >= len(outputs) || outputs[i] >= 1 {
			all = append(all, 1000*(ttfts[i]+decodes[i]))
		}
	}
	if len(all) == 0 {
		return found
	}
	slices.Sort(all)
	found.add(measured.Mean, (&setup.Counts{Each: all}).Average())
	found.add(measured.P50, measured.Quantile(all, 0.5))
	found.add(measured.P99, measured.Quantile(all, 0.99))
	return found
}
