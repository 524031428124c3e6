package sim

// swapOut copies the cache of r to host memory. The copy precedes the step, which can have the blocks.
func (in *Instance) swapOut(r *Request, slot int32, blocks int64) {
	in.host -= blocks
	if in.prefix == nil {
		in.kv.release(blocks)
	} else { // what it shares stays with the others; all that comes back is its own
		in.prefix.release(r, slot, blocks, 0, false)
	}
	in.work.shape.SwapBlocks += blocks
	in.pool.swaps++
	r.state, r.late = swappedOut, Swapped
	in.swapped = append(in.swapped, slot)
}

// Swapped returns the request that has been in host memory for longest, or nil, and the blocks that it takes to bring it
// back, but for one that its next token may need. It is as it left.
func (in *Instance) Swapped() (r *Request, blocks int64) {
	if len(in.swapped) == 0 {
		return nil, 0
	}
	r = &in.slab[in.swapped[0]]
	if in.spec != nil {
		return r, max(int64(r.held), in.kv.Blocks(r.Computed+in.draftsOf(r)))
	}
	return r, in.holding(r)
}

// SwapIn brings the request that Swapped returns back into the batch; it decodes in this step. It takes KeepWaits.
func (w *Work) SwapIn() {
	in := w.in
	in.mustKeep(CountPauses)
	slot := in.swapped[0]
	r := &in.slab[slot]
	blocks := in.holding(r)
	in.swapped = append(in.swapped[:0], in.swapped[1:]...)
	in.host += blocks
	w.shape.SwapBlocks += blocks
	in.link(slot)
	in.join(slot)
	in.late = true
	if in.spec != nil {
		in.draftSum += int64(in.draftsOf(r))
	}
	w.demand += in.returning(r)
}

// returning returns the blocks that r takes to come back and decode.
func (in *Instance) returning(r *Request) int64 {
	if in.spec != nil {
		return int64(r.held) + in.lookFor(r)
	}
	return max(int64(r.reserved), in.kv.Blocks(r.Computed+1))
}

// Fits reports whether there is room for the request that Swapped returns, to the block. If nobody else runs or comes, there
// is.
func (w *Work) SwapInFits() bool {
	return w.in.returning(&w.in.slab[w.in.swapped[0]]) <= w.FreeBlocks()
}
