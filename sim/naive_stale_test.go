package sim_test

import "slices"

// naiveStages is what a request in a pipeline has.
type naiveStages struct {
	entry    int           // by which it came to the queue; 0: the engine has not noticed it there
	batch    *naiveBatch   // the one under way that it is in
	chunks   []naiveChunk  // those of its prompt since its latest admission
	stale    *naiveBatch   // it waits, and has tokens in that one, which is under way
	yields   []*naiveBatch // those under way that it has left and that yield tokens of it
	yielding bool          // the one that it is in does, although it has tokens to compute that are not in it
	recalled bool          // it waits, and had some until a batch ended of which the engine does not know yet
}

// staysStale reports whether r, whose client leaves, has been preempted and has tokens in a batch under way: that has
// it until it ends.
func (n *naive) staysStale(r *naiveRequest) bool {
	if r.stale == nil || r.want == 0 {
		return false
	}
	n.cover["hang-ups after a preemption"]++
	return true
}

// delivers reports whether r goes to another instance: what comes of a prompt that is preempted there is dropped.
func (n *naive) delivers(r *naiveRequest) bool { return n.hands(r) }

// recomputeAway preempts r, which is in a batch under way: its blocks are free at once, and it waits. Until the batch
// has ended it is passed over, because its client still gets what that yields.
func (n *naive) recomputeAway(in *naiveInstance, r *naiveRequest) {
	computed := r.Computed + r.want
	if r.decoding {
		computed = r.Computed // the token that is computed was not known when it got its block
		if !n.queues() {
			computed++
		}
	}
	n.release(in, r, min(computed, r.Prompt+r.Emitted-n.drafter().Ahead))
	in.away = slices.Delete(in.away, slices.Index(in.away, r), slices.Index(in.away, r)+1)
	in.departed = true
	if n.yields() && !n.delivers(r) {
		if r.decoding {
			n.decodes--
		}
		if r.decoding || r.yielding || r.want > 0 && r.Pending() == r.want {
			r.yields = append(r.yields, r.batch)
		}
	}
	r.Preemptions++
	n.cover["any preemptions"]++
	n.cover["preempted in another batch"]++
	r.blocks, r.noticed = 0, true
	r.stale, r.batch = r.batch, nil
	if n.yields() && !n.delivers(r) {
		r.stale, r.yielding = nil, false
		n.startsAgain(r)
	}
	if n.delivers(r) {
		r.stale = nil
		n.startsAgain(r)
		n.cover["preempted before they went elsewhere"]++
	}
	n.comesBack(in, r, false)
}

// commitStale lets clients have what the batch that ends has of requests which were preempted meanwhile.
func (n *naive) commitStale(in *naiveInstance) {
	for _, r := range slices.Clone(in.waiting) {
		if len(in.queue) == 0 || r.stale == nil || r.stale != in.queue[0] {
			continue
		}
		tokens := int32(0)
		switch {
		case r.decoding:
			tokens = n.verify(r)
		case r.want > 0 && r.Pending() <= r.want:
			tokens = 1
		}
		r.stale, r.noticed = nil, false
		r.recalled = true
		if r.outcome == "" && tokens > 0 {
			n.emit(r, int(tokens))
			n.cover["tokens after a preemption"]++
		}
		if r.outcome != "" {
			n.cover["ended after a preemption"]++
			in.waiting = slices.DeleteFunc(in.waiting, func(o *naiveRequest) bool { return o == r })
			in.load--
			continue
		}
		n.startsAgain(r)
	}
	n.commitYields(in)
}

// leaves has a batch that r leaves yield its token all the same, if it yields one.
func (r *naiveRequest) leaves(b *naiveBatch) {
	if r.yielding {
		r.yields, r.yielding = append(r.yields, b), false
	}
}

// waitsInVain reports whether a request waits that has ended.
func (in *naiveInstance) waitsInVain() bool {
	return slices.ContainsFunc(in.waiting, func(r *naiveRequest) bool { return r.removed })
}

// yields reports whether a batch yields the token of a request that has been preempted to where it is then.
func (n *naive) yields() bool {
	return len(n.stages) > 1 && !n.queues() && !n.fillsQueue() && n.speculation == nil && n.passing.Blocks == 0
}

// emitInTwo lets the client of r have a token that was computed like a prompt, because r is in several batches.
func (n *naive) emitInTwo(r *naiveRequest) {
	if r.Emitted > 0 && r.cause == "" {
		r.cause = "preempted"
	}
	n.emit(r, 1)
}

// commitYields lets clients have what the batch that ends has of requests which have left it.
func (n *naive) commitYields(in *naiveInstance) {
	for _, r := range n.all {
		i := slices.Index(r.yields, in.queue[0])
		if i < 0 {
			continue
		}
		r.yields = slices.Delete(r.yields, i, i+1)
		if r.outcome != "" {
			continue
		}
		r.yielding = r.yielding || r.batch != nil && r.want > 0 && r.Pending() == r.want
		n.emitInTwo(r)
		n.cover["tokens of batches that were left"]++
		if r.batch != nil {
			n.cover["tokens of two batches"]++
		}
		if r.outcome != "" {
			n.cover["ended by a batch that was left"]++
			r.removed = true
			in.load--
			is := func(o *naiveRequest) bool { return o == r }
			if slices.Contains(in.running, r) {
				n.release(in, r, r.Computed+r.want)
				in.running = slices.DeleteFunc(in.running, is)
			} else {
				in.waiting = slices.DeleteFunc(in.waiting, is)
			}
		}
	}
}

// startsAgain has r, which has no blocks and no tokens under way, be computed again.
func (n *naive) startsAgain(r *naiveRequest) {
	r.Computed, r.prefill, r.want = 0, 0, 0
	r.filler, r.hoped, r.latest = 0, 0, 0
	r.decoding, r.leftOut = false, false
	if r.cause != "restarted" {
		r.cause = "preempted"
	}
}
