package sim

import "slices"

// prefixes is what an instance's cache still knows of the prompts it has computed: a radix tree over Contents, of extents
// instead of blocks. It does what vLLM's block pool does block by block (vllm/v1/core/block_pool.py,
// kv_cache_manager.py), to the block:
//
//   - Only full blocks are found again, and never the last token, for something must be computed. A block belongs to the
//     node in which it ends.
//   - A block counts as computed as soon as the step that computes it is composed: the next request of the same step
//     finds it.
//   - Free blocks keep what they hold and make room in the order in which they were freed. A request frees the end of
//     its prompt first, so the beginning stays longest; requests that end with one step free in order of admission.
//   - Blocks that two requests compute at the same time stay two; the one computed first is found.
//   - A preempted request finds its own blocks again, those of its tail and its output too.
//
// Tails and outputs of requests that have ended are found by nobody. They take their place in the order of eviction as
// mere numbers, so that a load without sharing costs next to nothing. Blocks that a sequence holds whatever its length
// are never shared; where they are short windows, vLLM also needs those of the prompt's last tokens to be there still,
// which is taken for granted here.
type prefixes struct {
	extents
	in     *Instance
	tree   *Contents
	pieces []piece    // what requests hold, as lists from the end of the prompt to its beginning; 0 ends a list
	spares []int32    // free ones
	nodes  []int32    // scratch
	host   *hostCache // beyond the GPUs' memory; nil: none
}

// piece is a stretch of blocks of one request, from the beginning of an extent on. The extent may have been split since.
type piece struct{ extent, to, next int32 }

func newPrefixes(in *Instance, tree *Contents) *prefixes {
	p := &prefixes{in: in, tree: tree, pieces: make([]piece, 1)}
	p.at = make([]extent, 1)
	p.waste(int32(in.kv.total))
	if in.pool.OffloadBlocks > 0 {
		p.host = newHostCache(in.pool.OffloadBlocks)
	}
	return p
}

// floor returns how many blocks n tokens fill.
func (p *prefixes) floor(n int32) int32 { return p.in.kv.full(n) }

// path returns the node that r's tokens lead to, and how many of the tokens on the way others may have too. What it
// answers is among them if somebody will continue it.
func (p *prefixes) path(r *Request) (node, tokens int32) {
	if r.OutputContent != 0 {
		return r.OutputContent, p.tree.Tokens(r.OutputContent)
	}
	if r.Content == 0 {
		return 0, 0
	}
	return r.Content, min(r.Prompt, p.tree.Tokens(r.Content))
}

// start returns how many blocks of the path to node are not its own.
func (p *prefixes) start(node int32) int32 { return p.floor(p.tree.Tokens(p.tree.Parent(node))) }

// find returns how many blocks r, which waits, finds in the cache, how many of those are free, and how many more there
// are in host memory.
func (p *prefixes) find(r *Request) (found, idle, beyond int32) {
	if r.own != 0 {
		x := &p.at[r.own]
		return x.to, x.len() + p.idle(r, x.from), 0
	}
	node, tokens := p.path(r)
	limit := min(p.floor(tokens), p.floor(r.Prompt+r.Emitted-1))
	if p.host != nil {
		beyond = p.host.find(p, node, limit)
	}
	for ; node != 0; node = p.tree.Parent(node) {
		if start := p.start(node); start < limit {
			if n := p.resident(node, limit); n > start {
				return n, p.idle(r, n), max(0, beyond-n)
			}
		}
	}
	return 0, 0, beyond
}

// walk appends to path the nodes, from the root on, in which the first n blocks of r end.
func (p *prefixes) walk(r *Request, n int32, path []int32) []int32 {
	from := len(path)
	node, tokens := p.path(r)
	n = min(n, p.floor(tokens)) // a preempted request finds more
	for ; node != 0; node = p.tree.Parent(node) {
		if p.start(node) < min(n, p.floor(p.tree.Tokens(node))) {
			path = append(path, node)
		}
	}
	slices.Reverse(path[from:])
	return path
}

// idle returns how many of the first n blocks of r's path are free.
func (p *prefixes) idle(r *Request, n int32) (idle int32) {
	node, _ := p.path(r)
	for ; n > 0; node = p.tree.Parent(node) {
		for start := p.start(node); n > start; {
			i, from := p.pick(node, n, start)
			if p.at[i].refs == 0 {
				idle += n - from
			}
			n = from
		}
	}
	return idle
}

// hold gives r the blocks that find found.
func (p *prefixes) hold(r *Request, found int32) {
	if r.own != 0 {
		found = p.at[r.own].from
		p.remove(r.own)
		r.own = 0
	}
	r.shared = found
	last := int32(0)
	node, _ := p.path(r)
	for ; found > 0; node = p.tree.Parent(node) {
		for start := p.start(node); found > start; {
			i, from := p.pick(node, found, start)
			i = p.take(i, from, found)
			next := p.piece(i, found)
			if last == 0 {
				r.pieces = next
			} else {
				p.pieces[last].next = next
			}
			last, found = next, from
		}
	}
}

// take adds a holder to blocks [from, to) of extent i and returns the extent that begins there.
func (p *prefixes) take(i, from, to int32) int32 {
	if from > p.at[i].from {
		i = p.split(i, from)
	}
	if to < p.at[i].to {
		p.split(i, to)
	}
	x := &p.at[i]
	if x.refs == 0 {
		p.unlink(i)
	}
	x.refs++
	return i
}

func (p *prefixes) piece(extent, to int32) int32 {
	if n := len(p.spares); n > 0 {
		i := p.spares[n-1]
		p.spares = p.spares[:n-1]
		p.pieces[i] = piece{extent, to, 0}
		return i
	}
	p.pieces = append(p.pieces, piece{extent, to, 0})
	return int32(len(p.pieces) - 1)
}

// publish lets others find the blocks that r has computed up to a number of tokens.
func (p *prefixes) publish(r *Request, computed int32) {
	node, tokens := p.path(r)
	if node == 0 {
		return
	}
	to := min(p.floor(tokens), p.floor(computed))
	if to <= r.shared {
		return
	}
	p.nodes = p.nodes[:0]
	for ; p.floor(p.tree.Tokens(node)) > r.shared; node = p.tree.Parent(node) {
		p.nodes = append(p.nodes, node)
	}
	for i := len(p.nodes) - 1; i >= 0 && r.shared < to; i-- {
		if end := min(to, p.floor(p.tree.Tokens(p.nodes[i]))); end > r.shared {
			p.extend(r, p.nodes[i], end)
		}
	}
}

// extend adds blocks up to end, computed by r, to a node: to the extent that r added to last, if it is r's alone and
// nobody has added one since.
func (p *prefixes) extend(r *Request, node, end int32) {
	if last := p.pieces[r.pieces]; r.pieces != 0 {
		x := &p.at[last.extent]
		if x.node == node && x.to == last.to && x.refs == 1 && x.after == 0 {
			x.to, p.pieces[r.pieces].to, r.shared = end, end, end
			return
		}
	}
	i := p.add(extent{node: node, from: r.shared, to: end, refs: 1})
	p.list(i)
	next := r.pieces
	r.pieces = p.piece(i, end)
	p.pieces[r.pieces].next, r.shared = next, end
}

// release frees the blocks that r, in slot, holds. One that is preempted will ask again for those of its first tokens.
func (p *prefixes) release(r *Request, slot int32, held int64, tokens int32, preempted bool) {
	if p.host != nil && r.shared > 0 {
		node, _ := p.path(r)
		p.host.store(p, node, r.shared)
	}
	private := int32(held) - r.shared
	freed, full := int64(private), p.floor(tokens)
	if preempted && full > r.shared {
		p.waste(private - (full - r.shared))
		r.own = p.add(extent{node: -1 - slot, from: r.shared, to: full})
		p.link(r.own, p.at[0].older)
	} else {
		p.waste(private)
	}
	for i := r.pieces; i != 0; i = p.pieces[i].next {
		freed += p.drop(p.pieces[i])
		p.spares = append(p.spares, i)
	}
	r.pieces, r.shared = 0, 0
	p.in.kv.release(freed)
	p.in.repeats -= held - freed
}

// drop takes a holder off a piece, its end first, and returns how many blocks nobody holds any more.
func (p *prefixes) drop(q piece) (freed int64) {
	p.nodes = append(p.nodes[:0], q.extent)
	for i := q.extent; p.at[i].to < q.to; {
		i = p.at[i].right
		p.nodes = append(p.nodes, i)
	}
	for _, i := range slices.Backward(p.nodes) {
		x := &p.at[i]
		if x.refs--; x.refs == 0 {
			freed += int64(x.len())
			p.free(i)
		}
	}
	return freed
}

// disown leaves what a preempted request still had to the order of eviction: it will not come back.
func (p *prefixes) disown(r *Request) {
	x := &p.at[r.own]
	x.node, x.from, x.to = 0, 0, x.len() // from 0 on it can grow to the whole cache, which an int32 holds
	r.own = 0
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
		if x.node > 0 {
			p.evicted += int64(d)
		}
		if x.to == x.from {
			if x.node < 0 {
				p.in.slab[-1-x.node].own = 0
			}
			p.remove(i)
		}
	}
}
