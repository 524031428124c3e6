package kv

// add returns the number of a new node, which no sequence has and which is the last to be evicted.
func (p *radix) add(x radixNode) int32 {
	p.births++
	x.birth = p.births
	i := int32(len(p.at))
	if n := len(p.unused); n > 0 {
		i = p.unused[n-1]
		p.unused = p.unused[:n-1]
		p.at[i] = x
	} else {
		p.at = append(p.at, x)
	}
	p.contents(x.content)
	p.at[i].starts, _ = p.endsIn(x.from, x.tokens, 0)
	p.list(i)
	p.link(i, p.at[0].older)
	p.evictable += int64(x.len())
	return i
}

// split divides node i before a block, and returns the number of the part in front. The part behind keeps the number.
func (p *radix) split(i, at int32, q *query) int32 {
	p.unlist(i)
	front := p.at[i]
	front.to = at
	j := int32(len(p.at))
	if n := len(p.unused); n > 0 {
		j = p.unused[n-1]
		p.unused = p.unused[:n-1]
		p.at[j] = front
	} else {
		p.at = append(p.at, front)
	}
	x := &p.at[i]
	p.births++
	x.parent, x.from, x.birth = j, at, p.births
	if x.content != q.content {
		p.contents(x.content)
	}
	x.starts, _ = p.endsIn(at, x.tokens, 0)
	p.list(j)
	p.list(i)
	if x.refs == 0 {
		p.link(j, i)
	}
	return j
}

// list lets requests find node i.
func (p *radix) list(i int32) {
	x := &p.at[i]
	if x.starts != 0 {
		for int(x.starts) >= len(p.first) {
			p.first = append(p.first, 0)
		}
		x.next, p.first[x.starts] = p.first[x.starts], i
		return
	}
	if t := &p.tables[x.slot]; t.owner == x.owner {
		x.next, t.own = t.own, i
	}
}

// unlist lets no request find node i.
func (p *radix) unlist(i int32) {
	x := &p.at[i]
	head := &p.tables[x.slot].own
	if x.starts != 0 {
		head = &p.first[x.starts]
	} else if p.tables[x.slot].owner != x.owner {
		return
	}
	for *head != i {
		head = &p.at[*head].next
	}
	*head = x.next
}

// lock counts one more sequence on node i and those before it.
func (p *radix) lock(i int32) {
	for ; i != 0; i = p.at[i].parent {
		x := &p.at[i]
		if x.refs == 0 {
			p.unlink(i)
			p.evictable -= int64(x.len())
			p.locked += int64(x.len())
		}
		x.refs++
	}
}

// unlock counts one sequence less. A node that none has takes its place in the order of eviction by its latest walk.
func (p *radix) unlock(i int32) {
	for ; i != 0; i = p.at[i].parent {
		x := &p.at[i]
		x.refs--
		if x.refs > 0 {
			continue
		}
		p.evictable += int64(x.len())
		p.locked -= int64(x.len())
		older := p.at[0].older
		for older != 0 && p.at[older].walk > x.walk {
			older = p.at[older].older
		}
		p.link(i, older)
	}
}

// link puts node i into the order of eviction, right after older.
func (p *radix) link(i, older int32) {
	x := &p.at[i]
	x.older, x.newer = older, p.at[older].newer
	p.at[x.newer].older, p.at[older].newer = i, i
}

// unlink takes node i out of the order of eviction.
func (p *radix) unlink(i int32) {
	x := &p.at[i]
	p.at[x.older].newer, p.at[x.newer].older = x.newer, x.older
}
