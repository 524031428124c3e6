package schedulers

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// CacheOrder is an order of SGLang's queue by what the cache holds of those who wait.
type CacheOrder uint8

// The orders.
const (
	FCFS      CacheOrder = iota // or as the pool's Order has it
	LPM                         // the longest prefix in the cache first
	DFSWeight                   // prefix by prefix, the one that most of those who wait share first
)

// sortedMax is the longest queue that is sorted by what the cache holds, as SGLang has it of LPM.
const sortedMax = 128

// cacheOrder sorts queues; it is scratch alone.
type cacheOrder struct {
	matches []match
	path    []int32 // paths of matches, from the root
	visits  []int32 // nodes on them, sorted
	order   []int32
}

// match is what the cache holds of the i-th request that waits: tokens, and the path to them.
type match struct{ i, tokens, from, to int32 }

// sort gives the queue of an instance another order, unless it is too long.
func (c *cacheOrder) sort(by CacheOrder, in *sim.Instance, w *sim.Work) {
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

// depthFirst compares two requests by where a walk of the tree meets them that takes the heavier child first and a node
// after its children.
func (c *cacheOrder) depthFirst(a, b match) int {
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

// weight returns how many of those who wait have node on their path.
func (c *cacheOrder) weight(node int32) int {
	from, _ := slices.BinarySearch(c.visits, node)
	to, _ := slices.BinarySearch(c.visits, node+1)
	return to - from
}
