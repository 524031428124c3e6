package sim_test

import (
	"container/list"
	"encoding/binary"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// blockPool is the cache as vLLM keeps it, block by block: a queue of free blocks, and a map from the hash of a block,
// which stands for all tokens up to its end, to the blocks that hold it, in the order in which they were computed.
type blockPool struct {
	tree    *sim.Contents
	size    int32
	free    *list.List // of *block, the next to be evicted first
	cached  map[int][]*block
	hashes  map[string]int // a hash is the number of a text: the hash before it and the tokens
	texts   map[int32]*hashed
	evicted int // blocks with content of the tree
	doubles int // blocks computed although another one had the same content
	doubled int // blocks found of which there were two

	groups       int // of layers: that of full attention, and those of windows that share blocks
	window       int32
	unnamedFirst bool // blocks without a hash are the next to be evicted
	drafter      sim.Drafter
}

// hashed are the hashes of a request's blocks, as far as they were asked for.
type hashed struct {
	hashes  []int
	content []bool
}

type block struct {
	hash    int // 0: none
	refs    int
	content bool // all its tokens are of the tree
	passed  bool // windows passed it while it was decoded, and no request has had it since
	place   *list.Element
}

func newBlockPool(blocks int64, size int32, tree *sim.Contents) *blockPool {
	p := &blockPool{groups: 1, tree: tree, size: size, free: list.New(), cached: map[int][]*block{},
		hashes: map[string]int{}, texts: map[int32]*hashed{}}
	for range blocks {
		b := &block{}
		b.place = p.free.PushBack(b)
	}
	return p
}

// token names the token of r at a position: the same for two requests if both have it from the same node.
func (p *blockPool) token(r *naiveRequest, at int32) (owner, offset int32, content bool) {
	node, end := r.Content, min(r.Prompt, p.tree.Tokens(r.Content))
	if r.OutputContent != 0 {
		node, end = r.OutputContent, p.tree.Tokens(r.OutputContent)
	}
	if at >= end {
		return -1 - r.ID, at, false
	}
	for p.tree.Tokens(p.tree.Parent(node)) > at {
		node = p.tree.Parent(node)
	}
	return node, at, true
}

// hash returns the hash of r's block i, and whether all of it is content of the tree.
func (p *blockPool) hash(r *naiveRequest, i int) (int, bool) {
	h := p.text(r)
	for len(h.hashes) <= i {
		var text []byte
		if n := len(h.hashes); n > 0 {
			text = binary.AppendVarint(text, int64(h.hashes[n-1]))
		}
		all := true
		for at := int32(len(h.hashes)) * p.size; at < int32(len(h.hashes)+1)*p.size+p.drafter.Ahead; at++ {
			owner, offset, content := p.token(r, at)
			text = binary.AppendVarint(binary.AppendVarint(text, int64(owner)), int64(offset))
			all = all && content
		}
		if p.hashes[string(text)] == 0 {
			p.hashes[string(text)] = len(p.hashes) + 1
		}
		h.hashes, h.content = append(h.hashes, p.hashes[string(text)]), append(h.content, all)
	}
	return h.hashes[i], h.content[i]
}

func (p *blockPool) text(r *naiveRequest) *hashed {
	if p.texts[r.ID] == nil {
		p.texts[r.ID] = &hashed{}
	}
	return p.texts[r.ID]
}

// disown lets r not find what only it may ask for: in groups of windows, from the given block on.
func (p *blockPool) disown(r *naiveRequest, from int32) {
	h := p.text(r)
	for i, hash := range h.hashes {
		for g := range p.groups {
			if !h.content[i] && (g == 0 || i >= int(from)) {
				p.forget(slices.Clone(p.cached[inGroup(hash, g)]))
			}
		}
	}
}

// lookup returns the blocks that r finds: full ones, and not its last token; and those after them that it would find,
// and computes again: for its drafter, and the one with its last token.
func (p *blockPool) lookup(r *naiveRequest) (hits, dropped []*block) {
	hits = p.hits(r)
	n := int((r.Prompt + r.Emitted - 1) / p.size)
	if len(hits) == n && (r.Prompt+r.Emitted)%p.size == 0 {
		if h, _ := p.hash(r, n); len(p.cached[h]) > 0 {
			dropped = append(dropped, p.cached[h][0])
		}
	}
	if n := len(hits); p.drafter.DropsLast && n > 0 {
		return hits[:n-1], append(dropped, hits[n-1])
	}
	return hits, dropped
}

func (p *blockPool) hits(r *naiveRequest) (hits []*block) {
	for i := 0; int32(i+1)*p.size <= r.Prompt+r.Emitted-1; i++ {
		h, _ := p.hash(r, i)
		if len(p.cached[h]) == 0 {
			break
		}
		hits = append(hits, p.cached[h][0])
		if len(p.cached[h]) > 1 {
			p.doubled++
		}
	}
	return hits
}

// idle returns how many of the blocks are free.
func idle(blocks []*block) (n int64) {
	for _, b := range blocks {
		if b != nil && b.refs == 0 {
			n++
		}
	}
	return n
}

// shared returns the blocks whose content others may have too.
func shared(blocks []*block) (list []*block) {
	for _, b := range blocks {
		if b.content {
			list = append(list, b)
		}
	}
	return list
}

func (p *blockPool) touch(blocks []*block) {
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if b.refs == 0 {
			p.free.Remove(b.place)
		}
		b.refs++
		b.passed = false
	}
}

// allocate returns the next block to be evicted.
func (p *blockPool) allocate() *block {
	b := p.free.Remove(p.free.Front()).(*block)
	if b.content && !b.passed {
		p.evicted++
	}
	p.forget([]*block{b})
	b.refs = 1
	return b
}

// forget takes blocks out of the prefix cache.
func (p *blockPool) forget(blocks []*block) {
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if b.hash != 0 {
			p.cached[b.hash] = slices.DeleteFunc(p.cached[b.hash], func(x *block) bool { return x == b })
		}
		b.hash, b.content, b.passed = 0, false, false
	}
}

// cache lets others find the blocks of r that hold the first n tokens, if r has a token after them where that counts.
func (p *blockPool) cache(r *naiveRequest, n int32) { p.name(r, n, r.Prompt+r.Emitted) }

// name is cache where so many tokens of r are known.
func (p *blockPool) name(r *naiveRequest, n, known int32) {
	n = min(n, known-p.drafter.Ahead)
	for i := 0; int32(i+1)*p.size <= n; i++ {
		p.nameBlock(r, r.pages[i], i, 0)
		for g, w := range r.windows {
			if w[i] != nil {
				p.nameBlock(r, w[i], i, 1+g)
			}
		}
	}
}

// nameBlock lets others find b, the i-th block of r in a group.
func (p *blockPool) nameBlock(r *naiveRequest, b *block, i, group int) {
	if b.hash != 0 {
		return
	}
	b.hash, b.content = p.hash(r, i)
	b.hash = inGroup(b.hash, group)
	if len(p.cached[b.hash]) > 0 {
		p.doubles++
	}
	p.cached[b.hash] = append(p.cached[b.hash], b)
	if b.content && !r.decoding {
		r.readable = max(r.readable, int32(i+1))
	}
}

// release frees blocks, the last one first.
func (p *blockPool) release(blocks []*block) {
	for _, b := range slices.Backward(blocks) {
		if b == nil {
			continue
		}
		b.refs--
		switch {
		case b.refs > 0:
		case p.unnamedFirst && b.hash == 0:
			b.place = p.free.PushFront(b)
		default:
			b.place = p.free.PushBack(b)
		}
	}
}
