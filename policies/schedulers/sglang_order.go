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

const (
	// sortedMax is the longest queue that SGLang sorts by the longest prefix, and of how many waiting requests it keeps
	// the prefixes fresh.
	sortedMax = 128
	// refreshInterval is after how many attempts to admit it does so.
	refreshInterval = 32
	// sharedTokens is how many tokens of a prefix count: a request with no more in the cache waits for another one that
	// shares as many with it.
	sharedTokens = 32
)

// sorter sorts queues by the prefix cache. Between two calls it keeps its memory and nothing else.
type sorter struct {
	matches []match
	path    []int32 // the paths of all matches, one after the other, each from the root
	visits  []int32 // the same nodes, sorted
	begins  []int32 // the beginnings of the requests that wait for no other
	order   []int32
}

// match is what the prefix cache has of the i-th waiting request: tokens, and the path to them in sorter.path. A
// request that waits for another has −1.
type match struct{ i, tokens, from, to int32 }

// sort gives the queue of an instance another order. It reports false if it is too long for that, or if its pool has
// given it one.
func (c *sorter) sort(by CacheOrder, in *sim.Instance, w *sim.Work) bool {
	if by == FCFS || in.Ordered() || by == LPM && in.Waiting(sortedMax) != nil {
		return false
	}
	c.matches, c.path, c.begins = c.matches[:0], c.path[:0], c.begins[:0]
	for i := int32(0); ; i++ {
		r := in.Waiting(int(i))
		if r == nil {
			break
		}
		cached := w.Touch(r)
		m := match{i: i, tokens: min(cached, r.Pending()-1)}
		if by == LPM && cached <= sharedTokens && c.waitsFor(w.Begins(r, sharedTokens)) {
			m.tokens = -1
		}
		c.matches = append(c.matches, m)
	}
	if by == LPM {
		slices.SortStableFunc(c.matches, func(a, b match) int { return int(b.tokens) - int(a.tokens) })
	} else {
		c.walk(in, w)
		slices.SortStableFunc(c.matches, c.depthFirst)
	}
	c.order = c.order[:0]
	for _, m := range c.matches {
		c.order = append(c.order, m.i)
	}
	in.Arrange(c.order)
	return true
}

// walk notes the paths of all matches, after them, because a later request may split the nodes of an earlier one. It
// touches no node: SGLang matches each request once and then sorts by the last nodes of the matches (0.5.23,
// managers/schedule_policy.py, _compute_prefix_matches and _sort_by_dfs_weight).
func (c *sorter) walk(in *sim.Instance, w *sim.Work) {
	for k := range c.matches {
		m := &c.matches[k]
		m.from = int32(len(c.path))
		c.path = w.CachedPath(in.Waiting(int(m.i)), c.path)
		m.to = int32(len(c.path))
	}
	c.visits = append(c.visits[:0], c.path...)
	slices.Sort(c.visits)
}

// waitsFor reports whether a request that begins like this waits for another one, which the cache has nothing of
// either; if not, those that begin alike wait for it.
func (c *sorter) waitsFor(begins int32) bool {
	if begins == 0 {
		return false
	}
	if slices.Contains(c.begins, begins) {
		return true
	}
	c.begins = append(c.begins, begins)
	return false
}

// refresh has the prefixes of waiting requests evicted last, and the head's after all others, now and then. Attempts
// for which no request waits do not count.
func refresh(in *sim.Instance, w *sim.Work) {
	if in.Waiting(0) == nil {
		return
	}
	n := in.PolicyState[refreshes]
	in.PolicyState[refreshes]++
	if n%refreshInterval != 0 || !in.Cache().Radix() {
		return
	}
	waiting := 0
	for waiting < sortedMax && in.Waiting(waiting) != nil {
		waiting++
	}
	for i := waiting - 1; i >= 0; i-- {
		w.Touch(in.Waiting(i))
	}
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
