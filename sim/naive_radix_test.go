package sim_test

import (
	"cmp"
	"slices"
)

// naiveTree is a radix tree of sequences, each written out block by block.
type naiveTree struct {
	root    *naiveNode
	clock   int   // of accesses
	private int64 // blocks of sequences that are not in the tree
	taken   int64 // of them, what the step being composed has taken
	evicted int   // blocks of content
}

type naiveNode struct {
	keys     []blockKey
	parent   *naiveNode
	children []*naiveNode // in the order in which they came
	locks    int
	used     int
}

// blockKey is what a block holds: the node of content in which it ends, or its owner, in which of its lives, and the
// place in the sequence.
type blockKey struct{ content, owner, life, index int32 }

// leaf is what the tree has of a request.
type leaf struct {
	end    *naiveNode // nil: nothing
	blocks int64
}

// keys returns what the first blocks of r hold.
func (n *naive) keys(r *naiveRequest, blocks int32) (keys []blockKey) {
	node, tokens := r.Content, min(r.Prompt, n.contents.Tokens(r.Content))
	if r.OutputContent != 0 {
		node, tokens = r.OutputContent, n.contents.Tokens(r.OutputContent)
	}
	for i := range blocks {
		end, at := (i+1)*n.blockSize, node
		if end > tokens {
			keys = append(keys, blockKey{owner: r.ID + 1, life: r.life, index: i})
			continue
		}
		for end <= n.contents.Tokens(n.contents.Parent(at)) {
			at = n.contents.Parent(at)
		}
		keys = append(keys, blockKey{content: at, index: i})
	}
	return keys
}

func (t *naiveTree) access(x *naiveNode) {
	t.clock++
	x.used = t.clock
}

// walk follows keys from the root as far as the tree has them, and splits the node in which they leave it.
func (t *naiveTree) walk(keys []blockKey) (end *naiveNode, n int) {
	end = t.root
	for n < len(keys) {
		i := slices.IndexFunc(end.children, func(c *naiveNode) bool { return c.keys[0] == keys[n] })
		if i < 0 {
			break
		}
		child := end.children[i]
		t.access(child)
		same := 0
		for same < len(child.keys) && n+same < len(keys) && child.keys[same] == keys[n+same] {
			same++
		}
		n += same
		if same < len(child.keys) {
			front := &naiveNode{keys: child.keys[:same], parent: end, children: []*naiveNode{child}, locks: child.locks}
			t.access(front)
			child.keys, child.parent, end.children[i] = child.keys[same:], front, front
			return front, n
		}
		end = child
	}
	return end, n
}

// insert adds a sequence and returns its end.
func (t *naiveTree) insert(keys []blockKey) *naiveNode {
	end, n := t.walk(keys)
	if n < len(keys) {
		x := &naiveNode{keys: keys[n:], parent: end}
		t.access(x)
		end.children = append(end.children, x)
		end = x
	}
	return end
}

func (t *naiveTree) lock(x *naiveNode, by int) {
	for ; x != nil && x != t.root; x = x.parent {
		x.locks += by
	}
}

// sum returns the blocks of nodes that are locked, or of the others.
func (t *naiveTree) sum(x *naiveNode, locked bool) (blocks int64) {
	if x != t.root && (x.locks > 0) == locked {
		blocks = int64(len(x.keys))
	}
	for _, c := range x.children {
		blocks += t.sum(c, locked)
	}
	return blocks
}

// oldest returns the leaf without a lock that was accessed before all others.
func (t *naiveTree) oldest(x *naiveNode) (best *naiveNode) {
	if len(x.children) == 0 && x != t.root && x.locks == 0 {
		return x
	}
	for _, c := range x.children {
		if o := t.oldest(c); o != nil && (best == nil || o.used < best.used) {
			best = o
		}
	}
	return best
}

// evictTo evicts leaves until at most so many blocks of the tree are left without a lock.
func (t *naiveTree) evictTo(blocks int64) {
	for t.sum(t.root, false) > max(0, blocks) {
		x := t.oldest(t.root)
		for _, k := range x.keys {
			if k.content != 0 {
				t.evicted++
			}
		}
		i := slices.Index(x.parent.children, x)
		x.parent.children = slices.Delete(x.parent.children, i, i+1)
	}
}

// evictFor evicts what it can until so many blocks hold nothing, those that the step has taken included.
func (n *naive) evictFor(in *naiveInstance, blocks int64) {
	if in.tree != nil {
		in.tree.evictTo(in.free + in.tree.taken - blocks)
	}
}

// count makes in.free what is left.
func (n *naive) count(in *naiveInstance) {
	in.free = n.blocks - in.tree.private - in.tree.sum(in.tree.root, true)
}

// lookupTree is lookup for a tree.
func (n *naive) lookupTree(in *naiveInstance, r *naiveRequest, tokens int32) found {
	if r.Content == 0 && r.OutputContent == 0 && !r.added {
		return found{}
	}
	end, blocks := in.tree.walk(n.keys(r, tokens/n.blockSize))
	f := found{tokens: int32(blocks) * n.blockSize, node: end, more: int64(blocks)}
	for x := end; x != in.tree.root && x.locks == 0; x = x.parent {
		f.unlocked += int64(len(x.keys))
	}
	f.more -= f.unlocked
	return f
}

// adopt gives r what lookupTree found.
func (n *naive) adopt(in *naiveInstance, r *naiveRequest, f found) {
	in.tree.lock(f.node, 1)
	r.leaf = leaf{f.node, int64(f.tokens / n.blockSize)}
	r.blocks = r.leaf.blocks
	n.count(in)
}

// publish adds the computed tokens of a running request to the tree.
func (n *naive) publish(in *naiveInstance, r *naiveRequest) {
	if blocks := r.Computed / n.blockSize; blocks > 0 {
		end := in.tree.insert(n.keys(r, blocks))
		in.tree.lock(end, 1)
		in.tree.lock(r.leaf.end, -1)
		in.tree.private -= int64(blocks) - r.leaf.blocks
		r.leaf, r.added = leaf{end, int64(blocks)}, true
		n.count(in)
	}
}

// releaseTree frees the blocks of r, of which so many tokens join the tree; −1: none.
func (n *naive) releaseTree(in *naiveInstance, r *naiveRequest, tokens int32) {
	if keys := n.keys(r, max(0, tokens)/n.blockSize); len(keys) > 0 {
		in.tree.insert(keys)
		if p := int(r.Prompt / n.blockSize); p > 0 && p < len(keys) {
			in.tree.walk(keys[:p])
		}
	}
	in.tree.private -= r.blocks - r.leaf.blocks
	in.tree.lock(r.leaf.end, -1)
	r.leaf = leaf{}
	n.count(in)
}

// disownTree lets r, which goes elsewhere, not find what only it may ask for.
func (r *naiveRequest) disownTree() {
	r.life++
	r.added = false
}

// refresh accesses the prefixes of the waiting requests now and then, unless the order has.
func (n *naive) refresh(in *naiveInstance, visible []*naiveRequest) {
	if len(visible) == 0 {
		return
	}
	in.sglang.refreshes++
	if in.sglang.refreshes%32 != 1 || in.tree == nil {
		return
	}
	for _, r := range slices.Backward(visible[:min(128, len(visible))]) {
		n.lookupTree(in, r, r.Prompt+r.Emitted)
	}
}

// byTree returns the list as a walk of the tree meets the requests: the heavier child first, a node after its children.
func (n *naive) byTree(in *naiveInstance, list []*naiveRequest) (order []*naiveRequest) {
	at := map[*naiveNode][]*naiveRequest{}
	for _, r := range list { // of a node that a later walk splits, the part behind is the same node
		x := n.lookupTree(in, r, r.Prompt+r.Emitted).node
		if x == nil {
			x = in.tree.root
		}
		at[x] = append(at[x], r)
	}
	var weight func(x *naiveNode) int
	weight = func(x *naiveNode) int {
		w := len(at[x])
		for _, c := range x.children {
			w += weight(c)
		}
		return w
	}
	var visit func(x *naiveNode)
	visit = func(x *naiveNode) {
		children := slices.Clone(x.children)
		slices.SortStableFunc(children, func(a, b *naiveNode) int { return weight(b) - weight(a) })
		for _, c := range children {
			visit(c)
		}
		order = append(order, at[x]...)
	}
	visit(in.tree.root)
	return order
}

// setAside has the tree evict what an allocator of pages wants to be free beyond what a step takes: a page for each
// prompt and each decode.
func (n *naive) setAside(in *naiveInstance, decodes int) {
	if in.tree == nil || n.blockSize == 1 {
		return
	}
	tokens, prompts := int64(0), int64(0)
	for _, r := range in.running {
		if !r.decoding && r.want > 0 {
			tokens, prompts = tokens+int64(r.want), prompts+1
		}
	}
	if prompts > 0 {
		n.evictFor(in, (tokens+int64(n.blockSize)-1)/int64(n.blockSize)+prompts)
	}
	if decodes > 0 {
		n.evictFor(in, in.tree.taken+int64(decodes))
	}
}

// settleTree releases those of a list that have ended, and adds the prompts of the others to the tree.
func (n *naive) settleTree(in *naiveInstance, list []*naiveRequest) {
	slices.SortFunc(list, func(a, b *naiveRequest) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.number, b.number))
	})
	for _, r := range list {
		if !r.removed {
			n.publish(in, r)
			continue
		}
		n.release(in, r, r.Computed)
		in.sglang.forget(r)
		in.running = remove(in.running, r)
	}
}
