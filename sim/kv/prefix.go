package kv

import "slices"

// prefixes is what a cache still holds of the prompts that were computed: a radix tree over Contents, of extents
// instead of blocks. It does what vLLM's block pool does block by block (vllm/v1/core/block_pool.py,
// kv_cache_manager.py), to the block:
//
//   - Only full blocks can be reused, and never the one with a prompt's last token, because something must be computed.
//     A block belongs to the node in which it ends.
//   - A block counts as computed as soon as the step that computes it is composed: the next request of the same step
//     can reuse it.
//   - Free blocks keep their content and are evicted in the order in which they were freed. A request frees the end of
//     its prompt first, so the beginning stays longest; requests that end with one step free in order of admission.
//   - Blocks that two requests compute at the same time stay two; the one computed first is reused.
//   - A preempted request can reuse its own blocks, those of its tail and its output too.
//
// No request can reuse the tails and outputs of requests that have ended. They take their place in the order of
// eviction as mere numbers, so that a load without sharing costs next to nothing. Blocks that a sequence needs whatever
// its length are never shared. Where those are short windows, vLLM also needs the blocks of the window before the
// prompt's last token to be cached still; that is taken for granted here. Groups of layers with windows that free what
// those have passed are exact, see shared.go.
type prefixes struct {
	extents
	size, shift int32 // of a block: tokens, and their log2 or −1
	tree        *Contents
	tables      []table     // by slot and, within it, by group
	references  []reference // of all tables, as lists from the end of a prompt to its beginning; 0 ends a list
	unused      []int32     // references
	nodes       []int32     // scratch
	groups      int32       // of layers whose blocks are shared; the first is that of full attention
	window      int32       // of the others, in tokens
	latest      int         // the most extents that windows passed of a sequence and that it may find again
	passings    int32       // so far, see PassTogether
	fixed       int64       // blocks that a sequence has whatever its length
	first       bool        // blocks that no request can ask for are evicted before all others
	drafter     Drafter
	offload     *Store   // beyond the GPUs' memory; nil: none
	below       []*Store // and below that
	loaded      int64    // blocks copied back from it
}

// table is what the sequence in a slot has of the tree in one group: its block table.
type table struct {
	shared int32 // of its blocks, those whose content others may reuse: the first ones
	from   int32 // the first of them that the window has not passed
	list   int32 // its references
	// extent that only this request may reuse when it is preempted; 0: none. In a group of windows it is the first of a
	// list, and the window had passed some of them before
	retained int32
}

// reference is the use of consecutive blocks by one sequence, from the beginning of an extent on. The extent may have
// been divided since.
type reference struct{ extent, to, next int32 }

func newPrefixes(k *Cache, c Config) *prefixes {
	p := &prefixes{size: k.size, shift: int32(k.shift), tree: c.Contents, references: make([]reference, 1),
		first: c.UnnamedFirst, drafter: c.Drafter, groups: 1, fixed: int64(k.fixed)}
	if w := c.Passing; w.Blocks > 0 && c.OffloadBlocks == 0 && w.Window > c.Unknown {
		p.groups, p.window = 1+w.Blocks, w.Window
		p.latest = int(2 + k.paged(c.Unknown+1))
	}
	p.at = make([]extent, 1)
	p.freeUnnamed(int32(c.Blocks), false)
	if c.OffloadBlocks > 0 {
		p.newStores(&c)
	}
	return p
}

// table returns the table of the sequence in slot, of full attention.
func (p *prefixes) table(slot int32) *table { return p.tableOf(slot, 0) }

// tableOf returns the table of the sequence in slot in a group.
func (p *prefixes) tableOf(slot, group int32) *table {
	i := int(slot*p.groups + group)
	for i >= len(p.tables) {
		p.tables = append(p.tables, table{})
	}
	return &p.tables[i]
}

// listOf returns which list has the extents of a node in a group.
func (p *prefixes) listOf(node, group int32) int32 { return node*p.groups + group }

// full returns how many blocks n tokens fill.
func (p *prefixes) full(n int32) int32 {
	if p.shift >= 0 {
		return n >> (uint(p.shift) & 31)
	}
	return n / p.size
}

// named returns how many blocks of n tokens a prompt with the same n tokens can find.
func (p *prefixes) named(n int32) int32 { return p.full(max(0, n-p.drafter.Ahead)) }

// path returns the node to which the tokens of a sequence lead, and how many of the tokens on the way others may read
// too. Its output is among them if a request is going to continue it.
func (p *prefixes) path(q Prompt) (node, tokens int32) {
	if q.Output != 0 {
		return q.Output, p.tree.Tokens(q.Output)
	}
	if q.Content == 0 {
		return 0, 0
	}
	return q.Content, min(q.Tokens, p.tree.Tokens(q.Content))
}

// start returns how many blocks of the path to node end before it.
func (p *prefixes) start(node int32) int32 { return p.end(p.tree.Parent(node)) }

// end returns how many blocks of the path to node end in it or before.
func (p *prefixes) end(node int32) int32 { return p.named(p.tree.Tokens(node)) }

// match implements Cache.Match.
func (p *prefixes) match(slot int32, q Prompt, computes int32) Match {
	m := p.longest(slot, q, computes)
	if p.drafter.DropsLast && m.Cached > 0 {
		m.Free = p.countFreeFirst(slot, q, m.Cached-1)
		m.Cached--
	}
	if p.groups > 1 && m.Cached > 0 {
		if n := p.before(slot, q, m.Cached); n < m.Cached {
			m.Cached, m.Free = n, p.countFreeFirst(slot, q, n)
		}
		p.matchWindows(slot, q, &m)
	}
	return m
}

// countFreeFirst returns how many of the first n blocks that were found for the request in slot no sequence has.
func (p *prefixes) countFreeFirst(slot int32, q Prompt, n int32) (free int32) {
	if slot >= 0 {
		if i := p.table(slot).retained; i != 0 {
			free = max(0, n-p.at[i].from)
			n -= free
		}
	}
	return free + p.countFree(q, n)
}

// longest returns the longest match.
func (p *prefixes) longest(slot int32, q Prompt, computes int32) Match {
	if slot >= 0 {
		if i := p.table(slot).retained; i != 0 {
			x := &p.at[i]
			to := min(x.to, p.full(computes-1)) // of the last token, too, the block may have been named
			return Match{Cached: to, Free: to - x.from + p.countFree(q, x.from)}
		}
	}
	node, tokens := p.path(q)
	limit, offloaded := min(p.named(tokens), p.full(computes-1)), int32(0)
	if p.offload != nil {
		offloaded = p.offload.match(p, node, limit)
	}
	for ; node != 0; node = p.tree.Parent(node) {
		if start := p.start(node); start < limit {
			if n := p.resident(p.listOf(node, 0), limit); n > start {
				return Match{Cached: n, Free: p.countFree(q, n), Offloaded: max(0, offloaded-n)}
			}
		}
	}
	return Match{Offloaded: offloaded}
}

// walk implements Cache.Nodes.
func (p *prefixes) walk(q Prompt, n int32, path []int32) []int32 {
	from := len(path)
	node, tokens := p.path(q)
	n = min(n, p.named(tokens)) // a preempted request can reuse more
	for ; node != 0; node = p.tree.Parent(node) {
		if p.start(node) < min(n, p.end(node)) {
			path = append(path, node)
		}
	}
	slices.Reverse(path[from:])
	return path
}

// countFree returns how many of the first n blocks of a path no sequence has.
func (p *prefixes) countFree(q Prompt, n int32) (free int32) {
	node, _ := p.path(q)
	for ; n > 0; node = p.tree.Parent(node) {
		for start := p.start(node); n > start; {
			i, from := p.pick(p.listOf(node, 0), n, start)
			if p.at[i].refs == 0 {
				free += n - from
			}
			n = from
		}
	}
	return free
}

// reuse gives the sequence in slot the first n blocks, which match returned, less those that its windows have passed.
func (p *prefixes) reuse(slot int32, q Prompt, n int32) {
	for g := range p.groups {
		p.reuseOf(slot, g, q, n)
	}
}

// reuseOf is reuse of one group.
func (p *prefixes) reuseOf(slot, group int32, q Prompt, n int32) {
	t, from := p.tableOf(slot, group), int32(0)
	if group > 0 {
		from = p.passed(n * p.size)
	}
	content := min(n, p.table(slot).shared)
	if group == 0 {
		content = n
		if t.retained != 0 {
			content = min(n, p.at[t.retained].from)
		}
	}
	if t.retained != 0 {
		p.regain(t, from, n)
	}
	t.shared, t.from = content, min(from, content)
	last := int32(0)
	node, _ := p.path(q)
	for n = content; n > from; node = p.tree.Parent(node) {
		for start := max(from, p.start(node)); n > start; {
			i, low := p.pick(p.listOf(node, group), n, start)
			i = p.addReference(i, low, n)
			next := p.reference(i, n)
			if last == 0 {
				t.list = next
			} else {
				p.references[last].next = next
			}
			last, n = next, low
		}
	}
}

// addReference counts one more sequence on blocks [from, to) of extent i and returns the extent that begins there.
func (p *prefixes) addReference(i, from, to int32) int32 {
	if from > p.at[i].from {
		i = p.divide(i, from)
	}
	if to < p.at[i].to {
		p.divide(i, to)
	}
	x := &p.at[i]
	if x.refs == 0 {
		p.unlink(i)
	}
	x.refs++
	x.passed = false
	return i
}

// reference returns the number of a new reference.
func (p *prefixes) reference(extent, to int32) int32 {
	if n := len(p.unused); n > 0 {
		i := p.unused[n-1]
		p.unused = p.unused[:n-1]
		p.references[i] = reference{extent, to, 0}
		return i
	}
	p.references = append(p.references, reference{extent, to, 0})
	return int32(len(p.references) - 1)
}

// publish implements Cache.Publish.
func (p *prefixes) publish(slot int32, q Prompt, computed int32) {
	if q.Output != 0 {
		p.namePassed(slot, q)
	}
	node, tokens := p.path(q)
	to := min(p.named(tokens), p.full(computed))
	shared := p.table(slot).shared
	if to <= shared {
		return
	}
	p.nodes = p.nodes[:0]
	for ; p.end(node) > shared; node = p.tree.Parent(node) {
		p.nodes = append(p.nodes, node)
	}
	for g := range p.groups {
		t := p.tableOf(slot, g)
		if g > 0 {
			t.shared = min(to, max(t.shared, q.Passed))
			t.from = min(max(t.from, q.Passed), t.shared)
		}
		for i := len(p.nodes) - 1; i >= 0 && t.shared < to; i-- {
			if end := min(to, p.end(p.nodes[i])); end > t.shared {
				p.extend(t, p.listOf(p.nodes[i], g), end)
			}
		}
	}
}

// extend adds blocks up to end, computed by the owner of t, to a node: to the extent that the owner added to last, if
// no other sequence has it and no extent has been added since.
func (p *prefixes) extend(t *table, node, end int32) {
	if last := p.references[t.list]; t.list != 0 {
		x := &p.at[last.extent]
		if x.node == node && x.to == last.to && x.refs == 1 && x.after == 0 {
			x.to, p.references[t.list].to, t.shared = end, end, end
			return
		}
	}
	i := p.add(extent{node: node, from: t.shared, to: end, refs: 1})
	p.list(i)
	next := t.list
	t.list = p.reference(i, end)
	p.references[t.list].next, t.shared = next, end
}

// evict takes the n free blocks that are the next to be evicted: the oldest extent from its end.
func (p *prefixes) evict(n int64) {
	for n > 0 {
		i := p.at[0].newer
		x := &p.at[i]
		if i == 0 {
			panic("sim: evicted more KV blocks than are free")
		}
		d := int32(min(int64(x.len()), n))
		x.to -= d
		n -= int64(d)
		if x.node > 0 && !x.passed {
			p.evicted += int64(d)
		}
		if x.to == x.from {
			if x.node < 0 {
				at := &p.tables[-1-x.node].retained
				for *at != i {
					at = &p.at[*at].after
				}
				*at = x.after
			}
			p.remove(i)
		}
	}
}
