package kv

// offload is the content that host memory keeps beyond what the GPUs' cache still has. Whatever content a request used
// is there after it left the batch, as long as there is room; the least recently used content makes room, each path
// from its end. A request that matches more there than in the cache has the blocks copied before its first step, which
// lasts longer for it.
//
// vLLM (vllm/v1/kv_offload) and SGLang (hierarchical cache) store blocks while they are computed, at no cost to the
// steps, as here. They load them while other steps run or, layer by layer, while the prompt's own step does, which is
// faster than here.
type offload struct {
	total, used int64
	// by node of Contents; nodes beyond its length are absent. 0 closes the order of use to a ring
	at     []offloadNode
	loaded int64 // blocks copied back
}

// offloadNode is the blocks of a content node that are in host memory: the first ones, up to block to. They are there
// only with all the blocks before them on the path, because a request that uses a node uses its ancestors after it.
type offloadNode struct{ from, to, older, newer int32 }

func newOffload(blocks int64) *offload { return &offload{total: blocks, at: make([]offloadNode, 1)} }

// store puts the first n blocks of the path to node into host memory.
func (h *offload) store(p *prefixes, node, n int32) {
	for ; n > 0; node = p.tree.Parent(node) {
		if start := p.start(node); n > start {
			h.use(node, start, min(n, p.end(node)))
			n = start
		}
	}
	for h.used > h.total {
		node := h.at[0].newer
		x := &h.at[node]
		d := int32(min(int64(x.to-x.from), h.used-h.total))
		x.to -= d
		h.used -= int64(d)
		if x.to == x.from {
			h.unlink(node)
		}
	}
}

// use makes a node the most recently used, with at least its blocks up to block to.
func (h *offload) use(node, from, to int32) {
	for int(node) >= len(h.at) {
		h.at = append(h.at, offloadNode{})
	}
	x := &h.at[node]
	if x.to > x.from {
		h.unlink(node)
	} else {
		x.from, x.to = from, from
	}
	if to > x.to {
		h.used += int64(to - x.to)
		x.to = to
	}
	last := h.at[0].older
	x.older, x.newer = last, 0
	h.at[last].newer, h.at[0].older = node, node
}

func (h *offload) unlink(node int32) {
	x := &h.at[node]
	h.at[x.older].newer, h.at[x.newer].older = x.newer, x.older
}

// match returns how many of the first limit blocks of the path to node are in host memory.
func (h *offload) match(p *prefixes, node, limit int32) int32 {
	for ; node != 0; node = p.tree.Parent(node) {
		if int(node) < len(h.at) && h.at[node].to > h.at[node].from {
			if start := p.start(node); start < limit {
				return min(limit, h.at[node].to)
			}
		}
	}
	return 0
}
