package vllmargs

// tensorRTFlags are the flags of trtllm-serve that a simulation depends on, and the keys of the file that
// --extra_llm_api_options names, which is where most of them stand; as of TensorRT-LLM 1.0, unverified.
func tensorRTFlags() table {
	attention := row("--enable-attention-dp", nothing, (*draft).attentionRanks)
	return table{
		row("--model", one, (*draft).modelled),
		row("--extra-llm-api-options --config", one, (*draft).unread),
		row("--max-batch-size", one, count("max_batch_size", 1<<20)),
		row("--max-num-tokens", one, count("max_num_tokens", tokensMax)),
		row("--max-seq-len", one, count("max_seq_len", tokensMax)),
		row("--kv-cache-free-gpu-memory-fraction --free-gpu-memory-fraction --kv-cache-config.free-gpu-memory-fraction", one,
			positive("free_gpu_memory_fraction", 1)),
		row("--tokens-per-block --kv-cache-config.tokens-per-block", one, count("tokens_per_block", 1<<16)),
		row("--kv-cache-config.enable-block-reuse", nothing, truth("enable_block_reuse", false)),
		row("--kv-cache-dtype --kv-cache-config.dtype", one, (*draft).cached),
		row("--enable-chunked-prefill --enable-chunked-context", nothing, truth("enable_chunked_prefill", false)),
		row("--scheduler-config.capacity-scheduler-policy", one, choice("capacity_scheduler_policy", "this policy",
			[2]string{"GUARANTEED_NO_EVICT", "GUARANTEED_NO_EVICT"}, [2]string{"MAX_UTILIZATION", "MAX_UTILIZATION"},
			[2]string{"STATIC_BATCH", ""})),
		row("--disable-overlap-scheduler", nothing, truth("overlap_scheduler", true)),
		row("--tensor-parallel-size --tp-size", one, parallel(func(d *draft) *size { return &d.tensor })),
		row("--pipeline-parallel-size --pp-size", one, parallel(func(d *draft) *size { return &d.pipeline })),
		row("--moe-expert-parallel-size --ep-size", one, parallel(func(d *draft) *size { return &d.experts })),
		attention,
		row("--cuda-graph-config.max-batch-size", one, captureMax),
		row("--cuda-graph-config.batch-sizes", several, captureSizes),
		row("--stream-interval", one, streamed),
		row("--max-beam-width", one, differsAbove(1, "beam search")),
		row("--batch-wait-timeout-iters", one, (*draft).waits),
		row("--batch-wait-max-tokens-ratio", one, differsAbove(0, "prompts held back")),
		row("--kv-cache-config.max-tokens", one, (*draft).totalTokens),
		row("--kv-cache-config.host-cache-size", one, differsAbove(0, "a KV cache in host memory")),
		row("--server-role", one, differs("separate pools for prefill and decode")),
		row("--speculative-config", one, draftedPart),
		row("--attention-dp-config", one, differs("how requests are shared between the ranks")),
		row("--attention-dp-config.enable-balance", nothing, (*draft).rankBalance),
		row("--attention-dp-config.timeout-iters", one, rankWait(func(w *rankWaits) **given { return &w.timeout })),
		row("--attention-dp-config.batching-wait-iters", one,
			rankWait(func(w *rankWaits) **given { return &w.batching })),
		row("--moe-config.load-balancer", one, differs("experts are taken to be in balance, each on one GPU")),
	}
}
