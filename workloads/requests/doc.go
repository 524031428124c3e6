// Package requests draws what requests are beside their arrival.
//
//	sampler.go   Mix: lengths, classes and shared content of a workload; Sampler: the draws
//	classes.go   Class: a share of the requests with a priority and lengths of its own
//	sharing.go   Sharing: prompts that begin alike, and prompts that repeat
//	patience.go  Patience: time-outs and cancellations
//	reasoning.go Reasoning: tokens at the beginning of an output that its user does not see
package requests
