package sim

// Layers with a sliding window take blocks for a chunk of a prompt that are free again when it has been computed, see
// kv.Passing.

// passing returns the blocks that the chunk of r takes for a time, with those that it has of the one before.
func (in *Instance) passing(r *Request) int64 {
	if r.chunk == 0 {
		return int64(r.passing)
	}
	return in.cache.Passing(r.Computed-r.underWay, r.Computed+r.chunk)
}

// pass frees what the chunk of r, whose step ends, took for a time. Where chunks count as computed with their ends,
// what is before the window of this one stays until the next.
func (in *Instance) pass(r *Request) {
	had := in.passing(r)
	r.passing, r.underWay = 0, 0
	if in.cache.Lags() && r.state == prefilling && r.chunk < r.Pending() {
		r.passing, r.underWay = int32(in.cache.Passing(r.Computed, r.Computed+r.chunk)), r.chunk
	}
	if had > int64(r.passing) {
		in.cache.ReleasePassing(had - int64(r.passing))
	}
}

// dropPassing frees what chunks of r have taken for a time: r leaves the batch before its prompt is complete.
func (in *Instance) dropPassing(r *Request) {
	if r.passing > 0 {
		in.cache.ReleasePassing(int64(r.passing))
		r.passing = 0
	}
	r.underWay = 0
}
