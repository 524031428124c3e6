package sim_test

import "slices"

// This is how groups of windows share blocks, block by block, as vLLM's SlidingWindowManager does.

// naiveWindows is what groups of windows that free what these have passed have of a request.
type naiveWindows struct {
	passed   int32      // blocks of its tokens that its windows have passed
	before   int32      // that they had passed when its blocks were freed last
	underWay int32      // of its tokens, those that do not count as computed for that
	readable int32      // blocks of its tokens that others have been able to find since its latest admission
	windows  [][]*block // where they share blocks: those of each, by position; nil: passed
}

// inGroup returns the hash of a block in a group, whose hash in that of full attention is given.
func inGroup(hash, group int) int { return hash | group<<40 }

// unknownMax returns the most tokens that may be computed and do not count for the names of blocks yet.
func (n *naive) unknownMax() int32 {
	tokens := n.drafter().Ahead
	if n.speculation != nil {
		most := int32(0)
		for decodes := range 1000 {
			most = max(most, n.drafts(decodes))
		}
		tokens += 2 * most
	}
	if n.stagesSerial() {
		tokens += int32(len(n.stages) - 1)
	}
	return tokens
}

func (n *naive) sharesWindows(in *naiveInstance) bool { return in.pool != nil && in.pool.groups > 1 }

// without returns how many blocks of tokens a request takes none of in a group of windows if so many are cached.
func (n *naive) without(in *naiveInstance, cached int32) int32 {
	if n.sharesWindows(in) {
		return cached / n.blockSize
	}
	return n.before(cached)
}

// passesSeparately reports whether windows pass blocks in the step to come of any request but those that decode, have
// done so for long enough to have the blocks that follow from their length, and none that others may find.
func (n *naive) passesSeparately(in *naiveInstance) bool {
	return n.sharesWindows(in) && slices.ContainsFunc(in.running, func(r *naiveRequest) bool {
		return r.want > 0 && n.passes(r) > r.passed && !n.steady(r)
	})
}

// steady reports whether r decodes and the blocks that its windows have passed, and those that they pass next, follow
// from its length.
func (n *naive) steady(r *naiveRequest) bool {
	lag := int32(0)
	if n.lags() {
		lag = 1
	}
	return r.decoding && n.speculation == nil && r.passed >= r.readable &&
		r.passed == n.before(max(0, r.Computed-1-lag)) && n.passes(r) == n.before(max(0, r.Computed-lag))
}

// passInTurn frees what the windows of r pass, whose turn it is to compute so many tokens, whether or not there are
// blocks for them.
func (n *naive) passInTurn(in *naiveInstance, r *naiveRequest, want int32) {
	if n.sharesWindows(in) {
		r.want = want
		n.pass(in, r)
	}
}

// pass frees, in each group, the blocks of r that its windows pass up to the given one. r finds them again, and others
// those of its prompt and of an output that is read again.
func (p *blockPool) pass(r *naiveRequest, to int32) {
	for _, w := range r.windows {
		for i := int(to) - 1; i >= 0 && w[i] != nil; i-- {
			if w[i].hash == 0 {
				panic("windows pass a block without a name")
			}
			w[i].passed = w[i].passed || int32(i) >= r.readable
			p.release(w[i : i+1])
			w[i] = nil
		}
	}
}

// allocateWindows gives r its blocks of windows, and returns how many.
func (n *naive) allocateWindows(in *naiveInstance, r *naiveRequest) (taken int64) {
	each := int((r.blocks - int64(n.fixed)) / int64(in.pool.groups))
	if r.windows == nil {
		r.windows = make([][]*block, in.pool.groups-1)
	}
	for g := range r.windows {
		for len(r.windows[g]) < each {
			r.windows[g] = append(r.windows[g], in.pool.allocate())
			taken++
		}
	}
	return taken
}

// lookupWindows shortens what full attention has of r to what groups of windows have before its end: as many blocks in
// a row as a window takes, or all from the beginning on.
func (n *naive) lookupWindows(in *naiveInstance, r *naiveRequest, hits []*block) found {
	p := in.pool
	need := max(1, (p.window-1+p.size-1)/p.size)
	row, end := int32(0), int32(0)
	for i := int32(len(hits)) - 1; i >= 0; i-- {
		if !p.inWindows(r, int(i)) {
			row = 0
			continue
		}
		row++
		if row == need || i == 0 {
			end = i + row
			break
		}
	}
	if int(end) < len(hits) {
		n.cover["prefixes of which windows lack some"]++
	}
	f := found{hits: hits[:end], tokens: end * p.size}
	for g := 1; g < p.groups; g++ {
		w := make([]*block, end)
		for i := n.before(f.tokens); i < end; i++ {
			h, _ := p.hash(r, int(i))
			w[i] = p.cached[inGroup(h, g)][0]
			if i < r.before && !w[i].content {
				n.cover["blocks that windows had passed, and a victim finds again"]++
			}
		}
		f.within = append(f.within, w)
	}
	f.more = int64(end) - f.idle()
	return f
}

// inWindows reports whether all groups of windows have the i-th block of r.
func (p *blockPool) inWindows(r *naiveRequest, i int) bool {
	h, _ := p.hash(r, i)
	for g := 1; g < p.groups; g++ {
		if len(p.cached[inGroup(h, g)]) == 0 {
			return false
		}
	}
	return true
}

// takeWindows gives r the blocks that were found for it. No request asks for the others that only it could.
func (n *naive) takeWindows(in *naiveInstance, r *naiveRequest, f found) {
	p := in.pool
	p.touch(f.hits)
	for _, w := range f.within {
		p.touch(w)
		if len(shared(f.hits)) > 0 && len(w) > 0 {
			n.cover["blocks of windows that requests share"]++
		}
	}
	p.disown(r, n.before(f.tokens))
	for i, b := range f.hits {
		p.own(r, b, i, 0)
	}
	for g, w := range f.within {
		for i, b := range w {
			p.own(r, b, i, 1+g)
		}
	}
	r.pages, r.windows, r.blocks = slices.Clone(f.hits), f.within, int64(len(f.hits))
	r.readable = int32(len(shared(f.hits)))
	in.free = int64(p.free.Len())
}

// own names b, the i-th block that r has found in a group, again, if only r can find it.
func (p *blockPool) own(r *naiveRequest, b *block, i, group int) {
	if b != nil && b.hash == 0 {
		b.hash, b.content = p.hash(r, i)
		b.hash = inGroup(b.hash, group)
		p.cached[b.hash] = append(p.cached[b.hash], b)
	}
}
