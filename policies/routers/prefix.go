package routers

import "github.com/decodesim/decodesim/sim"

var _ sim.Router = (*PrefixAware)(nil)

// PrefixAware routes a request to the instance that it last sent the longest beginning of its prompt to, if that is long
// enough and loads are in balance, and otherwise to the one with the fewest requests. It asks no instance what is in its
// cache: it goes by a memory of its own, of where it sent which node of Contents, that believes whatever was sent is still
// there. That is the idea of SGLang's cache-aware router; the memory here keeps one instance per node, and its bound is a
// number of nodes.
type PrefixAware struct {
	contents *sim.Contents
	limits   PrefixLimits
	memory   []visit // node n has place n mod length: a newer node takes the place of one that much older
	rest     Least
}

// visit is where a node was last sent to.
type visit struct{ node, instance int32 }

// PrefixLimits say when PrefixAware goes by load instead of by prefix.
type PrefixLimits struct {
	MatchMin       int32 // share of the prompt known, in percent, below which a prefix does not count
	Imbalance      int64 // requests by which the longest queue may exceed the shortest …
	ImbalanceShare int64 // … or exceed it by that share, in percent, before load counts; both must be exceeded
	Nodes          int   // of Contents that are remembered at most
}

// DefaultPrefixLimits are limits like those of SGLang's router, where they are options too: no fit, and unverified against a
// version of it.
func DefaultPrefixLimits() PrefixLimits {
	return PrefixLimits{MatchMin: 50, Imbalance: 32, ImbalanceShare: 10, Nodes: 1 << 20}
}

// NewPrefixAware returns the router over the contents that requests name; it knows loads as they were at most so long ago.
func NewPrefixAware(contents *sim.Contents, limits PrefixLimits, staleness sim.Duration) *PrefixAware {
	return &PrefixAware{contents: contents, limits: limits, rest: *NewLeast(Requests, staleness)}
}

// Route implements sim.Router.
func (p *PrefixAware) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	loads := p.rest.known.read(Requests, now, pool)
	node := r.Content
	if r.OutputContent != 0 {
		node = r.OutputContent // whose path is that of the prompt, and goes on
	}
	i := -1
	if in := p.recall(node, r, pool); in != nil && p.balanced(loads) {
		i = place(pool, in)
	} else {
		i = least(loads)
	}
	in := p.rest.known.send(Requests, r, pool, i)
	p.remember(node, in.ID)
	return in
}

// recall returns the instance that the longest known beginning of r was sent to, or nil.
func (p *PrefixAware) recall(node int32, r *sim.Request, pool *sim.Pool) *sim.Instance {
	if len(p.memory) == 0 {
		return nil
	}
	for ; node != 0; node = p.contents.Parent(node) {
		known := min(r.Prompt, p.contents.Tokens(node))
		if int64(known)*100 < int64(r.Prompt)*int64(p.limits.MatchMin) {
			return nil
		}
		if v := p.memory[int(node)%len(p.memory)]; v.node == node {
			if in := byID(pool, v.instance); in.Live() {
				return in
			}
		}
	}
	return nil
}

// remember notes that node and what it continues went to an instance.
func (p *PrefixAware) remember(node, instance int32) {
	if node != 0 && p.memory == nil {
		p.memory = make([]visit, p.limits.Nodes)
	}
	for ; node != 0; node = p.contents.Parent(node) {
		p.memory[int(node)%len(p.memory)] = visit{node, instance}
	}
}

// balanced reports whether loads are near enough to each other to go by prefix.
func (p *PrefixAware) balanced(loads []int64) bool {
	low, high := loads[0], loads[0]
	for _, n := range loads {
		low, high = min(low, n), max(high, n)
	}
	return high-low <= p.limits.Imbalance || (high-low)*100 <= low*p.limits.ImbalanceShare
}

// place returns the index of in among the instances of pool that take requests.
func place(pool *sim.Pool, in *sim.Instance) int {
	low, high := 0, pool.Len()-1
	for low < high {
		if middle := (low + high) / 2; pool.Instance(middle).ID < in.ID {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
