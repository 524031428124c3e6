package kv

// extent is consecutive blocks of the cache that are in one state: in use by the same number of sequences, or free and
// next to each other in the order of eviction. Blocks are counted along the prompt, from its start.
type extent struct {
	node          int32 // of Contents; 0: no request can reuse it; −1 − slot: only the preempted request in slot can
	from, to      int32
	refs          int32 // sequences that have it; 0: it is free, and in the order of eviction
	older, newer  int32 // neighbours in that order
	before, after int32 // neighbours among the extents of the node, in the order in which they were computed
	// the end that was divided off last: a request that has had both since finds it here. Of free blocks that no request
	// can reuse: the step in which windows passed all of them, by the number that PassTogether gave it; 0: no single one
	right int32
	// windows passed it while its output was decoded, and no sequence has had it since: as until others could find it, it
	// does not count as content that is evicted
	passed bool
}

func (x *extent) len() int32 { return x.to - x.from }

// extents is every block of a cache, as extents. Extent 0 closes the order of eviction to a ring.
type extents struct {
	at      []extent
	unused  []int32
	head    []int32 // first extent of each content node; 0: none, as for nodes beyond its length
	tail    []int32
	evicted int64 // blocks of content
}

// add returns the number of a new extent. It is in no order yet.
func (p *extents) add(x extent) int32 {
	if n := len(p.unused); n > 0 {
		i := p.unused[n-1]
		p.unused = p.unused[:n-1]
		p.at[i] = x
		return i
	}
	p.at = append(p.at, x)
	return int32(len(p.at) - 1)
}

// remove forgets extent i.
func (p *extents) remove(i int32) {
	x := &p.at[i]
	if x.refs == 0 {
		p.unlink(i)
	}
	if x.node > 0 {
		p.unlist(i)
	}
	p.unused = append(p.unused, i)
}

// unlink takes extent i out of the order of eviction.
func (p *extents) unlink(i int32) {
	x := &p.at[i]
	p.at[x.older].newer, p.at[x.newer].older = x.newer, x.older
}

// link puts extent i into the order of eviction, right after older.
func (p *extents) link(i, older int32) {
	x := &p.at[i]
	x.older, x.newer = older, p.at[older].newer
	p.at[x.newer].older, p.at[older].newer = i, i
}

// list makes extent i, of a content node, the latest of its node.
func (p *extents) list(i int32) {
	node := p.at[i].node
	for int(node) >= len(p.head) {
		p.head, p.tail = append(p.head, 0), append(p.tail, 0)
	}
	last := p.tail[node]
	p.at[i].before, p.at[i].after = last, 0
	p.tail[node] = i
	if last == 0 {
		p.head[node] = i
	} else {
		p.at[last].after = i
	}
}

// unlist takes extent i out of the list of its node.
func (p *extents) unlist(i int32) {
	x := &p.at[i]
	if x.before == 0 {
		p.head[x.node] = x.after
	} else {
		p.at[x.before].after = x.after
	}
	if x.after == 0 {
		p.tail[x.node] = x.before
	} else {
		p.at[x.after].before = x.before
	}
}

// divide cuts extent i, of a content node, before block at, and returns the part behind the cut. Of free blocks that
// part is evicted first.
func (p *extents) divide(i, at int32) int32 {
	x := p.at[i]
	if at <= x.from || at >= x.to {
		panic("sim: divided an extent outside of it")
	}
	x.from, x.before = at, i
	j := p.add(x)
	if x.after != 0 {
		p.at[x.after].before = j
	} else {
		p.tail[x.node] = j
	}
	y := &p.at[i]
	y.to, y.right, y.after = at, j, j
	if y.refs == 0 {
		p.link(j, y.older)
	}
	return j
}

// free makes extent i, which no sequence has any more, the last to be evicted. If the extent that is last before it
// continues it, the two become one: the order of eviction stays the same.
func (p *extents) free(i int32) {
	x, j := &p.at[i], p.at[0].older
	y := &p.at[j]
	if j != 0 && x.after == j && y.from == x.to && !y.passed {
		x.to = y.to
		p.remove(j)
	}
	p.link(i, p.at[0].older)
}

// freeUnnamed makes n blocks, which no request can reuse, the last to be evicted, or the first.
func (p *extents) freeUnnamed(n int32, first bool) {
	if n == 0 {
		return
	}
	neighbour, older := p.at[0].older, p.at[0].older
	if first {
		neighbour, older = p.at[0].newer, 0
	}
	if y := &p.at[neighbour]; neighbour != 0 && y.node == 0 && y.right == 0 {
		y.to += n
		return
	}
	p.link(p.add(extent{to: n}), older)
}

// resident returns how many of the first limit blocks of the path to node are cached, if one of the node's own is; else
// 0. With a block, all those before it on the path are cached too: whichever sequence had the block last had those as
// well, and they were freed after it.
//
// Where a prompt ends with a block, each repetition computes that block once more and a node may have one extent per
// request; the ones computed first reach the limit.
func (p *extents) resident(node, limit int32) int32 {
	n := int32(0)
	if int(node) < len(p.head) {
		for i := p.head[node]; i != 0 && n < limit; i = p.at[i].after {
			n = max(n, p.at[i].to)
		}
	}
	return min(n, limit)
}

// pick returns the extent of node from which block to − 1 is reused, the earliest computed one that has it, and the
// first of the blocks up to there that are reused from it. Blocks before low do not count.
func (p *extents) pick(node, to, low int32) (i, from int32) {
	for i = p.head[node]; i != 0; i = p.at[i].after {
		x := &p.at[i]
		switch {
		case x.from < to && to <= x.to:
			return i, max(low, x.from)
		case x.to < to:
			low = max(low, x.to)
		}
	}
	panic("sim: a cached block has lost one before it")
}
