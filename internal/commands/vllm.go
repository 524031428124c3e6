package commands

import (
	"encoding/json"
	"fmt"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
)

// vllm writes the arguments of vllm/engine/arg_utils.py (0.33). What users tune is said whether or not it is the
// default, which differs between versions; the rest only where it is not.
func (w *writer) vllm(v0 bool) {
	p, a := w.p, &w.engine.Arguments
	if v0 {
		w.say("VLLM_USE_V1=0")
	}
	w.say("vllm", "serve", w.checkpoint)
	number(w, "--tensor-parallel-size", p.TensorParallel, 1)
	number(w, "--pipeline-parallel-size", p.PipelineParallel, 1)
	number(w, "--data-parallel-size", p.DataParallel, 1)
	w.switched(p.ExpertParallel, "--enable-expert-parallel")
	w.text("--all2all-backend", map[hardware.AllToAll]string{hardware.LowLatency: "deepep_low_latency",
		hardware.Normal: "deepep_high_throughput", hardware.OneSided: "flashinfer_nvlink_one_sided",
		hardware.AllGather: "allgather_reducescatter"}[hardware.AllToAll(p.AllToAll)])
	w.switched(p.EnableEPLB, "--enable-eplb")
	if p.NumRedundantExperts > 0 {
		w.say("--eplb-config", fmt.Sprintf(`{"num_redundant_experts": %d}`, p.NumRedundantExperts))
	}
	w.text("--quantization", w.weights(true))
	w.text("--kv-cache-dtype", w.cache(map[string]string{"fp8": "fp8", "bf16": "bfloat16", "nvfp4": "nvfp4",
		"int8": "int8_per_token_head", "int4": "int4_per_token_head"}))
	number(w, "--max-model-len", p.MaxModelLen, 0)
	number(w, "--max-num-seqs", p.MaxNumSeqs, 0)
	number(w, "--max-num-batched-tokens", p.MaxNumBatchedTokens, 0)
	number(w, "--gpu-memory-utilization", p.GPUMemoryUtilization, 0)
	w.negatable("--enable-prefix-caching", p.EnablePrefixCaching)
	if p.EnableChunkedPrefill != a.EnableChunkedPrefill {
		w.negatable("--enable-chunked-prefill", p.EnableChunkedPrefill)
	}
	number(w, "--block-size", p.BlockSize, a.BlockSize)
	number(w, "--num-gpu-blocks-override", p.NumGPUBlocks, 0)
	w.switched(p.EnforceEager, "--enforce-eager")
	w.captures("--cudagraph-capture-sizes")
	w.text("--scheduling-policy", w.order("priority"))
	if v0 {
		w.swap()
	} else {
		w.vllmV1(a)
	}
	number(w, "--stream-interval", w.interval(), 0)
	w.text("--speculative-config", w.vllmSpeculation())
	w.vllmRole()
}

// vllmV1 writes what V0 has not.
func (w *writer) vllmV1(a *catalog.EngineArguments) {
	p := w.p
	if p.PerformanceMode != a.PerformanceMode {
		w.say("--performance-mode", p.PerformanceMode)
	}
	number(w, "--long-prefill-token-threshold", p.LongPrefillTokenThreshold, a.LongPrefillTokenThreshold)
	if p.SchedulerReserveFullISL != a.SchedulerReserveFullISL {
		w.negatable("--scheduler-reserve-full-isl", p.SchedulerReserveFullISL)
	}
	number(w, "--watermark", p.Watermark, a.Watermark)
	w.switched(!p.HybridKV, "--disable-hybrid-kv-cache-manager")
	number(w, "--kv-offloading-size", p.KVOffloadingSize, 0)
	if p.KVOffloadingSize > 0 && p.KVLoad != a.KVLoad {
		w.cannot("kv_load %s: it is for the KV connector to say, such as LMCache's", p.KVLoad)
	}
	if p.AsyncScheduling != a.AsyncScheduling {
		w.negatable("--async-scheduling", p.AsyncScheduling)
	}
	w.lora()
}

// lora writes the slots of adapters. Which adapters they are for, a scenario does not name.
func (w *writer) lora() {
	p := w.p
	if !p.EnableLoRA {
		return
	}
	w.say("--enable-lora")
	number(w, "--max-loras", p.MaxLoRAs, 0)
	number(w, "--max-lora-rank", p.MaxLoRARank, 0)
	number(w, "--max-cpu-loras", p.MaxCPULoRAs, 0)
	w.text("--lora-dtype", p.LoRADtype)
	if len(p.LoRATargetModules) > 0 {
		w.say(append([]string{"--lora-target-modules"}, p.LoRATargetModules...)...)
	}
	w.cannot("workload.adapters: --lora-modules names each adapter and its files, which a scenario does not")
}

// swap writes V0's preemption by swapping.
func (w *writer) swap() {
	p, a := w.p, &w.engine.Arguments
	if p.PreemptionMode != a.PreemptionMode {
		w.say("--preemption-mode", p.PreemptionMode)
	}
	number(w, "--swap-space", p.SwapSpace, a.SwapSpace)
	if p.Watermark != a.Watermark {
		w.cannot("watermark %s: vLLM V0 has no argument for it", decimal(p.Watermark))
	}
}

// negatable adds a switch that --no- turns off.
func (w *writer) negatable(flag string, on bool) {
	if !on {
		flag = "--no-" + flag[len("--"):]
	}
	w.say(flag)
}

// captures writes the rows that CUDA graphs are captured for, where they are not the engine's own.
func (w *writer) captures(flag string) {
	if len(w.p.CUDAGraphCaptureSizes) == 0 {
		return
	}
	w.say(flag)
	for _, n := range w.p.CUDAGraphCaptureSizes {
		w.say(decimal(n))
	}
}

// vllmRole says what a pool of a disaggregated deployment does. Which connector moves the cache is left to the user.
func (w *writer) vllmRole() {
	role := ""
	switch {
	case w.p.Role == "encode":
		w.cannot("role encode: how encoders are started is not written")
	case w.p.Prefills() && !w.p.Decodes():
		role = "kv_producer"
	case w.p.Decodes() && !w.p.Prefills():
		role = "kv_consumer"
	}
	if role == "" {
		return
	}
	config, _ := json.Marshal(struct {
		Connector string `json:"kv_connector"`
		Role      string `json:"kv_role"`
	}{"NixlConnector", role})
	w.say("--kv-transfer-config", string(config))
}
