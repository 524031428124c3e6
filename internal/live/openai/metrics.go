package openai

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/sim"
)

// exporter returns what answers scrapes: of a replica, as the only engine, or of all if it is negative. Names, types,
// labels and buckets are those of vLLM 0.33.0, vllm/v1/metrics/loggers.py from line 497 on.
func (s *Server) exporter(replica int) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{server: s, replica: replica})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// collector is the metrics of a fleet or of a replica.
type collector struct {
	server  *Server
	replica int
}

// Describe implements prometheus.Collector: which metrics there are follows from the fleet.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	state, ok := c.server.loop.State()
	if !ok {
		return
	}
	c.refusals(out)
	for i := range state.Replicas {
		switch {
		case c.replica < 0:
			engine{out, c.server.model, strconv.Itoa(i)}.send(&state.Replicas[i])
		case c.replica == i:
			engine{out, c.server.model, "0"}.send(&state.Replicas[i])
		}
	}
}

// refusals sends how many requests were not admitted, by vLLM's reasons and those of the scenario and of --max-rate.
func (c *collector) refusals(out chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("vllm:admission_rejections_total", "Number of requests that were not admitted, by reason.",
		[]string{"model_name", "reason"}, nil)
	for i, name := range reasons {
		n := float64(c.server.refused.of(c.replica, reason(i)))
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, n, c.server.model, name)
	}
}

// engine is where the metrics of a replica go.
type engine struct {
	out         chan<- prometheus.Metric
	model, name string
}

// send sends the metrics of a replica.
func (e engine) send(r *live.ReplicaState) {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	e.value("num_requests_running", "Number of requests in model execution batches.", gauge, float64(r.Running))
	e.value("num_requests_waiting", "Number of requests waiting to be processed.", gauge, float64(r.Waiting))
	e.value("num_requests_waiting_by_reason", "Number of waiting requests by reason.", gauge, float64(r.Waiting),
		"reason", "capacity")
	e.value("num_requests_waiting_by_reason", "Number of waiting requests by reason.", gauge, 0, "reason", "deferred")
	config := prometheus.NewDesc("vllm:cache_config_info", "Information of the LLMEngine CacheConfig",
		[]string{"engine", "block_size", "num_gpu_blocks"}, nil) // of a deployment, whatever its model is called
	e.out <- prometheus.MustNewConstMetric(config, gauge, 1, e.name, strconv.Itoa(int(r.BlockSize)),
		strconv.FormatInt(r.KVTotal, 10))
	for state, on := range map[string]float64{"awake": 1, "weights_offloaded": 0, "discard_all": 0} {
		e.value("engine_sleep_state", "Engine sleep state: what is 1 applies.", gauge, on, "sleep_state", state)
	}
	usage := 0.0
	if r.KVTotal > 0 {
		usage = float64(r.KVUsed) / float64(r.KVTotal)
	}
	e.value("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", gauge, usage)
	e.value("prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.", counter,
		float64(r.Prompted))
	e.value("prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", counter,
		float64(r.Cached))
	e.value("num_preemptions_total", "Cumulative number of preemption from the engine.", counter, float64(r.Preempted))
	e.value("prompt_tokens_total", "Number of prefill tokens processed.", counter, float64(r.Prompted))
	e.value("prompt_tokens_cached_total", "Number of cached prompt tokens (local + external).", counter,
		float64(r.Cached))
	e.value("generation_tokens_total", "Number of generation tokens processed.", counter, float64(r.Generated))
	e.sources(r)
	for _, x := range []struct {
		reason string
		n      int64
	}{{"stop", r.Stopped}, {"length", r.Outcomes[sim.Completed] - r.Stopped}, {"abort", r.Outcomes[sim.Failed]},
		{"error", 0}, {"repetition", 0}} {
		e.value("request_success_total", "Count of successfully processed requests.", counter, float64(x.n),
			"finished_reason", x.reason)
	}
	if len(r.Accepted) > 0 {
		e.speculation(r)
	}
	e.histograms(r)
}

// speculation sends what a replica drafts (vLLM 0.33.0, vllm/v1/spec_decode/metrics.py, from line 200 on). Accepted are
// the tokens that clients got.
func (e engine) speculation(r *live.ReplicaState) {
	const counter = prometheus.CounterValue
	accepted := int64(0)
	for i, n := range r.Accepted {
		accepted += n
		e.value("spec_decode_num_accepted_tokens_per_pos_total", "Accepted tokens per draft position.", counter, float64(n),
			"position", strconv.Itoa(i))
	}
	e.value("spec_decode_num_drafts_total", "Number of drafts.", counter, float64(r.Drafts))
	e.value("spec_decode_num_draft_tokens_total", "Number of draft tokens.", counter, float64(r.Drafted))
	e.value("spec_decode_num_accepted_tokens_total", "Number of accepted tokens.", counter, float64(accepted))
}

// sources sends where the tokens of prompts came from. What is fetched from a tier of the scenario's own counts as the
// replica's cache: no other process has a part in it, and none has anything but text.
func (e engine) sources(r *live.ReplicaState) {
	const counter = prometheus.CounterValue
	for _, x := range []struct {
		source string
		n      int64
	}{{"local_compute", r.Prompted - r.Cached}, {"local_cache_hit", r.Cached}, {"external_kv_transfer", 0}} {
		e.value("prompt_tokens_by_source_total", "Number of prompt tokens by source.", counter, float64(x.n), "source",
			x.source)
	}
	for _, source := range []string{"device", "host", "p2p", "disk", "external_unspecified"} {
		n := int64(0)
		if source == "device" {
			n = r.Cached
		}
		e.value("prompt_tokens_cached_by_source_total", "Cached prompt tokens by the cache tier that supplied them.",
			counter, float64(n), "source", source)
	}
	for _, name := range []string{"external_prefix_cache_queries", "external_prefix_cache_hits", "mm_cache_queries",
		"mm_cache_hits"} {
		e.value(name+"_total", "Of a cache that is not simulated: always 0.", counter, 0)
	}
}

// histograms sends the histograms of a replica.
func (e engine) histograms(r *live.ReplicaState) {
	for _, x := range []struct {
		name, help string
		h          *live.Histogram
	}{
		{"time_to_first_token_seconds", "Histogram of time to first token in seconds.", &r.TTFT},
		{"inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &r.ITL},
		{"request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", &r.TPOT},
		{"e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &r.E2E},
		{"request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &r.Queue},
		{"request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", &r.Inference},
		{"request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", &r.Prefill},
		{"request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", &r.Decode},
		{"request_prompt_tokens", "Number of prefill tokens processed.", &r.PromptTokens},
		{"request_generation_tokens", "Number of generation tokens processed.", &r.OutputTokens},
		{"request_params_max_tokens", "Histogram of the max_tokens request parameter.", &r.LimitTokens},
		{"request_max_num_generation_tokens", "Histogram of the most tokens of an answer of a request.", &r.LongestTokens},
		{"request_params_n", "Histogram of the n request parameter.", &r.Samples},
		{"request_prefill_kv_computed_tokens", "Histogram of the prompt tokens of a request that were not cached.",
			&r.ComputedTokens},
		{"request_num_preemptions", "Histogram of the number of times a request was preempted.", &r.Preemptions},
		{"iteration_tokens_total", "Histogram of number of tokens per engine_step.", &r.StepTokens},
	} {
		buckets, n := map[float64]uint64{}, uint64(0)
		for i, bound := range x.h.Bounds {
			n += x.h.Counts[i]
			buckets[bound] = n
		}
		n += x.h.Counts[len(x.h.Bounds)]
		e.out <- prometheus.MustNewConstHistogram(e.desc(x.name, x.help), n, x.h.Sum, buckets, e.model, e.name)
	}
}

func (e engine) desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("vllm:"+name, help, append([]string{"model_name", "engine"}, labels...), nil)
}

// value sends one number; labels are names and values in turn.
func (e engine) value(name, help string, kind prometheus.ValueType, v float64, labels ...string) {
	var names []string
	values := []string{e.model, e.name}
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	e.out <- prometheus.MustNewConstMetric(e.desc(name, help, names...), kind, v, values...)
}
