package catalog

import (
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/schedulers"
)

// EngineArguments are the keys of a pool that its engine knows, each under the name that is the same for every engine:
// vLLM's where vLLM has one. An engine has some of them, under names of its own where it has those; see EngineSpec. A
// value that the engine lacks is zero, or what EngineSpec.Fixed says.
type EngineArguments struct {
	Version strict.Release `yaml:"version,omitempty" doc:"release of the engine whose rules and defaults hold"`

	PerformanceMode           string  `yaml:"performance_mode" oneof:"performance-modes" doc:"what defaults favour: balanced throughput interactivity"`
	MaxNumSeqs                int     `yaml:"max_num_seqs,omitempty" bound:"[1,1048576]" unit:"sequences" doc:"sequences in a batch of a rank"`
	MaxNumBatchedTokens       int     `yaml:"max_num_batched_tokens,omitempty" doc:"tokens in a step of a rank; null: the length of a sequence"`
	MaxPrefillTokens          int     `yaml:"max_prefill_tokens" bound:"[1,1073741824]" doc:"prompt tokens in a batch; a single prompt may have more"`
	EnableChunkedPrefill      bool    `yaml:"enable_chunked_prefill" doc:"a prompt may be divided over steps; false: it runs whole, or waits"`
	EnableMixedChunk          bool    `yaml:"enable_mixed_chunk" doc:"decodes run in the steps of prompts; false: they wait"`
	LongPrefillTokenThreshold int     `yaml:"long_prefill_token_threshold" bound:"[0,1073741824]" unit:"tokens" doc:"tokens of one prompt in a step; 0: no limit"`
	BatchWaitTimeoutIters     int     `yaml:"batch_wait_timeout_iters" bound:"[0,1048576]" unit:"steps" doc:"steps of decodes alone in which a prompt that could join waits for others to join with; 0: none"`
	SchedulerRecvInterval     int     `yaml:"scheduler_recv_interval" bound:"[1,1000]" unit:"steps" doc:"steps of decodes alone after which the engine looks again for requests that have come; steps of prompts and an idle engine count as many"`
	PrefillBelow              int     `yaml:"prefill_below" bound:"[0,1048576]" unit:"sequences" doc:"prompts run only while fewer sequences decode; 0: always"`
	SchedulerReserveFullISL   bool    `yaml:"scheduler_reserve_full_isl" doc:"admit a prompt only if all of it fits"`
	Reserve                   string  `yaml:"reserve" oneof:"reserves" doc:"cache taken at admission: as-computed prompt max-tokens max-model-len"`
	CapacitySchedulerPolicy   string  `yaml:"capacity_scheduler_policy" oneof:"capacity-policies" doc:"GUARANTEED_NO_EVICT: admit what fits to its last token; MAX_UTILIZATION: what fits now"`
	RetractionPolicy          string  `yaml:"retraction_policy" oneof:"retraction-policies" doc:"which request is retracted first. length: the one with the shortest output, then the longest prompt; priority: the one with the lowest priority"`
	DisablePriorityPreemption bool    `yaml:"disable_priority_preemption" doc:"with queue_order priority: no request takes the place of a less urgent one; false: it does where max_num_seqs is reached"`
	PreemptionThreshold       int     `yaml:"priority_scheduling_preemption_threshold" bound:"[0,255]" doc:"by how much more than this their priorities differ then"`
	ScheduleConservativeness  float64 `yaml:"schedule_conservativeness" bound:"(0,1000]" doc:"factor on the output that a running request is expected to grow by"`
	QueueOrder                string  `yaml:"queue_order" names:"queue-orders" doc:"who is served first: fcfs priority shortest-job shortest-predicted-job earliest-deadline least-laxity aging"`
	AgingS                    float64 `yaml:"aging_s,omitempty" doc:"seconds of waiting worth a level of priority, for aging; null: another order"`
	PredictionCV              float64 `yaml:"prediction_cv,omitempty" doc:"error of predicted output lengths, for shortest-predicted-job; null: another order"`
	PreemptionMode            string  `yaml:"preemption_mode" oneof:"preemption-modes" doc:"recompute, or swap to host memory"`
	PreemptionVictim          string  `yaml:"preemption_victim" oneof:"preemption-victims" doc:"tail: the latest admitted; last-in-order: the last by queue_order"`
	SwapSpace                 float64 `yaml:"swap_space" bound:"[0,1048576]" unit:"GiB" doc:"GiB of host memory per GPU for swapped sequences"`
	HostLinkBps               float64 `yaml:"host_link_bps,omitempty" bound:"(0,1e15]" doc:"bytes/s of a GPU to host memory; null: 85 % of the catalog's pcie_bps, as timed on an H100"`
	GPUMemoryUtilization      float64 `yaml:"gpu_memory_utilization,omitempty" bound:"(0,1]" doc:"share of GPU memory the engine takes"`
	BlockSize                 int     `yaml:"block_size" bound:"[1,65536]" unit:"tokens" doc:"tokens per KV block"`
	Watermark                 float64 `yaml:"watermark" bound:"[0,1]" doc:"share of the KV blocks that admission leaves free"`
	MaxModelLen               int     `yaml:"max_model_len,omitempty" bound:"[1,1073741824]" doc:"tokens of prompt and output; null: the model's own limit"`
	EnablePrefixCaching       bool    `yaml:"enable_prefix_caching" doc:"reuse the KV cache of equal prompt beginnings"`
	HybridKV                  bool    `yaml:"hybrid_kv" doc:"layers with a sliding window longer than 512 tokens keep no more than it; false: they keep the whole context"`
	NumGPUBlocks              int64   `yaml:"num_gpu_blocks,omitempty" bound:"[1,2147483647]" unit:"blocks" doc:"KV blocks of a rank; null: what fits into memory"`
	KVOffloadingSize          float64 `yaml:"kv_offloading_size,omitempty" bound:"(0,1048576]" unit:"GiB" doc:"GiB of host memory of a replica, under sglang of each GPU, for cached prefixes; null: none"`
	KVLoad                    string  `yaml:"kv_load" oneof:"kv-loads" doc:"how prefixes come back from host memory. layerwise: during the step that needs them, a layer ahead of it; sync: before that step, which waits; async: beside steps, and then their request joins the batch"`
	Attention                 string  `yaml:"attention" oneof:"attentions" doc:"flash; flash-fp8: a cache in fp8 is multiplied as fp8; flash-per-head: a decode reads it anew for every query head of a group; or materialized: scores pass through memory"`
	EnforceEager              bool    `yaml:"enforce_eager" doc:"launch kernel by kernel, without CUDA graphs"`
	CUDAGraphCaptureSizes     []int   `yaml:"cudagraph_capture_sizes,omitempty" unit:"rows" doc:"rows that steps are padded to; null: the engine's own"`
	AsyncScheduling           bool    `yaml:"async_scheduling" doc:"a batch is fixed one step before it runs; step_s is hidden behind the GPU's time"`

	EnableLoRA        bool     `yaml:"enable_lora,omitempty" about:"LoRA adapters have slots in the memory of each GPU, for the requests of workload.adapters; null: false"`
	MaxLoRAs          int      `yaml:"max_loras,omitempty" bound:"[1,1024]" unit:"adapters" about:"adapters that the requests of a batch may have, and slots on each GPU; with enable_lora, null: 1"`
	MaxLoRARank       int      `yaml:"max_lora_rank,omitempty" bound:"[1,512]" unit:"rows" about:"rows of a slot: 1 8 16 32 64 128 256 320 512; with enable_lora, null: 16"`
	MaxCPULoRAs       int      `yaml:"max_cpu_loras,omitempty" bound:"[1,1048576]" unit:"adapters" about:"adapters in host memory, those with slots among them; with enable_lora, null: max_loras"`
	LoRADtype         string   `yaml:"lora_dtype,omitempty" oneof:"lora-dtypes" about:"of the matrices of adapters: auto bfloat16 float16, 16 bits each; with enable_lora, null: auto"`
	LoRATargetModules []string `yaml:"lora_target_modules,omitempty" about:"modules that have slots, such as [q_proj, v_proj]; with enable_lora, null: all, the LM head and the embedding among them"`
	LoRALoadBps       float64  `yaml:"lora_load_bps,omitempty" bound:"(0,1e15]" about:"bytes/s from storage to host memory, for adapters that it lacks; null: it has all from the beginning, for which max_cpu_loras must do"`
}

// LoRARanks returns the ranks that vLLM takes for max_lora_rank (0.33.0, vllm/config/lora.py:25).
func LoRARanks() []int { return []int{1, 8, 16, 32, 64, 128, 256, 320, 512} }

// MemoryShare is what gpu_memory_utilization means to the engine.
func (a *EngineArguments) MemoryShare(e *EngineSpec) hardware.MemoryShare {
	return hardware.MemoryShare{Of: e.MemoryShare, Share: a.GPUMemoryUtilization}
}

// The schedulers, as engines name them.
const (
	SchedulerContinuous   = "continuous"
	SchedulerPrefillFirst = "prefill-first"
	SchedulerSGLang       = "sglang"
	SchedulerStatic       = "static"
)

// The values of the arguments that are names.
const (
	ReserveAsComputed  = "as-computed"
	ReservePrompt      = "prompt"
	ReserveMaxTokens   = "max-tokens"
	ReserveMaxModelLen = "max-model-len"

	NoEvict        = "GUARANTEED_NO_EVICT"
	MaxUtilization = "MAX_UTILIZATION"

	LoadLayerwise = "layerwise"
	LoadSync      = "sync"
	LoadAsync     = "async"

	ModeBalanced      = "balanced"
	ModeThroughput    = "throughput"
	ModeInteractivity = "interactivity"

	OrderFCFS      = "fcfs"
	OrderAging     = "aging"
	OrderPriority  = "priority"
	OrderPredicted = "shortest-predicted-job"

	PreemptRecompute = "recompute"
	PreemptSwap      = "swap"

	RetractLength   = "length"
	RetractPriority = "priority"

	LoRAAuto = "auto"

	VictimTail        = "tail"
	VictimLastInOrder = "last-in-order"
)

// QueueOrders returns the orders of a queue that some engine can be given.
func QueueOrders() []string { return append(schedulers.OrderNames(), schedulers.CacheOrderNames()...) }
