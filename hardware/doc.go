// Package hardware prices work: what a step of a given batch costs on given GPUs.
//
//	gpu.go         an accelerator's data sheet
//	llm*.go        a model's shape: what there is to read, multiply and cache
//	deployment.go  one replica: a model on GPUs, split over them
//	figures.go     the figures of the data sheet that its price rests on
//	parallel.go    what the busiest GPU has of a batch
//	launch.go      graphs, padding and the host
//	efficiency.go  what serving software achieves of the peak
//	linear.go      weights: bytes read and arithmetic per token
//	attention.go   the cache: bytes read and arithmetic per context token
//	comm.go        passing activations between GPUs
//	swap.go handover.go
//	               moving a cache to host memory, or to another replica
//	step.go        the part of a step that does not grow, the sum of these
//	roofline.go    the price of a run of steps
//	speculation*.go   drafts: what proposes them, and what a step costs that verifies them
//	decoding.go    choosing tokens from logits
//	memory.go      the memory budget and the KV blocks it leaves
//	explain.go     one step taken apart
package hardware
