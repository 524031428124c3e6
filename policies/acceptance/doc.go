// Package acceptance decides how many drafted tokens the model accepts in speculative decoding.
//
//	law.go      how likely drafts are accepted, on average and from request to request
//	process.go  the draws of a run by such a law
package acceptance
