package schedulers

import (
	"slices"

	"github.com/decodesim/decodesim/policies/internal/named"
	"github.com/decodesim/decodesim/sim"
)

// CacheOrder is an order of SGLang's queue by what the prefix cache has of the waiting requests.
type CacheOrder uint8

// The orders.
const (
	FCFS      CacheOrder = iota // the order of the pool's queue, whatever is cached
	LPM                         // the longest cached prefix first
	DFSWeight                   // depth first through the prefix tree, the node shared by most waiting requests first
)

// cacheOrders is the orders by the prefix cache that scenarios can name, which only SGLang has.
func cacheOrders() named.List[struct{}, CacheOrder] {
	return named.List[struct{}, CacheOrder]{
		{Name: "lpm", Does: "sglang: the longest prefix in the cache first",
			New: func(struct{}) (CacheOrder, error) { return LPM, nil }},
		{Name: "dfs-weight", Does: "sglang: prefix by prefix, the one that most waiting requests share first",
			New: func(struct{}) (CacheOrder, error) { return DFSWeight, nil }},
	}
}

// CacheOrderNames returns the names of the orders by the prefix cache.
func CacheOrderNames() []string { return cacheOrders().Names() }

// CacheOrderNamed returns the order by the prefix cache called name, or FCFS for any other name.
func CacheOrderNamed(name string) CacheOrder {
	if order, err := cacheOrders().New("schedule policy", name, struct{}{}); err == nil {
		return order
	}
	return FCFS
}

// sortedMax is the longest queue that SGLang sorts by the prefix cache; it has this limit for LPM.
const sortedMax = 128

// sorter sorts queues by the prefix cache. Between two calls it keeps its memory and nothing else.
type sorter struct {
	matches []match
	path    []int32 // the paths of all matches, one after the other, each from the root
	visits  []int32 // the same nodes, sorted
	order   []int32
}

// match is what the prefix cache has of the i-th waiting request: tokens, and the path to them in sorter.path.
type match struct{ i, tokens, from, to int32 }

// sort gives the queue of an instance another order, unless it is too long.
func (c *sorter) sort(by CacheOrder, in *sim.Instance, w *sim.Work) {
	if in.Waiting(sortedMax) != nil {
		return
	}
	c.matches, c.path = c.matches[:0], c.path[:0]
	for i := int32(0); ; i++ {
		r := in.Waiting(int(i))
		if r == nil {
			break
		}
		m := match{i: i, tokens: w.CachedTokens(r), from: int32(len(c.path))}
		if by == DFSWeight {
			c.path = w.CachedPath(r, c.path)
		}
		m.to = int32(len(c.path))
		c.matches = append(c.matches, m)
	}
	if by == LPM {
		slices.SortStableFunc(c.matches, func(a, b match) int { return int(b.tokens) - int(a.tokens) })
	} else {
		c.visits = append(c.visits[:0], c.path...)
		slices.Sort(c.visits)
		slices.SortStableFunc(c.matches, c.depthFirst)
	}
	c.order = c.order[:0]
	for _, m := range c.matches {
		c.order = append(c.order, m.i)
	}
	in.Arrange(c.order)
}

// depthFirst compares two requests by when a walk of the prefix tree meets them. The walk takes the heavier child first
// and a node after its children.
func (c *sorter) depthFirst(a, b match) int {
	x, y := c.path[a.from:a.to], c.path[b.from:b.to]
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		if d := c.weight(y[i]) - c.weight(x[i]); d != 0 {
			return d
		}
		return int(x[i]) - int(y[i])
	}
	return len(y) - len(x)
}

// weight returns how many waiting requests have node on their path.
func (c *sorter) weight(node int32) int {
	from, _ := slices.BinarySearch(c.visits, node)
	to, _ := slices.BinarySearch(c.visits, node+1)
	return to - from
}
