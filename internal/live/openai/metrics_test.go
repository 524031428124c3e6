package openai

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The buckets of vLLM 0.33.0 (vllm/v1/metrics/buckets.py), for contexts of 2,048 tokens.
const (
	latencyBuckets = "0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680"
	ttftBuckets    = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 20 40 80 160 640 2560"
	itlBuckets     = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 7.5 10 20 40 80"
	tokensBuckets  = "1 2 5 10 20 50 100 200 500 1000 2000"
)

// ofVLLM is what vLLM 0.33.0 exports by default (vllm/v1/metrics/loggers.py, from line 527 on): types,
// labels beside engine and model_name, and buckets.
var ofVLLM = map[string]string{
	"admission_rejections_total":            "counter reason",
	"num_requests_running":                  "gauge",
	"num_requests_waiting":                  "gauge",
	"num_requests_waiting_by_reason":        "gauge reason",
	"engine_sleep_state":                    "gauge sleep_state",
	"kv_cache_usage_perc":                   "gauge",
	"prefix_cache_queries_total":            "counter",
	"prefix_cache_hits_total":               "counter",
	"external_prefix_cache_queries_total":   "counter",
	"external_prefix_cache_hits_total":      "counter",
	"mm_cache_queries_total":                "counter",
	"mm_cache_hits_total":                   "counter",
	"num_preemptions_total":                 "counter",
	"prompt_tokens_total":                   "counter",
	"prompt_tokens_by_source_total":         "counter source",
	"prompt_tokens_cached_total":            "counter",
	"prompt_tokens_cached_by_source_total":  "counter source",
	"generation_tokens_total":               "counter",
	"request_success_total":                 "counter finished_reason",
	"request_prompt_tokens":                 "histogram " + tokensBuckets,
	"request_generation_tokens":             "histogram " + tokensBuckets,
	"iteration_tokens_total":                "histogram 1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384",
	"request_max_num_generation_tokens":     "histogram " + tokensBuckets,
	"request_params_n":                      "histogram 1 2 5 10 20",
	"request_params_max_tokens":             "histogram " + tokensBuckets,
	"time_to_first_token_seconds":           "histogram " + ttftBuckets,
	"inter_token_latency_seconds":           "histogram " + itlBuckets,
	"request_time_per_output_token_seconds": "histogram " + itlBuckets,
	"e2e_request_latency_seconds":           "histogram " + latencyBuckets,
	"request_queue_time_seconds":            "histogram " + latencyBuckets,
	"request_inference_time_seconds":        "histogram " + latencyBuckets,
	"request_prefill_time_seconds":          "histogram " + latencyBuckets,
	"request_decode_time_seconds":           "histogram " + latencyBuckets,
	"request_num_preemptions":               "histogram 1 2 3 4 5 10 20",
	"request_prefill_kv_computed_tokens":    "histogram " + tokensBuckets,
}

// TestMetricsAreThoseOfVLLM by name, type, labels and buckets, so that dashboards and autoscalers made for it read
// them.
func TestMetricsAreThoseOfVLLM(t *testing.T) {
	x := serve(t, nil, "pools.serve.replicas=1")
	status, _ := x.post("/v1/completions", `{"prompt":"a","max_tokens":5,"ignore_eos":true,"n":3}`)
	require.Equal(t, 200, status)
	_, text := x.get("/metrics")
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE vllm:(\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		name, kind := m[1], m[2]
		if name == "cache_config_info" {
			continue
		}
		suffix := ""
		if kind == "histogram" {
			suffix = "_bucket"
		}
		labels, bounds := map[string]bool{}, []string{kind}
		for _, row := range regexp.MustCompile(`(?m)^vllm:`+name+suffix+`\{(.*)\} `).FindAllStringSubmatch(text, -1) {
			for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(row[1], -1) {
				labels[l[1]] = true
				if l[1] == "le" && l[2] != "+Inf" {
					bounds = append(bounds, l[2])
				}
			}
		}
		require.True(t, (labels["engine"] || name == "admission_rejections_total") && labels["model_name"], name)
		for _, own := range []string{"engine", "model_name", "le"} {
			delete(labels, own)
		}
		got[name] = strings.Join(append(bounds, slices.Sorted(maps.Keys(labels))...), " ")
	}
	require.Equal(t, ofVLLM, got)
	for name, value := range map[string]int{
		`request_params_max_tokens_bucket{engine="0",model_name="m",le="5"}`:                  3,
		`request_params_n_bucket{engine="0",model_name="m",le="5"}`:                           1,
		`request_params_n_sum{engine="0",model_name="m"}`:                                     3,
		`request_max_num_generation_tokens_sum{engine="0",model_name="m"}`:                    5,
		`request_generation_tokens_sum{engine="0",model_name="m"}`:                            15,
		`request_prefill_kv_computed_tokens_count{engine="0",model_name="m"}`:                 3,
		`prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"}`:     3,
		`request_success_total{engine="0",finished_reason="length",model_name="m"}`:           3,
		`engine_sleep_state{engine="0",model_name="m",sleep_state="awake"}`:                   1,
		`inter_token_latency_seconds_count{engine="0",model_name="m"}`:                        12,
		`cache_config_info{block_size="16",engine="0",num_gpu_blocks="` + blocks(text) + `"}`: 1,
	} {
		require.Contains(t, text, fmt.Sprintf("\nvllm:%s %d\n", name, value))
	}
}

// TestDraftsAreCounted as vLLM does, by position: the first two of three tokens that a step emits are accepted drafts.
func TestDraftsAreCounted(t *testing.T) {
	x := serve(t, nil, "pools.serve.replicas=1", "speculation={method: ngram, num_speculative_tokens: 2, "+
		"acceptance: {process: iid, rate: 1}}")
	status, text := x.post("/v1/completions", `{"prompt":"a","max_tokens":31,"ignore_eos":true}`)
	require.Equal(t, 200, status, text)
	_, text = x.get("/metrics")
	for name, value := range map[string]int{
		`num_drafts_total{engine="0",model_name="m"}`:                               10,
		`num_draft_tokens_total{engine="0",model_name="m"}`:                         20,
		`num_accepted_tokens_total{engine="0",model_name="m"}`:                      20,
		`num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"}`: 10,
		`num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"}`: 10,
	} {
		require.Contains(t, text, fmt.Sprintf("\nvllm:spec_decode_%s %d\n", name, value))
	}
}

// blocks returns how many blocks the metrics say that there are.
func blocks(text string) string {
	return regexp.MustCompile(`num_gpu_blocks="([1-9]\d*)"`).FindStringSubmatch(text)[1]
}
