package commands

import (
	"math"

	"github.com/decodesim/decodesim/hardware"
)

// sglang writes the arguments of sglang/srt/arg_groups/fields (0.5.23).
func (w *writer) sglang() {
	p, a := w.p, &w.engine.Arguments
	gpus := p.TensorParallel * p.DataParallel
	w.say("python", "-m", "sglang.launch_server", "--model-path", w.checkpoint)
	number(w, "--tp-size", gpus, 1)
	number(w, "--pp-size", p.PipelineParallel, 1)
	number(w, "--attn-dp-size", p.DataParallel, 1)
	if p.ExpertParallel {
		w.say("--ep-size", decimal(gpus))
	}
	switch hardware.AllToAll(p.AllToAll) {
	case hardware.AutoAllToAll:
	case hardware.LowLatency:
		w.say("--moe-a2a-backend", "deepep", "--deepep-mode", "low_latency")
	case hardware.Normal:
		w.say("--moe-a2a-backend", "deepep", "--deepep-mode", "normal")
	default:
		w.cannot("all_to_all %s: which kernels of SGLang these are is not written", p.AllToAll)
	}
	w.switched(p.EnableEPLB, "--enable-eplb")
	number(w, "--ep-num-redundant-experts", p.NumRedundantExperts, 0)
	if p.LoadBalanceMethod != "" && p.LoadBalanceMethod != "vllm" {
		w.say("--load-balance-method", p.LoadBalanceMethod)
	}
	w.text("--quantization", w.weights(true))
	w.text("--kv-cache-dtype", w.cache(map[string]string{"fp8": "fp8_e4m3", "bf16": "bf16", "nvfp4": "nvfp4"}))
	number(w, "--context-length", p.MaxModelLen, 0)
	// of all attention ranks together
	number(w, "--max-running-requests", p.SequencesMax(), 0)
	number(w, "--chunked-prefill-size", max(-1, p.MaxNumBatchedTokens*p.DataParallel), 0)
	number(w, "--mem-fraction-static", p.GPUMemoryUtilization, 0)
	number(w, "--max-prefill-tokens", p.MaxPrefillTokens, a.MaxPrefillTokens)
	number(w, "--page-size", p.BlockSize, a.BlockSize)
	number(w, "--max-total-tokens", p.NumGPUBlocks*int64(p.BlockSize), 0)
	if order := w.order("lpm", "dfs-weight", "priority"); order == "priority" { // is fcfs to SGLang
		w.say("--enable-priority-scheduling", "--schedule-low-priority-values-first")
		w.switched(p.DisablePriorityPreemption, "--disable-priority-preemption")
		number(w, "--priority-scheduling-preemption-threshold", p.PreemptionThreshold, a.PreemptionThreshold)
	} else {
		w.text("--schedule-policy", order)
	}
	if p.RetractionPolicy != a.RetractionPolicy {
		w.say("--retraction-policy", p.RetractionPolicy)
	}
	number(w, "--schedule-conservativeness", p.ScheduleConservativeness, a.ScheduleConservativeness)
	number(w, "--scheduler-recv-interval", p.SchedulerRecvInterval, a.SchedulerRecvInterval)
	w.switched(p.EnableMixedChunk, "--enable-mixed-chunk")
	decodes := p.Decodes() && !p.Prefills()
	w.switched(!p.EnablePrefixCaching && !decodes, "--disable-radix-cache")
	w.switched(p.EnablePrefixCaching && decodes, "--disaggregation-decode-enable-radix-cache")
	w.switched(!p.HybridKV, "--disable-hybrid-swa-memory")
	w.switched(!p.AsyncScheduling, "--disable-overlap-schedule")
	if p.EnforceEager {
		w.say("--cuda-graph-backend-decode", "disabled", "--cuda-graph-backend-prefill", "disabled")
	}
	w.captures("--cuda-graph-bs-decode")
	w.hiCache()
	number(w, "--stream-interval", w.interval(), 0)
	w.sglangSpeculation()
	switch {
	case p.Role == "encode":
		w.cannot("role encode: how encoders are started is not written")
	case p.Prefills() && !p.Decodes():
		w.say("--disaggregation-mode", "prefill")
	case decodes:
		w.say("--disaggregation-mode", "decode")
	}
}

// hiCache writes the cache in host memory, which SGLang counts in whole gigabytes.
func (w *writer) hiCache() {
	const gib, gb = 1 << 30, 1e9
	size := w.p.KVOffloadingSize
	if size == 0 {
		return
	}
	gigabytes := math.Round(size * gib / gb)
	if math.Abs(float64(gigabytes*gb)-float64(size*gib)) > 1e-3*gib {
		w.cannot("hicache_size %s GiB is rounded to whole gigabytes", decimal(size))
	}
	w.say("--enable-hierarchical-cache", "--hicache-size", decimal(max(1, gigabytes)))
}
