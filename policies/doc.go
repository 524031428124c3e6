// Package policies holds the decisions of a serving system: which instance a request goes to, and what an instance runs
// next.
//
//	noise.go          how much longer steps last than priced
//	router.go         where a request goes
//	order.go          in which order a queue is served
//	continuous.go     what an instance runs next: vLLM V1, Sarathi, TensorRT-LLM, Orca
//	prefill_first.go  … vLLM V0, and decodes first
//	sglang.go         … SGLang
//	cache_order.go    its orders of the queue
//	static.go         … a static batch
//	acceptance*.go    how many drafted tokens the model accepts
//	names.go          the names of routers and schedulers in scenarios
package policies
