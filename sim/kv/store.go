package kv

// Store is the content that a tier keeps beyond what the GPUs' cache still has: host memory or, below it, an NVMe drive
// or a store of the cluster. Whatever content a request used is there after it left the batch, as long as there is
// room; the least recently used content makes room, each path from its end. A store that is written back gets only what
// the one above it has no room for, together with what comes before that on its path.
//
// vLLM (vllm/v1/kv_offload), LMCache and SGLang (hierarchical cache) store blocks while they are computed, at no cost
// to the steps, as here.
type Store struct {
	total, used int64
	added       int64  // blocks that have come since Added was called last
	below       *Store // that gets what makes room here; nil: none does
	// by node of Contents; nodes beyond its length are absent. 0 closes the order of use to a ring
	at []storeNode
}

// storeNode is the blocks of a content node that are in a store: the first ones, up to block to. They are there only
// with all the blocks before them on the path, because a request that uses a node uses its ancestors after it.
type storeNode struct{ from, to, older, newer int32 }

// NewStore returns an empty store of so many blocks.
func NewStore(blocks int64) *Store { return &Store{total: blocks, at: make([]storeNode, 1)} }

// store puts the first n blocks of the path to node into the store.
func (h *Store) store(p *prefixes, node, n int32) {
	for ; n > 0; node = p.tree.Parent(node) {
		if start := p.start(node); n > start {
			h.use(node, start, min(n, p.end(node)))
			n = start
		}
	}
	for h.used > h.total {
		node := h.at[0].newer
		x := &h.at[node]
		if h.below != nil {
			h.below.store(p, node, x.to)
		}
		d := int32(min(int64(x.to-x.from), h.used-h.total))
		x.to -= d
		h.used -= int64(d)
		if x.to == x.from {
			h.unlink(node)
		}
	}
}

// Added returns how many blocks have come since it was called last.
func (h *Store) Added() (n int64) {
	n, h.added = h.added, 0
	return n
}

// use makes a node the most recently used, with at least its blocks up to block to.
func (h *Store) use(node, from, to int32) {
	for int(node) >= len(h.at) {
		h.at = append(h.at, storeNode{})
	}
	x := &h.at[node]
	if x.to > x.from {
		h.unlink(node)
	} else {
		x.from, x.to = from, from
	}
	if to > x.to {
		h.used += int64(to - x.to)
		h.added += int64(to - x.to)
		x.to = to
	}
	last := h.at[0].older
	x.older, x.newer = last, 0
	h.at[last].newer, h.at[0].older = node, node
}

func (h *Store) unlink(node int32) {
	x := &h.at[node]
	h.at[x.older].newer, h.at[x.newer].older = x.newer, x.older
}

// match returns how many of the first limit blocks of the path to node are in the store.
func (h *Store) match(p *prefixes, node, limit int32) int32 {
	for ; node != 0; node = p.tree.Parent(node) {
		if int(node) < len(h.at) && h.at[node].to > h.at[node].from {
			if start := p.start(node); start < limit {
				return min(limit, h.at[node].to)
			}
		}
	}
	return 0
}

// TiersMax bounds the stores below host memory.
const TiersMax = 2

// Below is what stores below host memory have of a prompt beyond what the cache and host memory have, in blocks from
// the beginning of the prompt.
type Below struct {
	Have int32           // in the cache or in host memory
	Ends [TiersMax]int32 // where what each store has ends, if those above it give what they have
}

// End returns where what all stores have ends.
func (b *Below) End() int32 { return b.Ends[TiersMax-1] }

// Blocks returns how many blocks the i-th store gives.
func (b *Below) Blocks(i int) int32 {
	if i == 0 {
		return b.Ends[0] - b.Have
	}
	return b.Ends[i] - b.Ends[i-1]
}

// Added returns how many blocks the i-th store below host memory has got since it was asked last.
func (k *Cache) Added(i int) int64 { return k.prefix.below[i].Added() }

// Below returns what the stores below host memory have of a prompt of which so many tokens are to be computed.
func (k *Cache) Below(q Prompt, tokens int32) (b Below) {
	p := k.prefix
	m := p.match(-1, q, tokens)
	b.Have = m.Cached + m.Offloaded
	node, readable := p.path(q)
	limit, end := min(p.named(readable), p.full(tokens-1)), b.Have
	for i := range b.Ends {
		if i < len(p.below) {
			end = max(end, p.below[i].match(p, node, limit))
		}
		b.Ends[i] = end
	}
	return b
}

// Fetched puts the first n blocks of a prompt into host memory.
func (k *Cache) Fetched(q Prompt, n int32) {
	node, _ := k.prefix.path(q)
	k.prefix.offload.store(k.prefix, node, n)
}

// keep has the stores keep the first n blocks of the path to node, which a request gives up.
func (p *prefixes) keep(node, n int32) {
	p.offload.store(p, node, n)
	if p.offload.below != nil {
		return
	}
	for _, s := range p.below {
		s.store(p, node, n)
	}
}

// newStores gives p its stores.
func (p *prefixes) newStores(c *Config) {
	p.offload, p.below = NewStore(c.OffloadBlocks), c.Below
	above := p.offload
	for _, s := range c.Below {
		if c.WriteBack {
			above.below = s
		}
		above = s
	}
}
