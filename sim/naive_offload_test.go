package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// hostStore is host memory that keeps blocks of content, node by node.
type hostStore struct {
	tree   *sim.Contents
	size   int32
	limit  int64        // blocks
	cached []hostBlocks // the least recently used node first
	lost   int          // blocks
	spills *hostStore   // that gets what makes room here; nil: none does
	added  int32        // blocks that have come and of which no write was begun
}

// hostBlocks are the first of the blocks whose last token is of a node.
type hostBlocks struct {
	node   int32
	blocks []int // their places in the path
}

// place returns where the blocks of a node are; -1: none is kept.
func (h *hostStore) place(node int32) int {
	return slices.IndexFunc(h.cached, func(b hostBlocks) bool { return b.node == node })
}

// keep stores the blocks of content that r holds, the deepest node first, and gives up what is too much.
func (h *hostStore) keep(r *naiveRequest) {
	h.put(r.path(), len(shared(r.pages)))
}

// put stores the first blocks of the path to a node.
func (h *hostStore) put(node int32, allocated int) {
	for ; node != 0; node = h.tree.Parent(node) {
		b := hostBlocks{node: node}
		for i := range allocated {
			if end := int32(i+1) * h.size; h.tree.Tokens(h.tree.Parent(node)) < end && end <= h.tree.Tokens(node) {
				b.blocks = append(b.blocks, i)
			}
		}
		if len(b.blocks) == 0 {
			continue
		}
		had := 0
		if i := h.place(node); i >= 0 {
			old := h.cached[i]
			had = len(old.blocks)
			if had > len(b.blocks) {
				b = old
			}
			h.cached = slices.Delete(h.cached, i, i+1)
		}
		h.added += int32(len(b.blocks) - had)
		h.cached = append(h.cached, b)
	}
	spilled := int32(0)
	for h.stored() > h.limit {
		oldest := &h.cached[0]
		if last := oldest.blocks[len(oldest.blocks)-1]; h.spills != nil && oldest.node != spilled {
			h.spills.put(oldest.node, last+1)
			spilled = oldest.node
		}
		oldest.blocks = oldest.blocks[:len(oldest.blocks)-1]
		if len(oldest.blocks) == 0 {
			h.cached = h.cached[1:]
		}
		h.lost++
	}
}

func (h *hostStore) stored() (blocks int64) {
	for _, b := range h.cached {
		blocks += int64(len(b.blocks))
	}
	return blocks
}

// beyond returns how many blocks of r are kept after its first n.
func (h *hostStore) beyond(p *blockPool, r *naiveRequest, n int) (blocks int32) {
	if r.Preemptions > 0 && h.own(p, r) {
		return 0
	}
	for i := n; int32(i+1)*h.size <= r.Prompt+r.Emitted-1; i++ {
		node, _, content := p.token(r, int32(i+1)*h.size-1)
		if !content {
			break
		}
		if at := h.place(node); at < 0 || !slices.Contains(h.cached[at].blocks, i) {
			break
		}
		blocks++
	}
	return blocks
}

// own reports whether the cache has blocks that only r may ask for.
func (h *hostStore) own(p *blockPool, r *naiveRequest) bool {
	text := p.text(r)
	for i, hash := range text.hashes {
		if !text.content[i] && len(p.cached[hash]) > 0 {
			return true
		}
	}
	return false
}
