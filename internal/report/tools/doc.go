// Package tools writes a simulated run as benchmark tools write a measured one, so that scripts made for those read it.
//
//	result.go        what a file is made of, and which files a tool leaves
//	vllm.go          vllm bench serve --save-result --save-detailed
//	aiperf.go        AIPerf's profile export, and its records
//	guidellm.go      GuideLLM's benchmarks.json
//	inferenceperf.go inference-perf's lifecycle metrics, of its one stage and of each request
//
// Counts and rates are those of the whole run. So are latencies where the recorder of the run has them by the tool's
// formula; lists of single requests, and what only those tell, are of the traced sample. Every file says so under the
// key "decodesim". Nothing in a file depends on the time at which it is written.
package tools
