// Package batch is the arithmetic of a batch that decodes: how many sequences there are, what they attend to, which of
// them ends next and how long consecutive steps take, all without visiting a sequence.
//
//	shape.go       what a cost model may know of a batch: sums
//	segment.go     consecutive steps, priced and advanced together
//	decode_set.go  the running decodes, as sums and a counter of steps
//	growth.go      the blocks that layers with a limited window take, up to its length
//	passing.go     the blocks that layers with a sliding window free
//	window.go      what layers with a limited attention window see of them
//	wheel.go       which of them ends next
//
// A decode step touches no sequence. The set is a count, Σ context, the blocks due by residue and a finish order; a
// member's own counters follow from the step at which it joined. Advancing n steps at once is exact: with integer times
// and affine prices it ends at the very picosecond at which n single steps end.
package batch
