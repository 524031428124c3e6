package vllmargs

import (
	"slices"
	"strconv"
)

// sglangFlags are the flags of SGLang that a simulation depends on: docs/advanced_features/server_arguments.md for
// memory and scheduling; all others are as of SGLang 0.5, unverified.
func sglangFlags() table {
	return slices.Concat(table{
		row("--model-path --model", one, (*draft).modelled),
		row("--config", one, (*draft).unread),
		row("--max-running-requests", one, count("max_running_requests", 1<<20)),
		row("--max-total-tokens", one, (*draft).totalTokens),
		row("--chunked-prefill-size", one, chunkedPrefill),
		row("--max-prefill-tokens", one, count("max_prefill_tokens", tokensMax)),
		row("--page-size", one, count("page_size", 1<<16)),
		row("--context-length", one, count("context_length", tokensMax)),
		row("--mem-fraction-static", one, positive("mem_fraction_static", 1)),
		row("--schedule-policy", one, choice("schedule_policy", "this order of the queue",
			[2]string{"fcfs", "fcfs"}, [2]string{"lpm", "lpm"}, [2]string{"dfs-weight", "dfs-weight"}, [2]string{"lof", ""},
			[2]string{"random", ""}, [2]string{"priority", "priority"}, [2]string{"hrrn", ""}, [2]string{"routing-key", ""},
			[2]string{"shortest-prefill-first", ""})),
		row("--enable-priority-scheduling", nothing, switched(func(d *draft) **given { return &d.priority.on })),
		row("--schedule-low-priority-values-first", nothing,
			switched(func(d *draft) **given { return &d.priority.lowFirst })),
		row("--disable-priority-preemption", nothing,
			switched(func(d *draft) **given { return &d.priority.noPreemption })),
		row("--priority-scheduling-preemption-threshold", one, preemptionThreshold),
		row("--default-priority-value", one, differs("a priority of requests that have none: 0 in a scenario")),
		row("--retraction-policy", one, choice("retraction_policy", "", [2]string{"length", "length"},
			[2]string{"priority", "priority"})),
		row("--schedule-conservativeness", one, positive("schedule_conservativeness", 1e3)),
		row("--scheduler-recv-interval", one, count("scheduler_recv_interval", 1000)),
		row("--enable-mixed-chunk", nothing, truth("enable_mixed_chunk", false)),
		row("--disable-radix-cache", nothing, truth("radix_cache", true)),
		row("--disaggregation-decode-enable-radix-cache", nothing, truth("radix_cache", false)),
		row("--disable-hybrid-swa-memory", nothing, truth("hybrid_kv", true)),
		row("--disable-overlap-schedule", nothing, truth("overlap_schedule", true)),
		row("--tensor-parallel-size --tp-size --tp", one, parallel(func(d *draft) *size { return &d.tensor })),
		row("--pipeline-parallel-size --pp-size --pp", one, parallel(func(d *draft) *size { return &d.pipeline })),
		row("--data-parallel-size --dp-size --dp", one, parallel(func(d *draft) *size { return &d.data })),
		row("--attn-dp-size --attention-data-parallel-size", one, parallel(func(d *draft) *size { return &d.attention })),
		row("--expert-parallel-size --ep-size --ep", one, parallel(func(d *draft) *size { return &d.experts })),
		row("--enable-ep-moe", nothing, (*draft).expertSwitch),
		row("--enable-deepep-moe", nothing, (*draft).expertSwitch),
		row("--moe-a2a-backend", one, func(d *draft, g *given) error {
			if g.value() == "deepep" {
				return d.wholeExperts(g)
			}
			d.idle(g, kernels)
			return nil
		}),
		row("--deepep-mode", one, exchanges([2]string{"low_latency", "low-latency"}, [2]string{"normal", "normal"})),
		row("--enable-dp-attention", nothing, (*draft).attentionRanks),
		row("--load-balance-method", one, (*draft).balanced),
		row("--quantization", one, (*draft).quantized),
		row("--dtype", one, (*draft).computed),
		row("--kv-cache-dtype", one, (*draft).cached),
		row("--disable-cuda-graph", nothing, truth("disable_cuda_graph", false)),
		row("--cuda-graph-max-bs-decode --cuda-graph-max-bs", one, captureMax),
		row("--cuda-graph-bs-decode --cuda-graph-bs", several, captureSizes),
		row("--cuda-graph-backend-decode", one, func(d *draft, g *given) error {
			if g.value() == "disabled" {
				d.set("disable_cuda_graph", "true", g)
			} else {
				d.idle(g, kernels)
			}
			return nil
		}),
		row("--cuda-graph-max-bs-prefill --cuda-graph-backend-prefill", one, idle(kernels)),
		row("--cuda-graph-bs-prefill", several, idle(kernels)),
	}, sglangUnmodelled())
}

func sglangUnmodelled() table {
	lora := differs("LoRA adapters")
	links, experts := idle(links), differs("where experts are placed and copies of them asked")
	return slices.Concat(table{
		row("--hicache-size", one, hostCacheSize),
		row("--enable-hierarchical-cache", nothing, switched(func(d *draft) **given { return &d.hostSwitch })),
		row("--hicache-ratio", one, hostCacheRatio),
		row("--disaggregation-mode", one, (*draft).disaggregated),
		row("--stream-interval", one, streamed),
		row("--speculative-algorithm --speculative-algo", one, drafted("method")),
		row("--speculative-draft-model-path --speculative-draft-model --speculative-draft", one, drafted("model")),
		row("--speculative-num-steps", one, drafted("tokens")),
		row("--speculative-num-draft-tokens", one, drafted("rows")),
		row("--cpu-offload-gb", one, differsAbove(0, "weights in host memory")),
		row("--num-continuous-decode-steps", one, differsAbove(1, "several decode steps between two decisions")),
		row("--nnodes", one, differsAbove(1, "links between hosts")),
		row("--moe-dense-tp-size", one, differs("dense layers split otherwise than the others")),
		row("--json-model-override-args", one, differsJSON("changes to the model")),
		row("--swa-full-tokens-ratio", one, differs("how memory is shared between windowed and other layers")),
		row("--mamba-full-memory-ratio", one, differs("how memory is shared between recurrent and other layers")),
		row("--radix-eviction-policy", one, differs("an order of eviction, where it is not lru")),
		row("--is-embedding", nothing, differs("a model that generates no text")),
		row("--max-queued-requests", one, differs("a queue that turns requests away")),
		row("--attention-context-parallel-size --attn-cp-size", one, differsAbove(1, "context split over GPUs")),
	},
		rows(one, differsAbove(1, "a tree of drafts"), "--speculative-eagle-topk"),
		rows(one, differs("how drafts are chosen and accepted"), "--speculative-token-map "+
			"--speculative-attention-mode --speculative-accept-threshold-single --speculative-accept-threshold-acc"),
		rows(nothing, lora, "--enable-lora"), rows(several, lora, "--lora-paths"),
		rows(one, lora, "--max-loras-per-batch --max-lora-rank --lora-backend"),
		rows(nothing, switched(func(d *draft) **given { return &d.lmcache.by }), "--enable-lmcache"),
		rows(one, differs("settings of LMCache in a file, which is not read"), "--lmcache-config-file"),
		rows(one, idle("how a KV cache lies and is copied in host memory"), "--hicache-io-backend --hicache-mem-layout"),
		rows(one, differs("a store below host memory: kv_tiers of the pool says its size, its bandwidth and when it is "+
			"written, which no flag says"), "--hicache-write-policy --hicache-storage-backend "+
			"--hicache-storage-backend-extra-config --hicache-storage-prefetch-policy"),
		rows(one, links, "--disaggregation-transfer-backend --disaggregation-bootstrap-port --disaggregation-ib-device"),
		rows(nothing, (*draft).placedByLoad, "--enable-eplb"),
		rows(one, (*draft).redundantExperts, "--ep-num-redundant-experts"),
		rows(one, experts, "--ep-dispatch-algorithm --init-expert-location"),
		rows(nothing, overlaps("two-batch"), "--enable-two-batch-overlap"),
		rows(nothing, overlaps("single-batch"), "--enable-single-batch-overlap"),
		rows(nothing, switched(func(d *draft) **given { return &d.nccl }), "--disable-custom-all-reduce"),
		rows(nothing, differs("other kernels than those that were measured"),
			"--enable-torch-compile --enable-deterministic-inference"),
		rows(nothing, differs("attention data parallelism for parts of the model"), "--enable-dp-lm-head"),
	)
}

// chunkedPrefill reads a chunk's size; −1, as every number below 1, is for prompts that run whole.
func chunkedPrefill(d *draft, g *given) error {
	n, err := g.whole(-1, tokensMax)
	switch {
	case err != nil:
		return err
	case n <= 0:
		d.set("chunked_prefill_size", "-1", g)
	default:
		d.set("chunked_prefill_size", strconv.FormatInt(n, 10), g)
	}
	return nil
}
