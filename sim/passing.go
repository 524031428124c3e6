package sim

import (
	"fmt"
	"math"
)

// Layers with a sliding window that have groups of their own in the cache free what the window has passed, see
// kv.Passing. A request frees when its next tokens get their blocks, right before that. Its blocks are counted as if
// nothing were freed, and beside them how many of tokens its windows have passed.
//
// Of a sequence that gets a token in every step both follow from its length, and a decode set counts them. But when a
// prompt has just been complete, or a sequence has missed a step, it has other blocks for a step or two. Such members
// of the decode set are in batch.astray, and a step is composed for each that is.

// passes returns how many blocks of tokens the windows of r have passed when it gets its next tokens.
func (in *Instance) passes(r *Request) int32 {
	return max(r.passed, in.cache.Passed(r.Computed-r.underWay))
}

// freesNext returns the blocks that r frees when it gets its next tokens. It has left the decode set, or is in none.
func (in *Instance) freesNext(r *Request) int64 { return in.frees(r, r.passed, in.passes(r)) }

// frees returns the blocks that r frees when its windows pass blocks [from, to) of its tokens, but for those that
// others may reuse: passShared frees these.
func (in *Instance) frees(r *Request, from, to int32) int64 {
	if to > from && in.cache.SharesWindows() {
		from = max(from, min(to, in.cache.Shared(r.slot)))
	}
	return in.cache.PassedOf(to - from)
}

// passShared takes r off those of the blocks that its windows pass up to block to of its tokens that others may reuse.
func (in *Instance) passShared(r *Request, to int32) {
	if in.cache.Reads(r.slot, to) {
		in.cache.PassShared(r.slot, to)
	}
}

// passInTurn has r, whose turn it is, free what its windows pass, where that can be cached: before it gets blocks, and
// even if it then gets none, as in vLLM.
func (in *Instance) passInTurn(r *Request) {
	to := in.passes(r)
	if r.state != prefilling {
		if !in.batch.set.Counted() && !r.astray {
			if in.freesOf(r) == 0 {
				return
			}
			computed, _ := in.batch.progress(r)
			in.notePassed(r, computed)
			r.passed, r.underWay, r.astray = in.passedAt(computed), in.cache.Lag(), true
			in.batch.astray = append(in.batch.astray, r.slot)
		}
		to = in.passesDecoding(r)
	}
	in.cache.PassInTurn(r.slot, r.passed, to)
	r.passed = to
}

// passesSeparately reports whether windows pass blocks of others than sequences that do nothing but decode when the
// step, as composed so far, gets its blocks: where blocks that windows pass are shared, others may have those, too, or
// it may find them again.
func (w *Work) passesSeparately() bool {
	in := w.in
	for _, slot := range in.batch.prefill {
		if r := &in.requests.at[slot]; r.chunk > 0 && in.passes(r) > r.passed {
			return true
		}
	}
	for _, slot := range in.batch.astray {
		if r := &in.requests.at[slot]; !w.paused && in.passesDecoding(r) > r.passed {
			return true
		}
	}
	if !in.batch.set.Counted() || w.paused {
		return false
	}
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.decodesOrEnded(r) && in.passesDecoding(r) > r.passed {
			return true
		}
	}
	return false
}

// passesDecoding is passes of r, which decodes and is astray or drafts.
func (in *Instance) passesDecoding(r *Request) int32 {
	computed, _ := in.batch.progress(r)
	return max(r.passed, in.cache.Passed(computed-r.underWay))
}

// pass frees, for r, what its windows have passed: its chunk has its blocks.
func (in *Instance) pass(r *Request) {
	if in.pool.passesAhead() {
		if r.chunk == r.Pending() { // chunks before its last are in batches before
			r.underWay = r.chunk * in.cache.Lag()
		}
		return
	}
	if r.chunk > 0 {
		in.passTo(r, in.passes(r))
	}
	r.underWay = r.chunk * in.cache.Lag()
}

// passTo notes that the windows of r have passed so many blocks of its tokens.
func (in *Instance) passTo(r *Request, blocks int32) {
	in.passShared(r, blocks)
	r.passed = blocks
}

// passedAt returns how many blocks of tokens the windows of a sequence have passed that has computed so many, the
// latest one by one.
func (in *Instance) passedAt(computed int32) int32 {
	return in.cache.Passed(max(0, computed-1-in.cache.Lag()))
}

// steadyAt reports whether r, which decodes and has computed so many tokens, has the blocks that it would have if it
// had got all tokens one by one, and frees the same next.
func (in *Instance) steadyAt(r *Request, computed int32) bool {
	return r.passed == in.passedAt(computed) &&
		max(r.passed, in.cache.Passed(computed-r.underWay)) == in.passedAt(computed+1)
}

// joinPassing notes of r, which joins the decode set, whether it has other blocks than by its length, or some that
// others may reuse: what it frees then does not follow from its length.
func (in *Instance) joinPassing(r *Request) {
	r.steadyStep = in.batch.set.Step()
	if !in.batch.set.Counted() && (!in.steadyAt(r, r.Computed) || in.cache.Reads(r.slot, math.MaxInt32)) {
		r.astray = true
		in.batch.astray = append(in.batch.astray, r.slot)
	}
}

// leavePassing has r, which leaves the decode set and whose record is as of now, know what it has.
func (in *Instance) leavePassing(r *Request) {
	switch {
	case in.batch.set.Counted():
	case r.astray:
		r.astray = false
		in.batch.astray = without(in.batch.astray, r.slot)
	default:
		in.notePassed(r, r.Computed)
		if r.OutputContent != 0 && !r.stale && in.cache.SharesWindows() {
			in.regainPassed(r, r.Computed, false) // for the next turn
		}
		r.passed, r.underWay = in.passedAt(r.Computed), in.cache.Lag()
	}
}

// passInVain remembers what the windows of r passed when the token got its blocks that r computes in vain, and lets the
// next turn find that. r has ended, and has left the decode set, where it was not astray.
func (in *Instance) passInVain(r *Request) {
	if in.work.paused || !in.paged(r) || in.passes(r) == r.passed {
		return
	}
	in.noteStep(r, in.batch.set.Step())
	if r.OutputContent != 0 {
		in.regainPassed(r, r.Computed, true)
	}
}

// freesOf returns the blocks that r, which decodes, frees when it gets its next token.
func (in *Instance) freesOf(r *Request) int64 {
	computed, _ := in.batch.progress(r)
	if in.batch.set.Counted() || r.astray {
		return in.frees(r, r.passed, in.passesDecoding(r))
	}
	return in.cache.PassedOf(in.passedAt(computed+1) - in.passedAt(computed))
}

// decodesFree returns the blocks that those which decode free in the step to come.
func (in *Instance) decodesFree() (n int64) {
	if in.batch.set.Counted() {
		for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
			if in.decodesOrEnded(r) {
				n += in.freesOf(r)
			}
		}
		return n
	}
	n = in.batch.set.BlocksFreed(0)
	for _, slot := range in.batch.astray {
		r := &in.requests.at[slot]
		computed, _ := in.batch.progress(r)
		n += in.freesOf(r) - in.cache.PassedOf(in.passedAt(computed+1)-in.passedAt(computed))
	}
	return n
}

// passAstray moves those on that have other blocks than by their length, with the step that ends.
func (in *Instance) passAstray() {
	astray := in.batch.astray[:0]
	for _, slot := range in.batch.astray {
		r := &in.requests.at[slot]
		computed, _ := in.batch.progress(r)
		in.passTo(r, in.passesDecoding(r))
		r.underWay = in.cache.Lag()
		r.astray = !in.steadyAt(r, computed+1) || in.cache.Reads(slot, math.MaxInt32)
		if r.astray {
			astray = append(astray, slot)
		} else {
			r.steadyStep = in.batch.set.Step() + 1
		}
	}
	in.batch.astray = astray
}

// had returns the blocks of r, of which so many are counted, without those that its windows have passed.
func (in *Instance) had(r *Request, blocks int64) int64 { return blocks - in.cache.PassedOf(r.passed) }

// allocate allocates the blocks that the step needs so far. What windows have passed is freed before that.
func (w *Work) allocate() {
	if in := w.in; w.frees > 0 {
		if in.cache.SharesWindows() && !w.inTurn { // prompts free theirs in turn
			in.passTogether(w.frees, in.batch.set.Step())
		} else {
			in.cache.Pass(w.frees)
		}
		w.frees = 0
	}
	if w.demand > 0 {
		w.in.cache.Allocate(w.demand)
		w.demand = 0
	}
}

// takeSteps allocates what steps [from, to) of the segment under way take.
func (in *Instance) takeSteps(from, to int64) {
	if set := &in.batch.set; !set.Passes() {
		in.cache.Allocate(set.BlocksFor(from, to))
		return
	}
	in.passSteps(from, to)
}

// passSteps frees what windows pass in steps [from, to) of the segment under way, and allocates what those take, step
// by step where the order counts: with prefix caching for what is evicted, and in the last steps for the most blocks
// that were ever allocated. In as many steps as a block has tokens no less is taken than freed.
func (in *Instance) passSteps(from, to int64) {
	set := &in.batch.set
	net := int64(0)
	if !in.cache.Caches() {
		for ; from < to-int64(in.cache.BlockSize()); from++ {
			net += set.BlocksNeeded(from) - set.BlocksFreed(from)
		}
	}
	if net < 0 {
		in.cache.Pass(-net)
	} else {
		in.cache.Allocate(net)
	}
	for ; from < to; from++ {
		if freed := set.BlocksFreed(from); freed > 0 {
			if in.cache.SharesWindows() && to-from <= int64(in.cache.BlockSize()) {
				in.passTogether(freed, set.Step()+from)
			} else { // each member passes a block once more before it can be preempted
				in.cache.Pass(freed)
			}
		}
		in.cache.Allocate(set.BlocksNeeded(from))
	}
}

// takenIn returns the blocks that steps [from, to) of the segment under way take, less those that they free.
func (in *Instance) takenIn(from, to int64) int64 {
	set := &in.batch.set
	n := set.BlocksFor(from, to)
	for i := from; set.Passes() && i < to; i++ {
		n -= set.BlocksFreed(i)
	}
	return n
}

// StepsToFree returns in how many steps there may be n free blocks, where the step, as composed so far, leaves fewer,
// although no member of the batch ends: windows pass some. 0: there will not be.
func (w *Work) StepsToFree(n int64) int { return w.in.batch.set.StepsToFree(n - w.FreeBlocks()) }

// Fits reports whether there are blocks for what the step computes, as composed so far, in whatever order requests
// take them, and what windows pass is free in whatever order.
func (w *Work) Fits() bool {
	cache := &w.in.cache
	return w.demand <= cache.Free() && (!cache.SharesWindows() || !w.passesSeparately())
}

// commits reports whether the scheduler asks for the blocks that those which run may come to take.
func (p *PoolSpec) commits() bool {
	k, ok := p.Scheduler.(Counter)
	return ok && k.Counts()&CountCommitted != 0
}

// validateWindows refuses blocks of windows that are not possible, and those that are freed where a cache does not know
// of them.
func (p *PoolSpec) validateWindows() error {
	switch w, v := &p.Windowed, &p.Passing; {
	case w.Blocks < 0 || w.BlocksMax < 0 || int64(w.Blocks)*int64(w.BlocksMax) > math.MaxInt32/2:
		return fmt.Errorf("sim: pool %q: windows take %d blocks with each of %d; want neither below 0, and at most 2^30 "+
			"in all", p.Name, w.Blocks, w.BlocksMax)
	case v.Blocks < 0 || int64(v.Blocks)*int64(p.MaxModelLen) > math.MaxInt32/2 ||
		v.Blocks > 0 && (v.Window < 1 || v.TokensMax < 1 || int64(v.Window)+int64(v.TokensMax) > math.MaxInt32/2 ||
			*w != Windowed{}):
		return fmt.Errorf("sim: pool %q: windows pass %+v; want no blocks below 0, a window and its tokens, at most 2^30 "+
			"together, and no Windowed", p.Name, *v)
	case v.Blocks > 0 && (p.RadixCache || p.SwapBlocks > 0 || p.commits()):
		return fmt.Errorf("sim: pool %q: windows pass no blocks of a RadixCache, or with SwapBlocks, or where a Scheduler "+
			"counts what requests may come to take", p.Name)
	}
	return nil
}

// A request that is preempted while it decodes finds the latest block again that its windows passed, unless that has
// been evicted, and so does a later prompt that begins with its output, see kv.Cache.Regain. Members of the decode set
// free what windows pass as numbers. The step in which one did so last follows from its length; those that did so after
// it, in the same step, are members that were admitted later, or were members then.

// passingSteps is what an instance remembers of the latest steps in which windows passed blocks of members of the
// decode set.
type passingSteps struct {
	numbers []int32      // of the steps of the set, modulo their number, see kv.Cache.PassTogether
	left    []passedLast // of members that have left the set, or are astray, since
}

// passedLast is the step of the decode set in which the windows of a request passed a block last.
type passedLast struct{ step, admission int64 }

// passTogether frees what windows of the decode set pass in a step of it.
func (in *Instance) passTogether(blocks, step int64) {
	p := &in.batch.passing
	if p.numbers == nil {
		p.numbers = make([]int32, in.cache.BlockSize()+1)
	}
	p.numbers[step%int64(len(p.numbers))] = in.cache.PassTogether(blocks)
}

// lastPassed returns the latest block of tokens that the windows of r passed, which decodes and is not astray, and the
// step of the decode set; or reports that it was no steady member then. If the step under way has its blocks, what that
// passes counts.
func (in *Instance) lastPassed(r *Request, computed int32, underWay bool) (block int32, step int64, ok bool) {
	has := computed
	if underWay {
		has++
	}
	block = in.passedAt(has) - 1
	if block < 0 {
		return 0, 0, false
	}
	step = in.batch.set.Step() - int64(computed-in.cache.Lag()-in.cache.PassesAt(block))
	return block, step, step >= r.steadyStep
}

// notePassed remembers when the windows of r, which leaves the decode set or goes astray, passed a block last.
func (in *Instance) notePassed(r *Request, computed int32) {
	if !in.cache.SharesWindows() {
		return
	}
	if _, step, ok := in.lastPassed(r, computed, false); ok {
		in.noteStep(r, step)
	}
}

// noteStep remembers that the windows of r passed a block in a step of the decode set.
func (in *Instance) noteStep(r *Request, step int64) {
	p, oldest := &in.batch.passing, in.batch.set.Step()-int64(in.cache.BlockSize())
	n := 0
	for n < len(p.left) && p.left[n].step < oldest {
		n++
	}
	p.left = append(p.left[:0], p.left[n:]...)
	p.left = append(p.left, passedLast{step, r.admission})
}

// regainPassed lets r, which decodes, is not astray and gives up its blocks, or the next turn, find the latest block
// again that its windows passed.
func (in *Instance) regainPassed(r *Request, computed int32, underWay bool) {
	block, step, ok := in.lastPassed(r, computed, underWay)
	if !ok {
		return
	}
	behind, p := int32(0), &in.batch.passing
	for _, x := range p.left {
		if x.step == step && x.admission > r.admission {
			behind++
		}
	}
	for x := in.LastAdmitted(); x != nil && x.admission > r.admission; x = in.AdmittedBefore(x) {
		if in.decodesOrEnded(x) && !x.astray {
			computed, _ := in.batch.progress(x)
			if _, last, ok := in.lastPassed(x, computed, underWay); ok && last == step {
				behind++
			}
		}
	}
	in.cache.Regain(r.slot, block, p.numbers[step%int64(len(p.numbers))], behind)
}
