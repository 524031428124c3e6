// Package variates draws random numbers from distributions that math/rand/v2 does not have, with the same bits on every
// processor.
//
//	exponential.go  ExpTable: e^x, for lognormal numbers
//	gamma.go        Gamma
//	zipf.go         Zipf
//	empirical.go    AliasTable: listed values by weight; InverseCurve: between quantiles
package variates
