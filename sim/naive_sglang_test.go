package sim_test

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// sglangState is what an instance remembers from step to step.
type sglangState struct {
	ratio   int64         // share of the tokens that running requests may still emit for which room is kept, in 1e-15
	full    bool          // no prompts are tried until a request leaves
	chunked *naiveRequest // of whose prompt the rest is to come

	refreshes int // attempts to admit a request

	// what has been decided of the next step as this one ended: "sorted", the queue; "tried", and no request of it may be
	// admitted; "retracted", and others have been
	ahead       string
	read        []*naiveRequest // whose prompts are complete, as the engine does not know yet
	joins       bool            // it takes part in a step of other ranks, with nothing to compute or not
	first, last int             // places that have been given

	entries int         // of requests to the queue
	planned []candidate // that the next step admits
	chunk   int64       // tokens that it computes of chunked; 0: that has not been said
	stashed bool        // what has been computed of chunked is in the tree, although the step with it has not ended
	lost    bool        // requests have lost their places for the next step as the one before ended
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
	waiting, lost := len(in.waiting), in.sglang.lost
	in.sglang.lost = false
	if !n.prefillSGLang(in, p) && len(in.running) > 0 {
		n.decodeSGLang(in, p)
	}
	if len(in.running) == 0 && !in.sglang.joins {
		in.sglang.ratio = p.InitNewTokenRatio
		if p.Preemption && (lost || len(in.waiting) > waiting) {
			if lost {
				in.startOver()
			}
			n.planSGLang(in, p)
			n.cover["tried again after preemptions for nothing"]++
		}
	}
}

// prefillBudget is what a batch of prompts may still take.
type prefillBudget struct {
	*schedulers.SGLang
	page     int64
	free     int64 // tokens of the cache, but for those that admitted requests share
	reserved int64 // of them, for what decodes may emit yet, rounded down
	fraction bool  // by which more is reserved
	ride     int64 // of them, of decodes in the same step
	taken    int64 // of them, by prompts and what those may emit
	takenNow int64 // of them, by prompts
	input    int64
	chunk    int64 // counts only if prompts are cut
	prompts  int   // in the batch
	rows     int   // requests in the batch, with these
	blocks   int64 // free ones, but for those of these

	batch    []*naiveRequest // that decodes
	preempts bool            // others may lose their places in it
	ahead    bool            // and what the step under way computes of them
	lost     bool            // some have
}

func (b *prefillBudget) paged(tokens int64) int64 { return (tokens + b.page - 1) / b.page * b.page }

func (b *prefillBudget) cuts() bool { return b.ChunkedPrefillSize > 0 }

func (b *prefillBudget) charge(tokens, expected int64) {
	b.takenNow += b.paged(tokens) + b.page
	b.taken += b.paged(tokens) + b.page + expected
	b.input -= b.paged(tokens)
	b.chunk -= b.paged(tokens)
	b.prompts++
}

// rest returns the tokens of the cache that are neither taken nor reserved; less a fraction, if there is one.
func (b *prefillBudget) rest() int64 { return b.free - b.ride - b.reserved - b.taken }

func (b *prefillBudget) hasMemory() bool { return b.rest() > 0 && b.free-b.ride-b.takenNow > 0 }

func (b *prefillBudget) hasInput() bool { return b.input > 0 && (!b.cuts() || b.chunk > 0) }

// reserve keeps room for what a batch of decodes may emit yet: a share of it, or all if none stops early.
func (b *prefillBudget) reserve(n *naive, in *naiveInstance, batch []*naiveRequest, ratio int64) {
	sum := int64(0)
	for _, r := range batch {
		sum += min(int64(r.Limit()-r.Emitted+n.unknown(in, r)), int64(b.ClipMaxNewTokens))
	}
	if b.IgnoreEOS {
		ratio = schedulers.RatioOne
	}
	whole, rest := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(ratio), big.NewInt(sum)),
		big.NewInt(schedulers.RatioOne), new(big.Int))
	b.reserved, b.fraction = whole.Int64(), rest.Sign() > 0
}

// budget returns what a batch of prompts may take beside so many decodes.
func (n *naive) budget(in *naiveInstance, p *schedulers.SGLang, batch []*naiveRequest) *prefillBudget {
	b := &prefillBudget{SGLang: p, page: int64(n.blockSize), free: in.free * int64(n.blockSize),
		input: int64(p.MaxPrefillTokens), chunk: int64(p.ChunkedPrefillSize)}
	if p.EnableMixedChunk {
		for _, r := range batch {
			b.ride += int64(n.decodeOf(in, r))
		}
	}
	b.input, b.chunk = b.input-b.ride, b.chunk-b.ride
	b.reserve(n, in, batch, in.sglang.ratio)
	b.batch = slices.DeleteFunc(slices.Clone(batch), func(r *naiveRequest) bool { return r.removed })
	return b
}

// prefillSGLang composes a step with prompts, if there is one.
func (n *naive) prefillSGLang(in *naiveInstance, p *schedulers.SGLang) bool {
	s := &in.sglang
	ahead := s.ahead
	if ahead == "tried" || ahead == "retracted" {
		return false
	}
	s.ahead = ""
	if s.chunked != nil || p.Preemption {
		s.full = false
	}
	if s.chunked == nil && ahead != "planned" && !n.mayAdmit(in, p) {
		return false
	}
	batch := decodes(in.running)
	b := n.budget(in, p, batch)
	b.preempts = p.Preemption && ahead == ""
	if ahead == "planned" {
		n.admitPlanned(in, b)
	} else if s.chunked == nil || n.continueChunk(in, b) {
		if ahead == "" {
			n.sortByCache(in, p.Order)
		}
		for n.admitSGLang(in, p, b) {
			n.cover["sglang admissions"]++
		}
	}
	if b.prompts == 0 {
		return false
	}
	n.setAside(in, 0)
	batch = n.emitters(in)
	if p.EnableMixedChunk && n.rideSGLang(in, batch) || len(batch) == 0 {
		s.full = false // that was noted of a batch which this one replaces
	}
	return true
}

// mayAdmit reports whether it is worth an attempt to admit a request.
func (n *naive) mayAdmit(in *naiveInstance, p *schedulers.SGLang) bool {
	return n.head(in) != nil && !in.sglang.full && (p.Preemption || len(in.running) < p.MaxRunningRequests)
}

// rideSGLang adds decodes to a step with prompts if they all fit, and reports whether there are any.
func (n *naive) rideSGLang(in *naiveInstance, batch []*naiveRequest) bool {
	for _, r := range batch {
		r.want = n.decodeOf(in, r)
	}
	if n.demand(batch) > in.free {
		for _, r := range batch {
			r.want = 0
		}
		n.cover["mixed steps without room for decodes"]++
		return false
	}
	n.setAside(in, len(batch))
	n.grow(in, false)
	for _, r := range batch {
		r.fill = int64(r.Prompt + r.Emitted - n.unknown(in, r))
	}
	if len(batch) > 0 {
		n.cover["mixed steps"]++
		if in.drafting > 0 {
			n.cover["mixed steps with drafts"]++
		}
	}
	return len(batch) > 0
}

// continueChunk gives the prompt that was cut its next chunk, and reports whether there is one.
func (n *naive) continueChunk(in *naiveInstance, b *prefillBudget) bool {
	r, expected := in.sglang.chunked, int64(0)
	tokens := n.nextChunk(int64(r.Pending()), b)
	if tokens < 1 || n.needs(r.Computed+int32(tokens))-r.blocks > in.free {
		n.cover["chunks that wait"]++
		return false
	}
	if tokens == int64(r.Pending()) {
		in.sglang.chunked = nil
		expected = int64(min(r.Limit(), b.ClipMaxNewTokens))
	}
	r.want = int32(tokens)
	n.allocate(in, r, r.blocks+n.lasts(r))
	b.charge(tokens, expected)
	return true
}

// nextChunk returns how many of the pending tokens of a prompt its next chunk has.
func (n *naive) nextChunk(pending int64, b *prefillBudget) int64 {
	room := b.rest()
	if b.fraction {
		room--
	}
	if room <= 0 {
		room = b.chunk
		n.cover["chunks without a reserve"]++
	}
	return min(pending, b.chunk, room)
}

// candidate is a request that may join a step of prompts.
type candidate struct {
	r      *naiveRequest // nil: none may
	f      found
	tokens int64 // to compute in the step
	limit  int64 // expected after them
	takes  int64 // blocks in all
	cut    bool
}

// next returns the next of the queue, if it may join a step of prompts.
func (n *naive) next(in *naiveInstance, p *schedulers.SGLang, b *prefillBudget) (c candidate) {
	if r := n.head(in); r != nil {
		b.rows, b.blocks = len(in.running), in.free
		return n.try(in, p, b, r)
	}
	return c
}

// try returns r, which waits, if it may join a step of prompts.
func (n *naive) try(in *naiveInstance, p *schedulers.SGLang, b *prefillBudget, r *naiveRequest) (c candidate) {
	s := &in.sglang
	if b.hasMemory() && !b.hasInput() {
		return c
	}
	if b.rows >= p.MaxRunningRequests || p.Preemption && s.full {
		makesRoom := b.preempts && n.preemptFor(in, b, r)
		s.full = true
		if !makesRoom {
			return c
		}
	}
	f := n.lookup(in, r)
	tokens, limit := int64(r.Prompt+r.Emitted-f.tokens), int64(min(r.Limit(), b.ClipMaxNewTokens))
	need := tokens + min(int64(r.Limit()-r.Emitted), int64(b.ClipMaxNewTokens)) + b.page
	r.fill = tokens
	if b.rows > 0 && need >= b.rest()-f.idle()*b.page {
		s.full = true
		n.cover["stopped by the reserve"]++
		return c
	}
	if !b.cuts() && b.prompts > 0 && b.paged(tokens) >= b.input {
		n.cover["stopped by other prompts"]++
		return c
	}
	cut := b.cuts() && b.paged(tokens) > b.chunk
	if cut {
		tokens, limit = b.chunk-b.chunk%b.page, 0
	}
	if tokens <= 0 {
		return c
	}
	takes := n.needs(f.tokens + int32(tokens))
	if takes-f.more > b.blocks {
		s.full = true
		n.cover["stopped by blocks"]++
		return c
	}
	return candidate{r, f, tokens, limit, takes, cut}
}

// admitSGLang admits the next of the queue if it may join a step of prompts, and reports whether another one may be
// tried.
func (n *naive) admitSGLang(in *naiveInstance, p *schedulers.SGLang, b *prefillBudget) bool {
	s, c := &in.sglang, n.next(in, p, b)
	if c.r == nil {
		return false
	}
	shares := c.f.idle() * b.page
	c.r.fill = int64(c.r.Prompt + c.r.Emitted)
	n.admit(in, c.r, c.f, int32(c.tokens), c.takes)
	b.free -= shares
	b.charge(c.tokens, c.limit)
	if c.cut {
		s.chunked = c.r
		n.cover["prompts cut"]++
	}
	if !b.hasMemory() {
		s.full = true
	}
	return b.hasMemory() && b.hasInput()
}

// decodeSGLang composes a step of decodes, and retracts some of them if they do not fit.
func (n *naive) decodeSGLang(in *naiveInstance, p *schedulers.SGLang) {
	s := &in.sglang
	ahead := s.ahead
	s.ahead = ""
	batch := n.emitters(in)
	for _, r := range batch {
		r.want = n.decodeOf(in, r)
	}
	if n.demand(batch) <= in.free {
		n.setAside(in, len(batch))
		n.grow(in, false)
		if len(batch) > 0 && ahead != "retracted" {
			s.ratio = max(s.ratio-p.NewTokenRatioDecay, p.MinNewTokenRatio)
		}
		return
	}
	if len(batch) < len(decodes(in.running)) {
		n.evictFor(in, n.demand(batch))
		for _, r := range batch {
			r.want = 0
		}
		n.cover["steps without decodes until one has ended"]++
		return
	}
	batch = n.retractSGLang(in, p, batch, n.demand)
	if n.demand(batch) > in.free && s.chunked != nil {
		n.recompute(in, s.chunked)
		n.cover["chunks retracted"]++
	}
	if n.demand(batch) > in.free { // transferred requests have the remaining ones
		n.retract(in, batch[0])
		batch = nil
		n.cover["retracted alone"]++
	}
	n.setAside(in, len(batch))
	n.grow(in, false)
	n.estimate(in, batch)
}

// retractSGLang retracts requests of a batch until it fits or is one request, and returns what is left of it.
func (n *naive) retractSGLang(in *naiveInstance, p *schedulers.SGLang, batch []*naiveRequest,
	demand func([]*naiveRequest) int64) []*naiveRequest {
	for first := true; len(batch) > 1 && (first || demand(batch) > in.free); first = false {
		n.evictFor(in, demand(batch))
		v := slices.MinFunc(batch, n.retractedFirst(in))
		batch = slices.DeleteFunc(batch, func(r *naiveRequest) bool { return r == v })
		n.retract(in, v)
		perPage := int64(n.blockSize)
		n.evictFor(in, (int64(len(batch))*int64(p.RetractDecodeSteps)+perPage-1)/perPage)
		n.cover["retractions"]++
	}
	return batch
}

// estimate sets the share of room to what a batch needs.
func (n *naive) estimate(in *naiveInstance, batch []*naiveRequest) {
	p := n.policy.(*schedulers.SGLang)
	emitted, limit := new(big.Int), int64(1)
	for _, r := range batch {
		emitted.Add(emitted, big.NewInt(int64(r.Emitted-n.unknown(in, r))+int64(p.RetractDecodeSteps)))
		limit += int64(r.Limit())
	}
	before := in.sglang.ratio
	emitted.Mul(emitted, big.NewInt(schedulers.RatioOne)).Quo(emitted, big.NewInt(limit))
	in.sglang.ratio = schedulers.RatioOne
	if emitted.IsInt64() {
		in.sglang.ratio = min(in.sglang.ratio, emitted.Int64())
	}
	if in.sglang.ratio != before {
		n.cover["ratio changes"]++
	}
}

// retractedFirst compares by which is retracted first: the fewest tokens emitted, then the longest prompt, then the
// latest admitted.
func (n *naive) retractedFirst(in *naiveInstance) func(a, b *naiveRequest) int {
	return func(a, b *naiveRequest) int {
		byPriority := 0
		if n.policy.(*schedulers.SGLang).ByPriority {
			byPriority = cmp.Compare(b.Priority, a.Priority)
		}
		return cmp.Or(
			byPriority, cmp.Compare(a.Emitted-n.unknown(in, a), b.Emitted-n.unknown(in, b)), cmp.Compare(b.Prompt, a.Prompt),
			cmp.Compare(n.placeOf(in, b), n.placeOf(in, a)), cmp.Compare(b.number, a.number),
		)
	}
}
