// Package lengths draws token counts.
//
//	spec.go       Spec: a law and its parameters, checked
//	empirical.go  laws from listed values, histograms and quantiles
//	law.go        Law: the draws
//	pairs.go      Pairs: recorded prompt and output lengths, taken in order
package lengths
