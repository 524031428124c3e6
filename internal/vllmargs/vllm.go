package vllmargs

import (
	"slices"
	"strings"
)

// vllmFlags are the flags of vLLM that a simulation depends on. Names and meanings are those of
// vllm/engine/arg_utils.py, vllm/config/scheduler.py and vllm/config/cache.py for scheduling, cache and parallelism;
// all others, and those of V0, are as of vLLM 0.11 and 0.6, unverified.
func vllmFlags(v0 bool) table {
	swap := idle("vLLM V1 does not swap")
	mode, multistep := swap, idle("vLLM V1 has no multi-step scheduling")
	prompts := idle("vLLM V1 does not read it") // vllm/v1/core/sched/scheduler.py
	if v0 {
		swap = positive("swap_space", 1<<20)
		mode = choice("preemption_mode", "", [2]string{"recompute", "recompute"}, [2]string{"swap", "swap"})
		prompts = differsAbove(1, "limits on prompts that are in progress at once")
		multistep = differsAbove(1, "several decode steps between two decisions")
	}
	return slices.Concat(vllmLimits(), vllmLayout(), vllmPrecision(), table{
		row("--swap-space", one, swap),
		row("--preemption-mode", one, mode),
		row("--max-num-partial-prefills", one, prompts),
		row("--max-long-partial-prefills", one, prompts),
		row("--num-scheduler-steps", one, multistep),
		row("--multi-step-stream-outputs", maybe, multistep),
	}, vllmGraphs(), vllmUnmodelled())
}

func vllmLimits() table {
	return table{
		row("--model", one, (*draft).modelled),
		row("--config", maybe, (*draft).unread),
		row("--max-num-seqs", one, count("max_num_seqs", 1<<20)),
		row("--performance-mode", one, choice("performance_mode", "this mode", [2]string{"balanced", "balanced"},
			[2]string{"throughput", "throughput"}, [2]string{"interactivity", "interactivity"})),
		row("--max-num-batched-tokens", one, tokens("max_num_batched_tokens")),
		row("--max-model-len", one, func(d *draft, g *given) error {
			if v := g.value(); v == "-1" || strings.EqualFold(v, "auto") {
				d.idle(g, "as without it")
				return nil
			}
			return tokens("max_model_len")(d, g)
		}),
		row("--gpu-memory-utilization", one, positive("gpu_memory_utilization", 1)),
		row("--block-size", one, count("block_size", 1<<16)),
		row("--num-gpu-blocks-override", one, count("num_gpu_blocks", 1<<31-1)),
		row("--enable-prefix-caching", nothing, truth("enable_prefix_caching", false)),
		row("--disable-hybrid-kv-cache-manager", nothing, truth("hybrid_kv", true)),
		row("--enable-chunked-prefill", nothing, truth("enable_chunked_prefill", false)),
		row("--long-prefill-token-threshold", one, func(d *draft, g *given) error {
			if g.value() == "0" {
				d.set("long_prefill_token_threshold", "0", g)
				return nil
			}
			return tokens("long_prefill_token_threshold")(d, g)
		}),
		row("--scheduler-reserve-full-isl", nothing, truth("scheduler_reserve_full_isl", false)),
		row("--watermark", one, positive("watermark", 0.999)),
		row("--async-scheduling", nothing, truth("async_scheduling", false)),
		row("--scheduling-policy", one, choice("scheduling_policy", "", [2]string{"fcfs", "fcfs"},
			[2]string{"priority", "priority"})),
		row("--kv-offloading-size", one, positive("kv_offloading_size", 1<<20)),
	}
}

func vllmLayout() table {
	return table{
		row("--tensor-parallel-size -tp", one, parallel(func(d *draft) *size { return &d.tensor })),
		row("--pipeline-parallel-size -pp", one, parallel(func(d *draft) *size { return &d.pipeline })),
		row("--data-parallel-size -dp", one, parallel(func(d *draft) *size { return &d.data })),
		row("--enable-expert-parallel -ep", nothing, (*draft).expertSwitch),
		// vllm/config/parallel.py, 0.33.0; the low-latency ones are those before which a step has fewer tokens
		row("--all2all-backend", one, exchanges([2]string{"deepep_low_latency", "low-latency"},
			[2]string{"nixl_ep", "low-latency"}, [2]string{"deepep_high_throughput", "normal"},
			[2]string{"flashinfer_nvlink_one_sided", "one-sided"})),
	}
}

func vllmPrecision() table {
	return table{
		row("--quantization -q", one, (*draft).quantized),
		row("--dtype", one, (*draft).computed),
		row("--kv-cache-dtype", one, (*draft).cached),
	}
}

func vllmGraphs() table {
	return table{
		row("--enforce-eager", nothing, truth("enforce_eager", false)),
		row("--cudagraph-capture-sizes --cuda-graph-sizes", several, captureSizes),
		row("--max-cudagraph-capture-size", one, captureMax),
		row(compilationFlag+" -cc -O", one, compilation),
	}
}

// vllmLoRA are the flags about LoRA adapters (0.33.0, vllm/engine/arg_utils.py:1603).
func vllmLoRA() table {
	return table{
		row("--enable-lora", nothing, truth("enable_lora", false)),
		row("--max-loras", one, count("max_loras", 1024)),
		row("--max-lora-rank", one, count("max_lora_rank", 512)),
		row("--max-cpu-loras", one, count("max_cpu_loras", 1<<20)),
		row("--lora-dtype", one, choice("lora_dtype", "", [2]string{"auto", "auto"}, [2]string{"bfloat16", "bfloat16"},
			[2]string{"float16", "float16"})),
		row("--lora-target-modules", several, func(d *draft, g *given) error {
			d.set("lora_target_modules", "["+strings.Join(g.values, ", ")+"]", g)
			return nil
		}),
		row("--lora-modules", several, differs("the adapters by name; workload.adapters says how many requests have")),
		row("--enable-lora-bias --fully-sharded-loras --enable-tower-connector-lora --specialize-active-lora", nothing,
			differs("how LoRA adapters are computed")),
	}
}

func vllmUnmodelled() table {
	return slices.Concat(table{
		row("--speculative-config -sc", one, draftedPart),
		row("--speculative-model", one, drafted("model")),
		row("--num-speculative-tokens", one, drafted("tokens")),
		row("--kv-transfer-config", one, (*draft).transferred),
		row("--eplb-config", one, (*draft).placement),
		row("--enable-eplb", nothing, (*draft).placedByLoad),
		row("--num-redundant-experts", one, (*draft).redundantExperts),
		row("--ec-transfer-config", one, differsJSON("separate encoders")),
		row("--additional-config --hf-overrides", one, differsJSON("changes to the model or the platform")),
		row("--cpu-offload-gb", one, differsAbove(0, "weights in host memory")),
		row("--kv-cache-memory-bytes --kv-cache-memory", one,
			differs("the size of the KV cache in bytes; num_gpu_blocks says it in blocks")),
		row("--stream-interval", one, streamed),
		row("--decode-context-parallel-size -dcp", one, differsAbove(1, "context split over GPUs")),
		row("--prefill-context-parallel-size -pcp", one, differsAbove(1, "context split over GPUs")),
		row("--num-lookahead-slots", one, differsAbove(0, speculative)),
		row("--max-seq-len-to-capture --max-context-len-to-capture", one, differs("eager steps beyond a context")),
		row("--disable-custom-all-reduce", nothing, switched(func(d *draft) **given { return &d.nccl })),
		row("--enable-dbo", nothing, overlaps("two-batch")),
		row("--rope-scaling", one, differsJSON("another context length than the model's own")),
		row("--nnodes -n", one, differsAbove(1, "links between hosts")),
		row("--runner", one, differs("a model that generates no text, where it says pooling")),
		row("--task", one, differs("a model that generates no text, where it says so")),
		row("--delay-factor --scheduler-delay-factor", one, differsAbove(0, "prompts held back")),
		row("--scheduler-cls", one, differs("a scheduler of one's own")),
		row("--optimization-level", one, func(d *draft, g *given) error {
			if g.value() == "0" {
				d.differ(g, uncompiled)
			} else {
				d.idle(g, kernels)
			}
			return nil
		}),
		row("--disable-sliding-window", nothing, differs("windowed layers without windows")),
	},
		vllmLoRA(),
		rows(one, differs("how drafts are made"), "--speculative-draft-tensor-parallel-size --ngram-prompt-lookup-max "+
			"--ngram-prompt-lookup-min"))
}
