package routers

import (
	"fmt"

	"github.com/decodesim/decodesim/policies/internal/named"
	"github.com/decodesim/decodesim/sim"
)

// list is the routers that scenarios can name. A new router is a file of its own and an entry here.
func list() named.List[Arguments, sim.Router] {
	return named.List[Arguments, sim.Router]{
		{Name: "least-loaded", Does: "the replica with the fewest requests",
			New: func(a Arguments) (sim.Router, error) { return NewLeastLoaded(a.Staleness), nil }},
		{Name: "round-robin", Does: "one replica after the other",
			New: func(Arguments) (sim.Router, error) { return new(RoundRobin), nil }},
		{Name: "random", Does: "any replica, each as likely",
			New: func(a Arguments) (sim.Router, error) { return NewRandom(a.Seed), nil }},
		{Name: "least-tokens", Does: "the replica with the fewest prompt tokens to serve",
			New: func(a Arguments) (sim.Router, error) { return NewLeast(PromptTokens, a.Staleness), nil }},
		{Name: "least-kv", Does: "the replica with the fewest KV blocks in use",
			New: func(a Arguments) (sim.Router, error) { return NewLeast(KVBlocks, a.Staleness), nil }},
		{Name: "power-of-two", Does: "the less loaded of two replicas drawn at random",
			New: func(a Arguments) (sim.Router, error) { return NewPowerOfTwo(a.Seed, a.Staleness), nil }},
		{Name: "session-affinity", Does: "the replica that had the session before, else the least loaded",
			New: func(a Arguments) (sim.Router, error) { return NewSessionAffinity(a.Staleness), nil }},
		{Name: "prefix-aware",
			Does: "the replica that was last sent the same beginning of a prompt, while loads are in balance",
			New:  func(a Arguments) (sim.Router, error) { return NewPrefixAware(a.Contents, a.Prefix, a.Staleness) }},
		{Name: "kv-aware",
			Does: "the least prompt tokens to compute, those not in its cache and those of its other requests",
			New:  func(a Arguments) (sim.Router, error) { return NewKVAware(a.Weights, a.Staleness) }},
		{Name: "weighted",
			Does: "the least weighted sum of queue, tokens, KV in use and prompt tokens not in its cache",
			New:  func(a Arguments) (sim.Router, error) { return NewWeighted(a.Weights, a.Staleness) }},
	}
}

// Arguments configure routers. Each router uses those that concern it.
type Arguments struct {
	Seed      uint64        // of random choices
	Staleness sim.Duration  // the greatest age of the loads that a router knows; 0: they are current
	Weights   Weights       // of kv-aware and weighted
	Prefix    PrefixLimits  // of prefix-aware
	Contents  *sim.Contents // the contents that requests name; nil: they name none
}

// DefaultArguments returns the arguments of scenarios that set none.
func DefaultArguments() Arguments {
	return Arguments{Weights: EqualWeights(), Prefix: DefaultPrefixLimits()}
}

// Names returns the names of all routers.
func Names() []string { return list().Names() }

// Does returns in a few words what the router called name does.
func Does(name string) string { return list().Does(name) }

// New returns a router called name. Each pool needs a router of its own, because most routers have state.
func New(name string, a Arguments) (sim.Router, error) {
	if a.Staleness < 0 {
		return nil, fmt.Errorf("policies: staleness_s is %g, must not be negative", a.Staleness.Seconds())
	}
	return list().New("router", name, a)
}
