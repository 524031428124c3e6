// Package llm describes the shape of a model: what a step reads, multiplies and caches. It has no time and no GPU in
// it.
//
//	model.go      Model: layers, vocabulary, context
//	mixer.go      Mixer: attention, latent attention, indexers and recurrences, and their parameters
//	attention.go  AttentionGroup: the layers that attend alike, and what they cache
//	ffn.go        FFN: dense networks and mixtures of experts, and their parameters
//	params.go     Counts: parameters by class of weight
//	precision.go  Format: how weights are stored and pruned
//	validate.go   bounds of a shape
package llm
