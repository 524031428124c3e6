package routers

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Router = (*PrefixAware)(nil)

// PrefixAware routes a request to the instance to which it last sent the longest prefix of the prompt, if that prefix
// is long enough and loads are in balance; otherwise to the instance with the fewest requests.
//
// It asks no instance what is in its prefix cache. It remembers to which instance it sent which node of Contents, and
// assumes that whatever was sent there is still cached. That is the idea of SGLang's cache-aware router; here the
// memory has one instance per node, and it is bounded by a number of nodes.
type PrefixAware struct {
	contents *sim.Contents
	limits   PrefixLimits
	memory   []visit // node n is at n mod length: a newer node overwrites an older one
	least    Least
}

// visit is the instance to which a node was last sent.
type visit struct{ node, instance int32 }

// PrefixLimits say when PrefixAware goes by load instead of by prefix.
type PrefixLimits struct {
	MatchMin       int32 // percentage of the prompt that a remembered prefix must cover
	Imbalance      int64 // requests by which the longest queue may exceed the shortest, …
	ImbalanceShare int64 // … and the same in percent of the shortest: loads are out of balance when both are exceeded
	Nodes          int   // of Contents that are remembered at most
}

// DefaultPrefixLimits are limits like those of SGLang's router, where they are options too. They are no fit, and have
// not been verified against a version of it.
func DefaultPrefixLimits() PrefixLimits {
	return PrefixLimits{MatchMin: 50, Imbalance: 32, ImbalanceShare: 10, Nodes: 1 << 20}
}

// NewPrefixAware returns the router over the contents that requests name; nil: they name none. It knows loads as they
// were at most staleness ago.
func NewPrefixAware(contents *sim.Contents, l PrefixLimits, staleness sim.Duration) (*PrefixAware, error) {
	switch {
	case l.MatchMin < 0 || l.MatchMin > 100 || l.Imbalance < 0 || l.ImbalanceShare < 0:
		return nil, fmt.Errorf("policies: prefix limits are %d %%, %d requests and %d %%; "+
			"the first must be from 0 to 100, none negative", l.MatchMin, l.Imbalance, l.ImbalanceShare)
	case l.Nodes < 1:
		return nil, fmt.Errorf("policies: a prefix-aware router remembers %d nodes, must be at least 1", l.Nodes)
	}
	if contents == nil {
		contents = new(sim.Contents)
	}
	return &PrefixAware{contents: contents, limits: l, least: *NewLeast(Requests, staleness)}, nil
}

// Route implements sim.Router.
func (p *PrefixAware) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	loads := p.least.known.read(Requests, now, pool)
	node := r.Content
	if r.OutputContent != 0 {
		node = r.OutputContent // its path begins with that of the prompt
	}
	i := -1
	if in := p.recall(node, r, pool); in != nil && p.balanced(loads) {
		i = indexOf(pool, in)
	} else {
		i = least(loads)
	}
	in := p.least.known.send(Requests, r, pool, i)
	p.remember(node, in.ID)
	return in
}

// recall returns the instance to which the longest remembered prefix of r was sent, or nil.
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

// remember notes that node and the nodes above it went to an instance.
func (p *PrefixAware) remember(node, instance int32) {
	if node != 0 && p.memory == nil {
		p.memory = make([]visit, p.limits.Nodes)
	}
	for ; node != 0; node = p.contents.Parent(node) {
		p.memory[int(node)%len(p.memory)] = visit{node, instance}
	}
}

// balanced reports whether loads are close enough to each other to go by prefix.
func (p *PrefixAware) balanced(loads []int64) bool {
	low, high := slices.Min(loads), slices.Max(loads)
	return high-low <= p.limits.Imbalance || (high-low)*100 <= low*p.limits.ImbalanceShare
}
