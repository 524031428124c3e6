package kv

import "slices"

// radix is what a cache still holds of sequences as SGLang keeps it: a radix tree of whole sequences, prompts and
// outputs, whose leaves are evicted (python/sglang/srt/mem_cache/unified_radix_cache.py, unified_cache/,
// release 0.5.23):
//
//   - A node is what one sequence added at once, and is evicted whole. Where another sequence leaves it, it is split.
//   - A prompt joins the tree when the step that computes it has ended, a chunk too, an output when it has ended.
//     Blocks that the tree has by then are freed.
//   - Whatever walks over a node, a request that is only tried included, puts it at the end of the order of eviction.
//   - A retracted request leaves what the tree has of it, and can reuse that.
//
// Of a sequence others can reuse what its content says; the remainder is its owner's, until the owner has ended.
type radix struct {
	tree        *Contents
	size, shift int32       // of a block: tokens, and their log2 or −1
	at          []radixNode // 0 is the root, and closes the order of eviction to a ring
	unused      []int32
	first       []int32  // by node of Contents: a list of the radix nodes whose first block ends in it
	tables      []branch // by slot
	locked      int64    // blocks of nodes that sequences have
	evictable   int64    // and of the others
	walks       int64    // so far
	births      int32    // of nodes, so far
	owners      int32    // so far
	evicted     int64    // blocks of content
	path        []int32  // scratch: nodes of Contents, from the root on
	visited     []int32  // scratch: the nodes of a walk
}

// radixNode is consecutive blocks of the sequence that added them first.
type radixNode struct {
	parent          int32
	from, to        int32 // blocks, counted along the sequence
	content, tokens int32 // of that sequence others read so many tokens, on the path to this node of Contents
	owner, slot     int32 // the sequence, and where it was
	refs            int32 // sequences that have the node
	starts          int32 // node of Contents in which its first block ends; 0: it is the owner's
	next            int32 // another node that starts there; 0: none
	birth           int32 // order among the children of a node
	older, newer    int32 // neighbours in the order of eviction
	walk            int64 // the latest
}

func (x *radixNode) len() int32 { return x.to - x.from }

// branch is what the tree has of the sequence in a slot.
type branch struct {
	node   int32 // at which it ends; 0: nothing
	shared int32 // blocks up to there
	owner  int32 // what the sequence is called as an owner; 0: it has added nothing
	own    int32 // the first node that begins with a block of its own
}

func newRadix(k *Cache, c Config) *radix {
	return &radix{size: k.size, shift: int32(k.shift), tree: c.Contents, at: make([]radixNode, 1)}
}

// table returns the branch of the sequence in slot.
func (p *radix) table(slot int32) *branch {
	for int(slot) >= len(p.tables) {
		p.tables = append(p.tables, branch{})
	}
	return &p.tables[slot]
}

// full returns how many blocks n tokens fill.
func (p *radix) full(n int32) int32 {
	if p.shift >= 0 {
		return n >> (uint(p.shift) & 31)
	}
	return n / p.size
}

// query is a sequence as the tree goes by it.
type query struct {
	content, tokens int32 // what others can read of it
	owner, own      int32
}

// query returns that of q, which is in slot or, with a slot below 0, on no instance yet.
func (p *radix) query(slot int32, q Prompt) query {
	x := query{content: q.Content, tokens: min(q.Tokens, p.tree.Tokens(q.Content))}
	if q.Output != 0 {
		x.content, x.tokens = q.Output, p.tree.Tokens(q.Output)
	}
	if slot >= 0 {
		t := p.table(slot)
		x.owner, x.own = t.owner, t.own
	}
	return x
}

// common returns how many tokens of content the paths to a and b have in common.
func (p *radix) common(a, b int32) int32 {
	for a != b { // the parent of a node has a lower number
		if a > b {
			a = p.tree.Parent(a)
		} else {
			b = p.tree.Parent(b)
		}
	}
	return p.tree.Tokens(a)
}

// matched returns the end of what node i and the sequence of q have in common, at most limit.
func (p *radix) matched(i int32, q *query, limit int32) int32 {
	x := &p.at[i]
	limit = min(limit, x.to)
	if x.owner == q.owner {
		return limit
	}
	tokens := min(x.tokens, q.tokens)
	if x.content != q.content {
		tokens = min(tokens, p.common(x.content, q.content))
	}
	return min(limit, p.full(tokens))
}

// contents lists the nodes of Contents on the path to node.
func (p *radix) contents(node int32) {
	p.path = p.path[:0]
	for ; node != 0; node = p.tree.Parent(node) {
		p.path = append(p.path, node)
	}
	slices.Reverse(p.path)
}

// endsIn returns the node of Contents in which a block of a sequence ends, of which others read so many tokens, and
// how many nodes of p.path precede it; 0 if the block is its owner's.
func (p *radix) endsIn(block, tokens int32, from int) (node int32, at int) {
	end := (block + 1) * p.size
	if end > tokens {
		return 0, from
	}
	for p.tree.Tokens(p.path[from]) < end {
		from++
	}
	return p.path[from], from
}

// find returns the node that begins with the given block of a sequence, which ends in a node of Contents, or 0.
func (p *radix) find(q *query, node, block int32) int32 {
	i := q.own
	if node != 0 {
		if int(node) >= len(p.first) {
			return 0
		}
		i = p.first[node]
	}
	for i != 0 && p.at[i].from != block {
		i = p.at[i].next
	}
	return i
}

// follow walks from the root along a sequence, over at most limit blocks, and returns the last node and the blocks that
// the tree has. With touch the node that the sequence leaves is split, and p.visited has the nodes.
func (p *radix) follow(q *query, limit int32, touch bool) (last, n int32) {
	p.contents(q.content)
	p.visited = p.visited[:0]
	for at := 0; n < limit; {
		node := int32(0)
		node, at = p.endsIn(n, q.tokens, at)
		i := p.find(q, node, n)
		if i == 0 {
			break
		}
		end := p.matched(i, q, limit)
		if touch && end < p.at[i].to {
			p.visited = append(p.visited, p.split(i, end, q))
			p.visited = append(p.visited, i)
			return p.at[i].parent, end
		}
		p.visited = append(p.visited, i)
		last, n = i, end
		if end < p.at[i].to {
			break
		}
	}
	return last, n
}

// touch puts the visited nodes at the end of the order of eviction, the deeper ones first.
func (p *radix) touch() {
	p.walks++
	for _, i := range slices.Backward(p.visited) {
		x := &p.at[i]
		x.walk = p.walks
		if x.refs == 0 {
			p.unlink(i)
			p.link(i, p.at[0].older)
		}
	}
}

// match is Cache.Match for a request that is tried.
func (p *radix) match(slot int32, q Prompt, limit int32) Match {
	x := p.query(slot, q)
	if x.owner == 0 {
		limit = min(limit, p.full(x.tokens))
	}
	last, n := p.follow(&x, limit, true)
	p.touch()
	return Match{Cached: n, Free: p.unlocked(last), node: last}
}

// peek is match for what only observes: it changes nothing.
func (p *radix) peek(slot int32, q Prompt, limit int32) Match {
	x := p.query(slot, q)
	if x.owner == 0 {
		limit = min(limit, p.full(x.tokens))
	}
	last, n := p.follow(&x, limit, false)
	return Match{Cached: n, node: last}
}

// unlocked returns how many blocks up to the end of node i no sequence has.
func (p *radix) unlocked(i int32) (n int32) {
	for ; i != 0 && p.at[i].refs == 0; i = p.at[i].parent {
		n += p.at[i].len()
	}
	return n
}

// walk appends to path what stands for the nodes up to node i, from the root on, in the order in which siblings
// came.
func (p *radix) walk(i int32, path []int32) []int32 {
	from := len(path)
	for ; i != 0; i = p.at[i].parent {
		path = append(path, p.at[i].birth)
	}
	slices.Reverse(path[from:])
	return path
}

// reuse gives the sequence in slot what match returned.
func (p *radix) reuse(slot int32, m Match) {
	t := p.table(slot)
	t.node, t.shared = m.node, m.Cached
	p.lock(m.node)
}

// insert adds the first n blocks of the sequence in slot, and returns the node at which they end.
func (p *radix) insert(slot int32, q Prompt, n int32) int32 {
	t := p.table(slot)
	if t.owner == 0 {
		p.owners++
		t.owner = p.owners
	}
	x := p.query(slot, q)
	last, have := p.follow(&x, n, true)
	if have < n {
		if k := len(p.visited) - 1; k >= 0 && p.visited[k] != last { // what is split off has been walked before what is added
			path := p.visited[:k]
			p.visited = p.visited[k:]
			p.touch()
			p.visited = path
		}
		last = p.add(radixNode{parent: last, from: have, to: n, content: x.content, tokens: x.tokens, owner: t.owner,
			slot: slot})
		p.visited = append(p.visited, last)
	}
	p.touch()
	return last
}

// publish adds the full blocks among the first computed tokens of the sequence in slot, and returns how many blocks
// are free then that were not.
func (p *radix) publish(slot int32, q Prompt, computed int32) (freed int64) {
	n := p.full(computed)
	if n == 0 {
		return 0
	}
	before := p.locked
	last := p.insert(slot, q, n)
	t := p.table(slot)
	p.lock(last)
	p.unlock(t.node)
	freed = int64(n-t.shared) - (p.locked - before)
	t.node, t.shared = last, n
	return freed
}

// release is Cache.ReleaseSequence.
func (p *radix) release(slot int32, q Prompt, blocks int64, computed int32, retain bool) (freed int64) {
	before := p.locked
	if n := p.full(computed); !retain && n > 0 {
		p.insert(slot, q, n)
		if prompt := p.full(q.Tokens); prompt > 0 && prompt < n { // the output can go without the prompt
			x := p.query(slot, q)
			p.follow(&x, prompt, true)
			p.touch()
		}
	}
	t := p.table(slot)
	freed = blocks - int64(t.shared)
	p.unlock(t.node)
	t.node, t.shared = 0, 0
	if !retain {
		*t = branch{}
	}
	return freed + before - p.locked
}

// forget has no request find what the sequence in slot, which has ended, owns. If it still has blocks, release does.
func (p *radix) forget(slot int32) {
	if t := p.table(slot); t.node == 0 {
		*t = branch{}
	}
}

// evict evicts the oldest leaves until at most n blocks of the tree are left that no sequence has.
func (p *radix) evict(n int64) {
	for p.evictable > max(0, n) {
		i := p.at[0].newer
		x := &p.at[i]
		if i == 0 || x.refs != 0 {
			panic("sim: evicted more KV blocks than are free")
		}
		p.evictable -= int64(x.len())
		p.evicted += int64(max(0, min(x.to, p.full(x.tokens))-x.from))
		p.unlink(i)
		p.unlist(i)
		p.unused = append(p.unused, i)
	}
}
