// Package policies holds the decisions of a serving system: which instance a request goes to, and what an instance runs
// next.
//
//	router.go     where a request goes
//	vllm_v1.go    what a vLLM V1 engine runs next
//	names.go      the names of routers and schedulers in scenarios
package policies
