package kv

import "slices"

// What a sequence frees may be found again: by others, as far as they read the same, and if it is preempted by itself.

// release implements Cache.ReleaseSequence and returns how many blocks no sequence has any more.
func (p *prefixes) release(slot int32, q Prompt, blocks int64, computed int32, retain bool) (freed int64) {
	if t := p.table(slot); p.offload != nil && t.shared > 0 {
		node, _ := p.path(q)
		p.keep(node, t.shared)
	}
	return p.releaseBlocks(slot, q, blocks, computed, retain)
}

// releaseBlocks frees the blocks of the sequence in slot, of which so many tokens are computed: group by group, as
// vLLM does.
func (p *prefixes) releaseBlocks(slot int32, q Prompt, blocks int64, computed int32, retain bool) (freed int64) {
	tokens := int32(0) // blocks of them
	if p.groups > 1 {
		tokens = int32((blocks - p.fixed + int64(p.groups-1)*int64(q.Passed)) / int64(p.groups))
		blocks -= int64(p.groups-1) * int64(tokens-q.Passed)
	}
	full := p.full(computed)
	freed = p.releaseOf(slot, 0, p.table(slot).shared, int32(blocks), full, retain)
	for g := int32(1); g < p.groups; g++ {
		freed += p.releaseOf(slot, g, max(q.Passed, p.tableOf(slot, g).shared), tokens, full, retain)
	}
	return freed
}

// releaseOf frees the blocks of a group, which has the first to blocks of tokens. Others may have those before from,
// the rest are its own, and so many of all are full.
func (p *prefixes) releaseOf(slot, group, from, to, full int32, retain bool) (freed int64) {
	t := p.tableOf(slot, group)
	private := to - from
	named := max(0, min(private, full-from))
	p.freeUnnamed(private-named, p.first)
	if retain && named > 0 {
		p.retain(t, slot*p.groups+group, from, from+named)
	} else {
		p.freeUnnamed(named, false)
	}
	if !retain {
		p.disownAll(t)
	}
	freed = int64(private)
	for i := t.list; i != 0; i = p.references[i].next {
		freed += p.dropReference(p.references[i])
		p.unused = append(p.unused, i)
	}
	t.list, t.shared, t.from = 0, 0, 0
	return freed
}

// dropReference takes a sequence off its blocks, the last first, and returns how many of them no sequence has any more.
func (p *prefixes) dropReference(r reference) (freed int64) {
	p.nodes = append(p.nodes[:0], r.extent)
	for i := r.extent; p.at[i].to < r.to; {
		i = p.at[i].right
		p.nodes = append(p.nodes, i)
	}
	for _, i := range slices.Backward(p.nodes) {
		x := &p.at[i]
		x.refs--
		if x.refs == 0 {
			freed += int64(x.len())
			p.free(i)
		}
	}
	return freed
}

// forget implements Cache.Forget.
func (p *prefixes) forget(slot int32) {
	for g := range p.groups {
		p.disownAll(p.tableOf(slot, g))
	}
}

// regain gives the owner of t blocks [from, to) as far as they are those that only it may reuse. No request can ask for
// later ones any more; those before are behind its window.
func (p *prefixes) regain(t *table, from, to int32) {
	i := t.retained
	t.retained = 0
	for i != 0 {
		x := p.at[i]
		if x.from < from { // the end of an extent is evicted first
			p.at[i].to = min(from, x.to)
			p.at[i].after, t.retained = t.retained, i
			if above := max(0, x.to-max(to, from)); above > 0 {
				p.link(p.add(extent{to: above}), x.older)
			}
		} else if above := max(0, x.to-max(to, x.from)); above > 0 {
			p.disown(i)
			p.at[i].to = above
		} else {
			p.remove(i)
		}
		i = x.after
	}
}

// retain has the owner of t, which has that number, be the only one to find blocks [from, to), which are free.
func (p *prefixes) retain(t *table, number, from, to int32) {
	i := p.add(extent{node: -1 - number, from: from, to: to, after: t.retained})
	t.retained = i
	p.link(i, p.at[0].older)
}

// disown has no request find extent i, which only one could. Counted from 0 it can grow to the whole cache, which an
// int32 can number.
func (p *prefixes) disown(i int32) {
	x := &p.at[i]
	x.node, x.after = 0, 0
	x.from, x.to = 0, x.len()
}

// disownAll has no request find what only the owner of t could.
func (p *prefixes) disownAll(t *table) {
	for i := t.retained; i != 0; {
		next := p.at[i].after
		p.disown(i)
		i = next
	}
	t.retained = 0
}
