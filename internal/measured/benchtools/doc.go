// Package benchtools reads the result files of benchmark tools, which say how a server was loaded and what its clients
// saw, but not how it was deployed.
//
//	vllmbench.go      vllm bench serve, and SGLang's bench_serving; vllmrequests.go: its requests one by one
//	aiperf.go         AIPerf and GenAI-Perf
//	guidellm.go       GuideLLM
//	inferenceperf.go  inference-perf
//	statistics.go     what they share: statistics, token counts and notes
package benchtools
