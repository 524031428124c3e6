// Package llm describes the shape of a model: what a step reads, multiplies and caches. It has no time and no GPU in
// it.
//
//	model.go      Model: layers, vocabulary, context
//	mixer.go      Mixer: attention, latent attention, compression and indexers
//	projections.go recurrence.go
//	              their parameters, and recurrences
//	adaptable.go  Projection: what LoRA adapters may change
//	residual.go   Residual: what carries activations where that is more than one vector
//	attention.go  AttentionGroup: the layers that attend alike, what they read and what a token adds to their cache
//	cache.go      the cache and the state of a sequence
//	ffn.go        FFN: dense networks and mixtures of experts, and their parameters
//	params.go     Counts: parameters by class of weight
//	precision.go  Format: how weights are stored and pruned
//	validate.go   bounds of a shape
package llm
