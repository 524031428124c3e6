package views

// vllmBench is `vllm bench serve` (vllm/benchmarks/serve.py, lib/endpoint_request_func.py).
func vllmBench() Tool {
	ms := milliseconds()
	return Tool{
		Name: "vllm", Title: "vllm bench serve", Source: "vllm/benchmarks/serve.py", Schema: true, Good: vllmRule(),
		Measures: []Measure{
			{Key: "TTFT", Kind: TTFT, Unit: ms, Formula: "F", each: ttft, whole: wholeTTFT},
			{Key: "TPOT", Kind: TPOT, Unit: ms, Formula: "(E2E − F)/(n − 1), n > 1", each: tpot, whole: wholeTPOT},
			{Key: "ITL", Kind: ITL, Unit: ms, Formula: "every gap between chunks", each: gaps, whole: wholeGaps},
			{Key: "E2EL", Kind: E2E, Unit: ms, Formula: "E2E", each: e2e, whole: wholeE2E},
		},
		Rates: []Rate{
			{"Request throughput", "req/s", requestsPerS},
			{"Output token throughput", "tok/s", outputPerS},
			{"Total token throughput", "tok/s", tokensPerS},
		},
		Notes: []string{"the wait under --max-concurrency is no part of TTFT or E2EL"},
	}
}

// sglangBench is SGLang's bench_serving; the gap per token is that of its pull request 12064, for some back-ends.
func sglangBench() Tool {
	ms := milliseconds()
	return Tool{
		Name: "sglang", Title: "SGLang bench_serving", Source: "sglang/bench_serving.py",
		Measures: []Measure{
			{Key: "TTFT", Kind: TTFT, Unit: ms, Formula: "F", each: ttft, whole: wholeTTFT},
			{Key: "TPOT", Kind: TPOT, Unit: ms, Formula: "(E2E − F)/(n − 1), n > 1", each: tpot, whole: wholeTPOT},
			{Key: "ITL", Kind: ITL, Unit: ms, Formula: "every gap between chunks", each: gaps, whole: wholeGaps},
			{Key: "ITL per token", Kind: ITL, Unit: ms,
				Formula: "every gap / tokens of its chunk, for each of them (some back-ends)", each: sharedGaps},
			{Key: "E2E Latency", Kind: E2E, Unit: ms, Formula: "E2E", each: e2e, whole: wholeE2E},
		},
		Rates: []Rate{
			{"Request throughput", "req/s", requestsPerS},
			{"Input token throughput", "tok/s", inputPerS},
			{"Output token throughput", "tok/s", outputPerS},
			{"Total token throughput", "tok/s", tokensPerS},
			{"Concurrency", "", func(c *Counts, durationS float64) float64 { return ratio(c.E2ES, durationS) }},
		},
		Notes: []string{"retokenised counts are the engine's: nothing is tokenised again"},
	}
}

func sharedGaps(r *Record, add add) {
	t := r.client()
	for j := 1; j < len(t.chunks); j++ {
		k := t.chunks[j].Tokens
		for range k {
			add(t.gap(j)/float64(k), 1)
		}
	}
}

// aiperf is AIPerf (docs/metrics-reference.md). Its ITL divides by n − 1; with --per-chunk-usage, version 0.13
// subtracts all tokens of the first chunk instead.
func aiperf() Tool {
	ms := milliseconds()
	return Tool{
		Name: "aiperf", Title: "AIPerf", Source: "docs/metrics-reference.md; aiperf 0.13.0", Schema: true, Good: aiperfRule(),
		Measures: []Measure{
			{Key: "time_to_first_token", Kind: TTFT, Unit: ms, Formula: "F", each: ttft, whole: wholeTTFT},
			{Key: "time_to_second_token", Unit: ms, Formula: "t_2 − t_1", each: second},
			{Key: "time_to_first_output_token", Unit: ms, Formula: "F: no token is reasoning", each: ttft, whole: wholeTTFT},
			{Key: "request_latency", Kind: E2E, Unit: ms, Formula: "E2E", each: e2e, whole: wholeE2E},
			{Key: "inter_token_latency", Kind: ITL, Unit: ms,
				Formula: "(E2E − F)/(n − 1), one value per request", each: tpot, whole: wholeTPOT},
			{Key: "inter_chunk_latency", Kind: ITL, Unit: ms, Formula: "every gap between chunks", each: gaps, whole: wholeGaps},
			{Key: "output_token_throughput_per_user", Unit: Unit{"tokens/s", 1},
				Formula: "1 / inter_token_latency", each: perUser},
		},
		Rates: []Rate{
			{"request_throughput", "requests/s", requestsPerS},
			{"output_token_throughput", "tokens/s", outputPerS},
		},
	}
}

func second(r *Record, add add) {
	if t := r.client(); len(t.chunks) > 1 {
		add(t.gap(1), 1)
	}
}

func perUser(r *Record, add add) {
	tpot(r, func(x float64, w int64) {
		if x > 0 {
			add(1/x, w)
		}
	})
}

// genaiPerf is GenAI-Perf, which AIPerf replaces.
func genaiPerf() Tool {
	ms := milliseconds()
	good := aiperfRule()
	good.Key, good.Formula = "request_goodput", good.Formula+" (as AIPerf; unverified)"
	return Tool{
		Name: "genai-perf", Title: "GenAI-Perf", Source: "the definitions that AIPerf took over", Good: good,
		Measures: []Measure{
			{Key: "time_to_first_token", Kind: TTFT, Unit: ms, Formula: "F", each: ttft, whole: wholeTTFT},
			{Key: "time_to_second_token", Unit: ms, Formula: "t_2 − t_1 (as AIPerf; unverified)", each: second},
			{Key: "request_latency", Kind: E2E, Unit: ms, Formula: "E2E", each: e2e, whole: wholeE2E},
			{Key: "inter_token_latency", Kind: ITL, Unit: ms,
				Formula: "(E2E − F)/(n − 1), one value per request", each: tpot, whole: wholeTPOT},
		},
		Rates: []Rate{
			{"request_throughput", "requests/s", requestsPerS},
			{"output_token_throughput", "tokens/s", outputPerS},
		},
	}
}

// guidellm is GuideLLM (schemas/base/request_stats.py and statistics.py of 0.8.1). Values per token are weighted by the
// tokens they stand for, and all percentiles are nearest ranks.
func guidellm() Tool {
	ms := milliseconds()
	return Tool{
		Name: "guidellm", Title: "GuideLLM", Source: "docs/guides/metrics.md; guidellm 0.8.1", Schema: true,
		Good: guidellmRule(),
		Measures: []Measure{
			{Key: "request_latency", Kind: E2E, Unit: seconds(), Formula: "E2E", Ranked: true, each: e2e, whole: wholeE2E},
			{Key: "time_to_first_token_ms", Kind: TTFT, Unit: ms, Formula: "F", Ranked: true, each: ttft, whole: wholeTTFT},
			{Key: "inter_token_latency_ms", Kind: ITL, Unit: ms,
				Formula: "(E2E − F)/(n − 1), weighing n − 1", Ranked: true, each: weighingGaps},
			{Key: "time_per_output_token_ms", Kind: TPOT, Unit: ms,
				Formula: "E2E/n, weighing n: the first token counts", Ranked: true, each: weighingTokens},
		},
		Rates: []Rate{
			{"requests_per_second", "", requestsPerS},
			{"output_tokens_per_second", "", outputPerS},
			{"tokens_per_second", "", tokensPerS},
			{"request_concurrency", "", func(c *Counts, durationS float64) float64 { return ratio(c.E2ES, durationS) }},
		},
		Notes: []string{"what the tool leaves out as its warm-up and cool-down is in; the scenario's warmup_s is out"},
	}
}

func weighingGaps(r *Record, add add) {
	tpot(r, func(x float64, _ int64) { add(x, int64(r.Tokens())-1) })
}

func weighingTokens(r *Record, add add) {
	perToken(r, func(x float64, _ int64) { add(x, int64(r.Tokens())) })
}

// inferencePerf is kubernetes-sigs/inference-perf (reportgen/base.py of 0.7.0).
func inferencePerf() Tool {
	s := seconds()
	return Tool{
		Name: "inference-perf", Title: "inference-perf", Source: "inference_perf/reportgen/base.py, 0.7.0", Schema: true,
		Good: inferencePerfRule(),
		Measures: []Measure{
			{Key: "request_latency", Kind: E2E, Unit: s, Formula: "E2E", each: e2e, whole: wholeE2E},
			{Key: "time_to_first_token", Kind: TTFT, Unit: s, Formula: "F, n > 1", each: ttftOfMany, whole: wholeTTFTOfMany},
			{Key: "inter_token_latency", Kind: ITL, Unit: s, Formula: "every gap between chunks", each: gaps, whole: wholeGaps},
			{Key: "time_per_output_token", Kind: TPOT, Unit: s,
				Formula: "(t_m − t_1)/(n − 1), n > 1", each: tpot, whole: wholeTPOT},
			{Key: "normalized_time_per_output_token", Kind: TPOT, Unit: s, Formula: "E2E/n", each: perToken},
		},
		Rates: []Rate{
			{"requests_per_sec", "", requestsPerS},
			{"input_tokens_per_sec", "", inputPerS},
			{"output_tokens_per_sec", "", outputPerS},
			{"total_tokens_per_sec", "", tokensPerS},
		},
		Notes: []string{
			"tokens are the engine's: clients that tokenise random text again have counted 1.77 to 1.88 times as many",
			"where the client counts the tokens of each chunk, 0.7.0 gives all of them its time: gaps of 0 within it",
		},
	}
}

func ttftOfMany(r *Record, add add) {
	if r.Tokens() > 1 {
		ttft(r, add)
	}
}

// llmperf is LLMPerf. Its gaps begin with TTFT, so that their mean is E2E/n; the names of the others are unverified.
func llmperf() Tool {
	s := seconds()
	return Tool{
		Name: "llmperf", Title: "LLMPerf", Source: "llmperf/common_metrics.py",
		Measures: []Measure{
			{Key: "ttft_s", Kind: TTFT, Unit: s, Formula: "F", each: ttft, whole: wholeTTFT},
			{Key: "inter_token_latency_s", Kind: ITL, Unit: s,
				Formula: "Σ(all gaps, F among them)/n = E2E/n, one value per request", each: perToken},
			{Key: "end_to_end_latency_s", Kind: E2E, Unit: s, Formula: "E2E", each: e2e, whole: wholeE2E},
			{Key: "request_output_throughput_token_per_s", Unit: Unit{"tokens/s", 1}, Formula: "n/E2E", each: tokenRate},
		},
		Rates: []Rate{
			{"mean_output_throughput_token_per_s", "", outputPerS},
			{"num_completed_requests_per_min", "", func(c *Counts, durationS float64) float64 {
				return 60 * requestsPerS(c, durationS)
			}},
		},
		Notes: []string{"the tool counts with the Llama tokenizer, whatever the model; here tokens are the engine's"},
	}
}

func tokenRate(r *Record, add add) {
	t := r.client()
	add(t.n()/t.total(), 1)
}
