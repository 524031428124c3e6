package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// sortByCache sorts the waiting requests by what the cache has of them, unless there are many.
func (n *naive) sortByCache(in *naiveInstance, order schedulers.CacheOrder) {
	seen := 0
	for seen < len(in.waiting) && (in.everybody || in.waiting[seen].noticed) {
		seen++
	}
	before, visible := slices.Clone(in.waiting), in.waiting[:seen]
	switch {
	case order == schedulers.FCFS, order == schedulers.LPM && seen > 128:
		n.refresh(in, slices.DeleteFunc(before, func(r *naiveRequest) bool { return !in.everybody && !r.noticed }))
		return
	case order == schedulers.LPM:
		n.longestPrefixFirst(in, visible)
	case in.tree != nil:
		copy(visible, n.byTree(in, visible))
	default:
		copy(visible, n.prefixByPrefix(in, visible))
	}
	if !slices.Equal(before, in.waiting) {
		n.cover["sorted by cached prefixes"]++
		if order == schedulers.DFSWeight {
			n.cover["sorted by weight"]++
		}
	}
}

// longestPrefixFirst sorts a list. A request of which little is cached comes last, if one before it in the queue, of
// which little is cached either, begins with the same 32 tokens.
func (n *naive) longestPrefixFirst(in *naiveInstance, list []*naiveRequest) {
	cached, begun := map[*naiveRequest]int32{}, map[int32]bool{}
	for _, r := range list {
		tokens := int32(0)
		if in.tree != nil {
			tokens = n.lookupTree(in, r, r.Prompt+r.Emitted).tokens
		} else {
			tokens = n.lookup(in, r).tokens
		}
		cached[r] = min(tokens, r.Prompt+r.Emitted-1)
		if tokens > 32 || min(r.Prompt, n.contents.Tokens(r.Content)) < 32 {
			continue
		}
		node := r.Content
		for n.contents.Tokens(n.contents.Parent(node)) >= 32 {
			node = n.contents.Parent(node)
		}
		if begun[node] {
			cached[r] = -1
			n.cover["waits for another with its prefix"]++
		}
		begun[node] = true
	}
	slices.SortStableFunc(list, func(a, b *naiveRequest) int { return cmp.Compare(cached[b], cached[a]) })
}

// cachedPath is a request and the nodes in which blocks end that the cache has of it, from the root.
type cachedPath struct {
	r     *naiveRequest
	nodes []int32
}

// prefixByPrefix returns the list with the requests together that share what is cached, most of them first.
func (n *naive) prefixByPrefix(in *naiveInstance, list []*naiveRequest) []*naiveRequest {
	var paths []cachedPath
	for _, r := range list {
		p := cachedPath{r: r}
		for i := range n.lookup(in, r).tokens / n.blockSize {
			if node, _, content := in.pool.token(r, (i+1)*n.blockSize-1); content && !slices.Contains(p.nodes, node) {
				p.nodes = append(p.nodes, node)
			}
		}
		paths = append(paths, p)
	}
	return heaviestFirst(paths, 0)
}

// heaviestFirst walks a tree of which the paths share so many nodes: its children, the one that is on most paths first,
// the first node of equals, and then those whose path ends here.
func heaviestFirst(paths []cachedPath, depth int) (order []*naiveRequest) {
	var here []*naiveRequest
	children := map[int32][]cachedPath{}
	var nodes []int32
	for _, p := range paths {
		if len(p.nodes) == depth {
			here = append(here, p.r)
			continue
		}
		node := p.nodes[depth]
		children[node] = append(children[node], p)
		if len(children[node]) == 1 {
			nodes = append(nodes, node)
		}
	}
	slices.SortFunc(nodes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(children[b]), len(children[a])), cmp.Compare(a, b))
	})
	for _, node := range nodes {
		order = append(order, heaviestFirst(children[node], depth+1)...)
	}
	return append(order, here...)
}
