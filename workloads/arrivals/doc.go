// Package arrivals draws when requests or sessions arrive.
//
// A process is a law of gaps with mean 1 and a pace: the k-th arrival is the instant by which the rate has accumulated
// to the sum of the first k gaps. This time change draws once per arrival, and processes that differ in their pace only
// send the same requests.
//
//	arrivals.go  Spec: a process and its parameters; the table of processes
//	process.go   Process: the arrivals of one run
//	gaps.go      exponential, gamma, Weibull and equal gaps
//	curve.go     rates that follow a list of points or a wave
//	bursts.go    a rate that switches on and off
//
// A new process needs a row in the table and a file with its gaps or its pace. A parameter that no process has had so
// far is a field of Spec.
package arrivals
