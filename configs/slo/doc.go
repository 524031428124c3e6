// Package slo reads the rules of an SLO as contracts write them:
//
//	ttft p95 <= 1s
//	itl p95 <= 50ms
//	90% of requests: ttft <= 500ms and tpot <= 40ms
//
//	parse.go  the grammar
//	lines.go  the rules of a file
//	alert.go  a rule that fires when it has been broken for a while
package slo
