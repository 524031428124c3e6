// Package kv is the paged key–value cache of one instance: how many blocks sequences have allocated, and what its
// blocks still hold of earlier contents.
//
//	cache.go     blocks: allocated, free, and how many a sequence needs
//	passing.go   blocks that chunks of prompts need beside them, for as long as they are computed
//	contents.go  what prompts have in common: a tree of extents of tokens
//	prefix.go    prefix caching: which blocks a prompt can reuse
//	shared.go    which blocks of windows it can, and what those lack
//	retained.go  what a sequence frees, and may find again
//	passed.go    what its windows have passed, and it may find again
//	extents.go   cached blocks as extents, in order of eviction
//	store.go     what host memory holds beyond that, and the stores below it
//	radix.go radix_nodes.go
//	             what SGLang keeps instead: a radix tree of whole sequences, and its nodes
//	check.go     what tests ask of a cache that no sequence uses
//
// A block is never an object here. Prefix caching works on extents, runs of consecutive blocks that share their fate,
// so that its cost grows with the number of prompts that share something, not with their length.
package kv
