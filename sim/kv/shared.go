package kv

// Groups of layers with a sliding window that free what it has passed share blocks, too, as vLLM's do
// (v1/core/single_type_kv_cache_manager.py, SlidingWindowManager; v1/core/kv_cache_coordinator.py,
// HybridKVCacheCoordinator): a block of such a group is named when it is full, and stays cached after the window has
// passed it until it is evicted. A prompt finds no more of a prefix than what all groups have of the window before its
// end. A sequence gives up its references as its window passes them, so a group may lack blocks that it has later ones
// of, and one group may have lost a block that another still has.
//
// A request that is preempted also finds blocks that no other can ask for, and among them the latest that its windows
// passed, if it is cached still: see passed.go.

// passed returns how many blocks are before the window of a sequence of which so many tokens are computed.
func (p *prefixes) passed(computed int32) int32 { return p.full(max(0, computed-p.window+1)) }

// before returns the longest of the first n blocks of a prompt at whose end all groups of windows have what is before
// it: vLLM looks for as many blocks in a row as a window takes, from the end on.
func (p *prefixes) before(slot int32, q Prompt, n int32) int32 {
	need := max(1, (p.window-2+p.size)/p.size)
	end := n
	for at := n; at > 0; {
		from, ok := p.inAll(slot, q, at)
		switch {
		case !ok:
			at, end = from, from
		case end-from >= need || from == 0:
			return end
		default:
			at = from
		}
	}
	return 0
}

// inAll reports whether all groups of windows have the block before at of a prompt. If so they have all from the
// returned one on; if not, none from there on is in all.
func (p *prefixes) inAll(slot int32, q Prompt, at int32) (from int32, ok bool) {
	low, gap, missing := int32(0), at, false
	for g := int32(1); g < p.groups; g++ {
		x, found := p.in(slot, g, q, at)
		if !found {
			missing, gap = true, min(gap, x)
		}
		low = max(low, x)
	}
	if missing {
		return gap, false
	}
	return low, true
}

// in reports whether a group has the block before at of a prompt. If so it has all from the returned one on; if not,
// none from there on.
func (p *prefixes) in(slot, group int32, q Prompt, at int32) (from int32, ok bool) {
	if slot >= 0 && p.table(slot).retained != 0 && at > p.at[p.table(slot).retained].from {
		for i := p.tableOf(slot, group).retained; i != 0; i = p.at[i].after {
			if x := &p.at[i]; x.from < at && at <= x.to {
				return x.from, true
			}
		}
	}
	node, tokens := p.path(q)
	if readable := p.named(tokens); at > readable { // its own
		return at - 1, false
	}
	for p.start(node) >= at {
		node = p.tree.Parent(node)
	}
	low := p.start(node)
	list := p.listOf(node, group)
	if int(list) >= len(p.head) {
		return low, false
	}
	for i := p.head[list]; i != 0; i = p.at[i].after {
		switch x := &p.at[i]; {
		case x.from < at && at <= x.to:
			return max(x.from, p.start(node)), true
		case x.to < at:
			low = max(low, x.to)
		}
	}
	return low, false
}

// matchWindows adds to a match of a prompt what groups of windows have before its end.
func (p *prefixes) matchWindows(slot int32, q Prompt, m *Match) {
	from := p.passed(m.Cached * p.size)
	for g := int32(1); g < p.groups; g++ {
		m.Windows += m.Cached - from
		m.Free += p.countFreeOf(slot, g, q, from, m.Cached)
	}
}

// countFreeOf returns how many of blocks [from, to) of a prompt, which a group has, no sequence has.
func (p *prefixes) countFreeOf(slot, group int32, q Prompt, from, to int32) (free int32) {
	if slot >= 0 {
		if i := p.table(slot).retained; i != 0 && to > p.at[i].from { // none but its own
			own := max(from, p.at[i].from)
			free, to = to-own, own
		}
	}
	node, _ := p.path(q)
	for ; to > from; node = p.tree.Parent(node) {
		for start := max(from, p.start(node)); to > start; {
			i, low := p.pick(p.listOf(node, group), to, start)
			if p.at[i].refs == 0 {
				free += to - low
			}
			to = low
		}
	}
	return free
}

// pass takes the sequence in slot off those of its blocks up to the given one that others may reuse, group by group,
// and returns how many it had, and how many of them no sequence has any more. Before those it frees blocks [own, to),
// which only it can find again.
func (p *prefixes) pass(slot, own, to int32) (had, freed int64) {
	for g := int32(1); g < p.groups; g++ {
		t := p.tableOf(slot, g)
		if to > own {
			p.retain(t, slot*p.groups+g, own, to)
			p.trim(t)
		}
		if to := min(to, t.shared); to > t.from {
			had += int64(to - t.from)
			freed += p.passOf(t, to)
		}
	}
	return had, freed
}

// passOf is pass of one group, up to block to.
func (p *prefixes) passOf(t *table, to int32) (freed int64) {
	t.from = to
	at := &t.list
	for *at != 0 && p.at[p.references[*at].extent].from >= to {
		at = &p.references[*at].next
	}
	if i := *at; i != 0 && p.references[i].to > to {
		r := &p.references[i]
		front := *r
		front.to = to
		r.extent = p.cut(r.extent, to)
		freed += p.dropReference(front)
		at = &r.next
	}
	for i := *at; i != 0; {
		next := p.references[i].next
		freed += p.dropReference(p.references[i])
		p.unused = append(p.unused, i)
		i = next
	}
	*at = 0
	return freed
}

// cut returns the extent that begins with block at of a reference whose first extent is i. It divides one if need be.
func (p *prefixes) cut(i, at int32) int32 {
	for p.at[i].to < at {
		i = p.at[i].right
	}
	if p.at[i].to == at {
		return p.at[i].right
	}
	return p.divide(i, at)
}

// SharesWindows reports whether groups of windows share blocks.
func (k *Cache) SharesWindows() bool { return k.prefix != nil && k.prefix.groups > 1 }

// Shared returns how many of the first blocks of tokens of the sequence in slot others may reuse in groups of windows.
func (k *Cache) Shared(slot int32) int32 {
	if !k.SharesWindows() {
		return 0
	}
	return k.prefix.tableOf(slot, 1).shared
}

// Reads reports whether groups of windows have blocks of the sequence in slot that others may reuse, among the first n
// of tokens.
func (k *Cache) Reads(slot, n int32) bool {
	if !k.SharesWindows() {
		return false
	}
	t := k.prefix.tableOf(slot, 1)
	return t.from < min(n, t.shared)
}

// PassInTurn has the sequence in slot free blocks [from, to) of its tokens in all groups of windows. It finds those
// again when it is preempted that only it could.
func (k *Cache) PassInTurn(slot, from, to int32) {
	own := max(from, min(to, k.Shared(slot)))
	had, freed := k.prefix.pass(slot, own, to)
	k.Release(freed + k.PassedOf(to-own))
	k.repeated -= had - freed
}

// PassShared takes the sequence in slot off those of its first n blocks of tokens that others may reuse.
func (k *Cache) PassShared(slot, n int32) {
	had, freed := k.prefix.pass(slot, n, n)
	k.Release(freed)
	k.repeated -= had - freed
}
