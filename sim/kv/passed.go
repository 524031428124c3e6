package kv

// A request that is preempted looks for the blocks of the window before the last full block of its tokens. Its windows
// may have passed the first of these already, because its latest tokens fill no block yet or it has some under way.
// vLLM still finds it, if it has not been evicted since. Older ones are not lacking: they are evicted before it.
//
// Sequences that do nothing but decode free what their windows pass as mere numbers, of which the order of eviction
// knows the step. Within one step requests free in order of admission, and the groups of each in turn. A sequence that
// may be computed again then picks its own from among them.
//
// So does one whose output a later prompt begins with. Windows that are no whole number of blocks, or a drafter that
// drops the last block that is found, have that ask for more of the output than the windows had at its end.

// PassTogether is Pass of blocks that sequences free in one step, one after the other. It returns a number for Regain.
func (k *Cache) PassTogether(n int64) int32 {
	k.Release(n)
	p := k.prefix
	p.passings = max(1, p.passings+1) // in a run that is too long for an int32, those of before are long evicted
	p.link(p.add(extent{to: int32(n), right: p.passings}), p.at[0].older)
	return p.passings
}

// Regain lets the sequence in slot find a block of its tokens again when it is preempted: the one that PassTogether
// freed under a number, and after which sequences freed so many blocks of tokens in each group. What has been evicted
// of it stays so.
func (k *Cache) Regain(slot, block, number, behind int32) {
	p := k.prefix
	for g := int32(1); g < p.groups; g++ {
		p.pickPassed(slot, g, block, number, (behind+1)*(p.groups-1)-g)
	}
}

// NamePassed lets others find what the windows of the sequence in slot have passed of its output, if a request is going
// to continue that, as far as the sequence could find it again.
func (k *Cache) NamePassed(slot int32, q Prompt) {
	if k.SharesWindows() && q.Output != 0 {
		k.prefix.namePassed(slot, q)
	}
}

// pickPassed lets the sequence in slot find, in a group, the block after which so many were freed under the number.
func (p *prefixes) pickPassed(slot, group, block, number, behind int32) {
	i := p.at[0].older
	for ; ; i = p.at[i].older {
		x := &p.at[i]
		if i == 0 || x.node == 0 && x.right != 0 && x.right < number {
			return
		}
		if x.node == 0 && x.right == number && x.from <= behind && behind < x.to {
			break
		}
	}
	x, t := p.at[i], p.tableOf(slot, group)
	if behind > x.from {
		p.link(p.add(extent{from: x.from, to: behind, right: x.right}), i)
	}
	j := p.add(extent{node: -1 - (slot*p.groups + group), from: block, to: block + 1, after: t.retained})
	t.retained = j
	p.link(j, i)
	if behind+1 == x.to {
		p.remove(i)
	} else {
		p.at[i].from = behind + 1
	}
	p.trim(t)
}

// trim has no request find more of what windows have passed of the owner of t than it may ask for.
func (p *prefixes) trim(t *table) {
	at := &t.retained
	for range p.latest {
		if *at == 0 {
			return
		}
		at = &p.at[*at].after
	}
	for i := *at; i != 0; {
		next := p.at[i].after
		p.disown(i)
		i = next
	}
	*at = 0
}

// namePassed is Cache.NamePassed. Each block keeps its place in the order of eviction, and counts for nothing there.
func (p *prefixes) namePassed(slot int32, q Prompt) {
	for g := int32(1); g < p.groups; g++ {
		t := p.tableOf(slot, g)
		for t.retained != 0 {
			p.nameEnd(t, g, q.Output)
		}
	}
}

// nameEnd gives the first extent that only the owner of t can find, in a group, to the node in which it ends, on the
// path to the given one. What belongs to nodes before remains the owner's.
func (p *prefixes) nameEnd(t *table, group, node int32) {
	i := t.retained
	for p.start(node) >= p.at[i].to {
		node = p.tree.Parent(node)
	}
	t.retained = p.at[i].after
	if from := p.start(node); from > p.at[i].from {
		t.retained = p.add(extent{node: p.at[i].node, from: p.at[i].from, to: from, after: t.retained})
		p.link(t.retained, i)
		p.at[i].from = from
	}
	p.at[i].node, p.at[i].passed = p.listOf(node, group), true
	p.list(i)
}
