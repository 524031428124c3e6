package views

// prometheus is what a vLLM server exports at /metrics: its own times, from the arrival of a request at the server,
// with nothing of the network in them, in the buckets of histograms.
func prometheus() Tool {
	s := seconds()
	return Tool{
		Name: "prometheus", Title: "vLLM server /metrics", Source: "vllm/v1/metrics/loggers.py",
		Measures: []Measure{
			{
				Key: "vllm:time_to_first_token_seconds", Kind: TTFT, Unit: s,
				Formula: "first token − arrival at the server, queue included",
				Buckets: ttftBuckets(), each: serverTTFT, whole: onServer(wholeTTFT),
			},
			{
				Key: "vllm:inter_token_latency_seconds", Kind: ITL, Unit: s, Formula: "gap between steps that emit, per request",
				Buckets: tokenBuckets(), each: serverGaps, whole: onServer(wholeGaps),
			},
			{
				Key: "vllm:request_time_per_output_token_seconds", Kind: TPOT, Unit: s, Formula: "(last − first)/(n − 1), n > 1",
				Buckets: tokenBuckets(), each: serverTPOT, whole: onServer(wholeTPOT),
			},
			{
				Key: "vllm:e2e_request_latency_seconds", Kind: E2E, Unit: s, Formula: "last token − arrival at the server",
				Buckets: requestBuckets(), each: serverE2E, whole: onServer(wholeE2E),
			},
		},
		Rates: []Rate{
			{"rate(vllm:request_success_total)", "1/s", requestsPerS},
			{"rate(vllm:prompt_tokens_total)", "1/s", inputPerS},
			{"rate(vllm:generation_tokens_total)", "1/s", outputPerS},
		},
		Notes: []string{
			"percentiles are histogram_quantile over the server's buckets, and no finer than those; " +
				"the mean is sum/count, and exact",
			"the bounds of the buckets are those of vLLM 0.33.0",
		},
	}
}

func serverTTFT(r *Record, add add) { add(r.server().first(), 1) }
func serverE2E(r *Record, add add)  { add(r.server().total(), 1) }

func serverGaps(r *Record, add add) {
	t := r.server()
	for j := 1; j < len(t.chunks); j++ {
		add(t.gap(j), 1)
	}
}

func serverTPOT(r *Record, add add) {
	if t := r.server(); t.n() > 1 {
		add(t.decode()/(t.n()-1), 1)
	}
}

// The buckets of vLLM 0.33.0 (vllm/v1/metrics/buckets.py).
func ttftBuckets() Buckets {
	return Buckets{
		.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
}

func tokenBuckets() Buckets {
	return Buckets{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

func requestBuckets() Buckets {
	return Buckets{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
}

// Buckets are the upper bounds of a server's histogram, in seconds and in increasing order.
type Buckets []float64

// quantile estimates the p-quantile as Prometheus' histogram_quantile does: linear within the bucket that holds it,
// from 0 in the first, and the last bound for whatever is above it (prometheus.io/docs, query functions). Within a
// bucket from 10 to 25 ms it knows nothing, so 14 and 20 ms may read alike.
func (b Buckets) quantile(d *Distribution, p float64) float64 {
	below, low := 0.0, 0.0
	for _, upper := range b {
		upto := d.Below(upper)
		if upto < p {
			below, low = upto, upper
			continue
		}
		return low + (upper-low)*(p-below)/(upto-below)
	}
	return b[len(b)-1]
}
