package sim

// hostCache is the part of the content that host memory keeps, beyond what the GPUs' cache still holds. Whatever a request
// held when it left the batch is there, as long as there is room; what was used least lately makes room, a path from its
// end. A request that finds more there than in the cache has it copied before its first step, which lasts longer by that.
//
// vLLM (vllm/v1/kv_offload) and SGLang (hierarchical cache) store blocks while they are computed, at no cost to the steps, as
// here; they load them while other steps run or, layer by layer, while the prompt's own step does, which is faster than here.
type hostCache struct {
	total, used int64
	at          []hostNode // by node of Contents; nodes beyond its length are not there. 0 closes the order of use to a ring
	loaded      int64      // blocks copied back
}

// hostNode is the blocks of a content node that are there: the first ones, up to block to. A node's blocks are there only
// with all those before it, for whoever uses a node uses its ancestors after it.
type hostNode struct{ from, to, older, newer int32 }

func newHostCache(blocks int64) *hostCache { return &hostCache{total: blocks, at: make([]hostNode, 1)} }

// store keeps the first n blocks of the path to node.
func (h *hostCache) store(p *prefixes, node, n int32) {
	for ; n > 0; node = p.tree.Parent(node) {
		if start := p.start(node); n > start {
			h.use(node, start, min(n, p.floor(p.tree.Tokens(node))))
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

// use makes a node the latest used, with at least its blocks up to block to.
func (h *hostCache) use(node, from, to int32) {
	for int(node) >= len(h.at) {
		h.at = append(h.at, hostNode{})
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

func (h *hostCache) unlink(node int32) {
	x := &h.at[node]
	h.at[x.older].newer, h.at[x.newer].older = x.newer, x.older
}

// find returns how many of the first limit blocks of the path to node are there.
func (h *hostCache) find(p *prefixes, node, limit int32) int32 {
	for ; node != 0; node = p.tree.Parent(node) {
		if int(node) < len(h.at) && h.at[node].to > h.at[node].from {
			if start := p.start(node); start < limit {
				return min(limit, h.at[node].to)
			}
		}
	}
	return 0
}
