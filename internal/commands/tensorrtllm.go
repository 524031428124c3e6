package commands

import (
	"fmt"
	"strings"
)

// tensorRTLLM writes the arguments of trtllm-serve, and what it takes from a file alone; as of TensorRT-LLM 1.0,
// unverified.
func (w *writer) tensorRTLLM() {
	p, a := w.p, &w.engine.Arguments
	w.say("trtllm-serve", w.checkpoint)
	number(w, "--tp_size", p.TensorParallel*p.DataParallel, 1)
	number(w, "--pp_size", p.PipelineParallel, 1)
	if p.ExpertParallel {
		w.say("--ep_size", decimal(p.TensorParallel*p.DataParallel))
	}
	number(w, "--max_batch_size", p.MaxNumSeqs, 0)
	number(w, "--max_num_tokens", p.MaxNumBatchedTokens, 0)
	number(w, "--max_seq_len", p.MaxModelLen, 0)
	number(w, "--kv_cache_free_gpu_memory_fraction", p.GPUMemoryUtilization, 0)
	w.weights(false)
	if p.DataParallel > 1 {
		w.set("enable_attention_dp: true")
		if p.TensorParallel > 1 {
			w.cannot("%d ranks of %d GPUs: TensorRT-LLM makes every GPU an attention rank", p.DataParallel, p.TensorParallel)
		}
	}
	w.kvCacheConfig()
	if p.EnableChunkedPrefill != a.EnableChunkedPrefill {
		w.set("enable_chunked_prefill: %t", p.EnableChunkedPrefill)
	}
	if p.CapacitySchedulerPolicy != a.CapacitySchedulerPolicy {
		w.set("scheduler_config: {capacity_scheduler_policy: %s}", p.CapacitySchedulerPolicy)
	}
	switch n := p.BatchWaitTimeoutIters; {
	case n == a.BatchWaitTimeoutIters:
	case p.DataParallel > 1:
		w.set("attention_dp_config: {enable_balance: true, timeout_iters: %d, batching_wait_iters: 0}", n)
	default:
		w.set("batch_wait_timeout_iters: %d", n)
	}
	if !p.AsyncScheduling {
		w.set("disable_overlap_scheduler: true")
	}
	if len(p.CUDAGraphCaptureSizes) > 0 {
		w.set("cuda_graph_config: {batch_sizes: [%s]}", joined(p.CUDAGraphCaptureSizes))
	}
	if p.EnforceEager {
		w.cannot("enforce_eager: how trtllm-serve leaves out CUDA graphs is not written")
	}
	w.order()
	if n := w.interval(); n > 0 {
		w.set("stream_interval: %d", n)
	}
	w.tensorRTSpeculation()
	if !p.Prefills() || !p.Decodes() {
		w.cannot("role %s: servers of one role are joined by trtllm-serve disaggregated, which is not written", p.Role)
	}
	if w.command.Settings != nil {
		w.say("--extra_llm_api_options", w.command.settingsFile())
	}
}

// kvCacheConfig writes the settings of the cache that differ from the defaults.
func (w *writer) kvCacheConfig() {
	p, a := w.p, &w.engine.Arguments
	var parts []string
	if dtype := w.cache(map[string]string{"fp8": "fp8", "nvfp4": "nvfp4"}); dtype != "" {
		parts = append(parts, "dtype: "+dtype)
	}
	if p.EnablePrefixCaching != a.EnablePrefixCaching {
		parts = append(parts, fmt.Sprintf("enable_block_reuse: %t", p.EnablePrefixCaching))
	}
	if p.BlockSize != a.BlockSize {
		parts = append(parts, fmt.Sprintf("tokens_per_block: %d", p.BlockSize))
	}
	if p.NumGPUBlocks != 0 {
		parts = append(parts, fmt.Sprintf("max_tokens: %d", p.NumGPUBlocks*int64(p.BlockSize)))
	}
	if parts != nil {
		w.set("kv_cache_config: {%s}", strings.Join(parts, ", "))
	}
}

func joined(sizes []int) string {
	var words []string
	for _, n := range sizes {
		words = append(words, decimal(n))
	}
	return strings.Join(words, ", ")
}
