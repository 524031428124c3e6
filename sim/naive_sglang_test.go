package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// sglangState is what an instance remembers from step to step.
type sglangState struct {
	ratio   int64         // share of the tokens that running requests may still emit for which room is kept, in 1e-9
	full    bool          // no prompts are tried until a request leaves
	chunked *naiveRequest // of whose prompt the rest is to come
}

// forget tells that r has left the batch.
func (s *sglangState) forget(r *naiveRequest) {
	s.full = false
	if s.chunked == r {
		s.chunked = nil
	}
}

// planSGLang runs prompts if any may run, and decodes otherwise.
func (n *naive) planSGLang(in *naiveInstance, p *schedulers.SGLang) {
	if !n.prefillSGLang(in, p) && len(in.running) > 0 {
		n.decodeSGLang(in, p)
	}
	if len(in.running) == 0 {
		in.sglang.ratio = p.InitNewTokenRatio
	}
}

// prefillBudget is what a batch of prompts may still take.
type prefillBudget struct {
	available  int64 // tokens that the cache has room for, from the start
	offset     int64 // of them, taken or expected to be
	curOffset  int64 // of them, taken
	remInput   int64
	remChunk   int64 // counts only if prompts are cut
	cuts       bool
	prompts    int // in the batch
	clip, page int64
}

func (b *prefillBudget) charge(tokens, expected int64) {
	b.offset += tokens + expected
	b.curOffset += tokens
	b.remInput -= tokens
	b.remChunk -= tokens
	b.prompts++
}

// expects returns the tokens that r is taken to emit yet.
func (b *prefillBudget) expects(r *naiveRequest) int64 {
	return min(int64(r.Limit()-r.Emitted), b.clip)
}

// prefillSGLang composes a step with prompts, if there is one.
func (n *naive) prefillSGLang(in *naiveInstance, p *schedulers.SGLang) bool {
	s := &in.sglang
	if s.chunked == nil && (n.head(in) == nil || s.full || len(in.running) >= p.MaxRunningRequests) {
		return false
	}
	b := prefillBudget{
		available: in.free * int64(n.blockSize), cuts: p.ChunkedPrefillSize > 0, clip: int64(p.ClipMaxNewTokens),
		page:     int64(n.blockSize),
		remInput: int64(p.MaxPrefillTokens), remChunk: int64(p.ChunkedPrefillSize),
	}
	batch := decodes(in.running)
	if p.EnableMixedChunk {
		mixed := int64(0)
		for _, r := range batch {
			r.want = n.decodeOf(in, r)
			mixed += int64(r.want)
		}
		if n.demand(batch) > in.free {
			return false
		}
		n.grow(in)
		b.remInput, b.remChunk = b.remInput-mixed, b.remChunk-mixed
		b.offset, b.curOffset = mixed, mixed
	}
	expected := int64(0)
	for _, r := range batch {
		expected += b.expects(r)
	}
	b.offset += (s.ratio*expected + 1e9 - 1) / 1e9
	if (s.chunked == nil || n.continueChunk(in, &b)) && !s.full {
		n.sortByCache(in, p.Order)
		for n.admitSGLang(in, p, &b) {
			n.cover["sglang admissions"]++
		}
	}
	if b.prompts > 0 && p.EnableMixedChunk && len(batch) > 0 {
		n.cover["mixed steps"]++
		if in.drafting > 0 {
			n.cover["mixed steps with drafts"]++
		}
	}
	return b.prompts > 0
}

// continueChunk gives the prompt that was cut its next chunk, and reports whether there is one.
func (n *naive) continueChunk(in *naiveInstance, b *prefillBudget) bool {
	r := in.sglang.chunked
	pending := int64(r.Pending())
	tokens := min(pending, b.remChunk, b.available-b.offset)
	if tokens < pending {
		tokens -= tokens % b.page
	}
	if tokens < 1 || n.needs(r.Computed+int32(tokens))-r.blocks > in.free {
		n.cover["chunks that wait"]++
		return false
	}
	r.want = int32(tokens)
	n.allocate(in, r, r.blocks+n.grows(r))
	expected := int64(0)
	if tokens == pending {
		in.sglang.chunked = nil
		expected = b.expects(r)
	}
	b.charge(tokens, expected)
	return true
}

// admitSGLang admits the next of the queue if it may join a step of prompts, and reports whether another one may be
// tried.
func (n *naive) admitSGLang(in *naiveInstance, p *schedulers.SGLang, b *prefillBudget) bool {
	s := &in.sglang
	if n.head(in) == nil {
		return false
	}
	switch {
	case b.available <= b.offset || b.available <= b.curOffset:
		s.full = true
		return false
	case b.remInput <= 0 || b.cuts && b.remChunk <= 0:
		return false
	case len(in.running) >= p.MaxRunningRequests:
		s.full = true
		return false
	}
	r := n.head(in)
	f := n.lookup(in, r)
	tokens, expected := int64(r.Prompt+r.Emitted-f.tokens), b.expects(r)
	idle := len(in.running) == 0
	switch {
	case !idle && tokens+expected >= b.available-b.offset:
		s.full = true
		n.cover["stopped by the reserve"]++
		return false
	case b.prompts > 0 && tokens > b.remInput:
		return false
	}
	whole := true
	if b.cuts && tokens > b.remChunk {
		tokens, expected, whole = b.remChunk-b.remChunk%b.page, 0, false
	}
	if tokens == 0 {
		return false
	}
	takes := n.needs(f.tokens + int32(tokens))
	if takes-f.more > in.free {
		s.full = true
		n.cover["stopped by blocks"]++
		return false
	}
	n.admit(in, r, f, int32(tokens), takes)
	b.charge(tokens, expected)
	if !whole {
		s.chunked = r
		n.cover["prompts cut"]++
	}
	return whole
}

// decodeSGLang composes a step of decodes, and retracts some of them if they do not fit.
func (n *naive) decodeSGLang(in *naiveInstance, p *schedulers.SGLang) {
	s := &in.sglang
	batch := decodes(in.running)
	for _, r := range batch {
		r.want = n.decodeOf(in, r)
	}
	if n.demand(batch) <= in.free {
		n.grow(in)
		s.ratio = max(s.ratio-p.NewTokenRatioDecay, p.MinNewTokenRatio)
		return
	}
	for first := true; len(batch) > 1 && (first || n.lacks(in, p, batch)); first = false {
		v := slices.MinFunc(batch, n.retractedFirst(in))
		batch = slices.DeleteFunc(batch, func(r *naiveRequest) bool { return r == v })
		n.recompute(in, v)
		n.cover["retractions"]++
	}
	if n.demand(batch) > in.free && s.chunked != nil {
		n.recompute(in, s.chunked)
		n.cover["chunks retracted"]++
	}
	if n.demand(batch) > in.free { // transferred requests have the remaining ones
		n.recompute(in, batch[0])
		batch = nil
		n.cover["retracted alone"]++
	}
	n.grow(in)
	var emitted, limit int64
	for _, r := range batch {
		emitted += int64(r.Emitted)
		limit += int64(r.Limit())
	}
	if limit == 0 {
		return
	}
	before := s.ratio
	s.ratio = max(p.MinNewTokenRatio, min(1e9, (emitted+int64(len(batch))*int64(p.RetractDecodeSteps))*1e9/limit))
	if s.ratio != before {
		n.cover["ratio changes"]++
	}
}

// lacks reports whether there is too little room for some steps of all that decode.
func (n *naive) lacks(in *naiveInstance, p *schedulers.SGLang, batch []*naiveRequest) bool {
	return (in.free-n.demand(batch))*int64(n.blockSize) < int64(len(batch))*int64(p.RetractDecodeSteps)
}

// retractedFirst compares by which is retracted first: the fewest tokens emitted, then the longest prompt, then the
// latest admitted.
func (n *naive) retractedFirst(in *naiveInstance) func(a, b *naiveRequest) int {
	return func(a, b *naiveRequest) int {
		return cmp.Or(
			cmp.Compare(a.Emitted, b.Emitted), cmp.Compare(b.Prompt, a.Prompt),
			cmp.Compare(slices.Index(in.running, b), slices.Index(in.running, a)),
		)
	}
}
