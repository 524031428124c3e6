// Package schedulers decides what an instance runs in its next step, and in which order it serves its queue.
//
//	names.go          the names of schedulers in scenarios
//	continuous.go     vLLM V1, Sarathi, TensorRT-LLM and Orca: one budget of tokens for prompts and decodes
//	prefill_first.go  vLLM V0: prompts before decodes, or decodes first
//	sglang.go         SGLang: prompts before decodes, admitted by the tokens that are expected; sglang_ratio.go that
//	                  expectation; sglang_order.go orders of the queue by what the prefix cache holds
//	static.go         a batch that runs until all of it has ended
//	order.go          orders of the queue
package schedulers
