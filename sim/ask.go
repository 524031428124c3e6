package sim

// What schedulers and routers may ask of an instance.

// Running returns the number of requests in the batch.
func (in *Instance) Running() int { return in.running }

// Decoding returns the number of rows that decode, idle ones included.
func (in *Instance) Decoding() int { return in.set.n }

// SwappedOut returns how many requests have their cache in host memory.
func (in *Instance) SwappedOut() int { return len(in.swapped) }

// Load returns how many requests were routed to in that have neither ended nor moved on.
func (in *Instance) Load() int { return int(in.load) }

// PromptTokens returns the tokens of their prompts.
func (in *Instance) PromptTokens() int64 { return in.prompts }

// Hit returns how many of r's prompt tokens the GPUs' cache holds now, as far as steps under way have been composed.
func (in *Instance) CachedTokens(r *Request) int32 {
	if in.prefix == nil || !r.recallable() {
		return 0
	}
	found, _, _ := in.prefix.find(r)
	return found * in.kv.size
}

// Departed returns how many requests have left the batch so far, ended, dropped, handed over or preempted, and how many hand-overs
// have freed what they held: what had no room or seat before may have one when it has changed.
func (in *Instance) Departures() int64 { return in.left }

// Steps returns how many decode steps the instance has taken.
func (in *Instance) DecodeSteps() int64 { return in.set.step }

// Tail returns the running request that was admitted last, or nil.
func (in *Instance) LastAdmitted() *Request { return in.at(in.tail) }

// Before returns the running request that was admitted before r, or nil.
func (in *Instance) AdmittedBefore(r *Request) *Request { return in.at(r.prev) }

func (in *Instance) at(slot int32) *Request {
	if slot == noSlot {
		return nil
	}
	return &in.slab[slot]
}

// Decodes reports whether r, which runs, emits a token per step.
func (in *Instance) Decodes(r *Request) bool { return r.state == decoding || r.state == leavingDecode }

// Progress returns the tokens that r, which runs, has emitted.
func (in *Instance) Emitted(r *Request) int32 {
	if !in.Decodes(r) {
		return r.Emitted
	}
	_, emitted := in.progress(r)
	return emitted
}

// Later reports whether a comes after b in the pool's order, or, without one, was admitted later. Both run.
func (in *Instance) Later(a, b *Request) bool {
	if in.pool.Order != nil {
		return before(b, a)
	}
	return a.order > b.order
}

// Prefilling returns the number of requests in the batch whose prompt is not complete.
func (in *Instance) Prefilling() int { return len(in.prefill) }

// Prefill returns the i-th of them, in order of admission. The pointer is good until Head is called.
func (in *Instance) Prefill(i int) *Request { return &in.slab[in.prefill[i]] }

// Cache returns the instance's KV cache.
func (in *Instance) Cache() *Cache { return &in.kv }
