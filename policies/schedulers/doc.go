// Package schedulers decides what an instance runs in its next step, and in which order it serves its queue.
//
//	schedulers.go     the schedulers by name; what a request reserves at admission, and which one is preempted
//	continuous.go     vLLM V1, Sarathi, TensorRT-LLM and Orca: one budget of tokens for prompts and decodes
//	admission.go      what it lets a waiting request take of a step
//	loads.go          what KV connectors load, in this step or the next
//	prefill_first.go  vLLM V0: prompts before decodes, or decodes before prompts
//	sglang.go         SGLang: prompts before decodes, admitted by the tokens that are expected
//	sglang_ratio.go   SGLang's expectation of tokens, and the retractions when it was too low
//	sglang_ahead.go   whether there is room, of a step that is composed before the one under way has ended
//	sglang_preempt.go urgent requests take the places of others
//	sglang_order.go   SGLang's orders of the queue by what the prefix cache has
//	static.go         a batch that runs until all of it has finished
//	orders.go         orders of the queue for every engine
package schedulers
