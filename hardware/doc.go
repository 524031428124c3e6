// Package hardware prices work: what a step of a given batch costs on given GPUs.
//
//	gpu.go         an accelerator's data sheet
//	machine.go     what one is that no CUDA or ROCm drives
//	llm/           a model's shape: what there is to read, multiply and cache
//	efficiency.go  what serving software achieves of the peak
//	deployment.go  one replica: a model on GPUs, with what its engine achieves
//	links.go       what connects the GPUs of a replica, and replicas
//	parallel.go    what the busiest GPU has of a batch
//	launch.go      CUDA graphs, padding and the host
//	linear.go      weights: bytes read and arithmetic per token
//	experts.go     the routed experts: which are touched, which GPUs have them, and what their kernels pad
//	imbalance.go   how unevenly tokens spread over them
//	attention.go   the cache: bytes read and arithmetic per context token
//	collectives.go collectives_table.go alltoall.go
//	               passing activations between GPUs, what was measured of that, and sending tokens to experts
//	step.go        the part of a step that does not grow, the sum of these
//	roofline.go    the price of consecutive steps
//	ranks.go       that of steps of data-parallel ranks, which wait for the slowest
//	decoding.go    choosing tokens from logits
//	speculation.go speculation_drafter.go speculation_price.go
//	               drafts: what proposes them, and what a step costs that verifies them
//	adapters.go    LoRA adapters: their slots, and what a step takes that has some
//	kv.go          the bytes of the KV cache
//	memory.go      the memory budget and the KV blocks it leaves
//	swap.go        copying KV blocks to host memory
//	transfer.go    copying a KV cache to another replica
//	explain.go     one step taken apart
//	explain_comm.go of_peak.go
//	               its collectives, and what its parts make of the peaks
package hardware
