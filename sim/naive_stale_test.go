package sim_test

import "slices"

// naiveStages is what a request in a pipeline has.
type naiveStages struct {
	batch    *naiveBatch  // the one under way that it is in
	chunks   []naiveChunk // those of its prompt since its latest admission
	stale    *naiveBatch  // it waits, and has tokens in that one, which is under way
	recalled bool         // it waits, and had some until a batch ended of which the engine does not know yet
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
	r.Preemptions++
	n.cover["any preemptions"]++
	n.cover["preempted in another batch"]++
	r.blocks, r.noticed = 0, true
	r.stale, r.batch = r.batch, nil
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
