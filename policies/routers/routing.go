package routers

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// Names returns the routers that scenarios can name.
func Names() []string {
	return []string{"least-loaded", "round-robin", "random", "least-tokens", "least-kv", "power-of-two", "session-affinity",
		"prefix-aware", "kv-aware", "weighted"}
}

// RouterDoes says in a few words what the router called name does.
func RouterDoes(name string) string {
	switch name {
	case "least-loaded":
		return "the replica with the fewest requests"
	case "round-robin":
		return "one replica after the other"
	case "random":
		return "any replica, each as likely"
	case "least-tokens":
		return "the replica with the fewest prompt tokens to serve"
	case "least-kv":
		return "the replica with the fewest KV blocks in use"
	case "power-of-two":
		return "the less loaded of two replicas drawn at random"
	case "session-affinity":
		return "the replica that had the session before, else the least loaded"
	case "prefix-aware":
		return "the replica that was last sent the same beginning of a prompt, while loads are in balance"
	case "kv-aware":
		return "the least prompt tokens to compute, those not in its cache and those of its other requests"
	case "weighted":
		return "the least weighted sum of queue, tokens, KV in use and prompt tokens not in its cache"
	}
	return ""
}

// Routing is what routers go by.
type Routing struct {
	Seed      uint64        // of random choices
	Staleness sim.Duration  // how old may be what a router knows of loads; 0: nothing
	Weights   Weights       // of kv-aware and weighted
	Prefix    PrefixLimits  // of prefix-aware
	Contents  *sim.Contents // that requests name; nil: they name none
}

// DefaultRouting returns what routers go by where nothing else is said.
func DefaultRouting() Routing {
	return Routing{Weights: EqualWeights(), Prefix: DefaultPrefixLimits()}
}

// Router returns a router called name. Each pool needs one of its own, for most remember what they have done.
func (a Routing) Router(name string) (sim.Router, error) {
	if a.Staleness < 0 {
		return nil, fmt.Errorf("policies: staleness_s is %g, must not be negative", a.Staleness.Seconds())
	}
	switch name {
	case "least-loaded":
		if a.Staleness == 0 {
			return LeastLoaded{}, nil
		}
		return NewLeast(Requests, a.Staleness), nil
	case "round-robin":
		return new(RoundRobin), nil
	case "random":
		return NewRandom(a.Seed), nil
	case "least-tokens":
		return NewLeast(PromptTokens, a.Staleness), nil
	case "least-kv":
		return NewLeast(KVBlocks, a.Staleness), nil
	case "power-of-two":
		return NewPowerOfTwo(a.Seed, a.Staleness), nil
	case "session-affinity":
		return NewSessionAffinity(a.Staleness), nil
	case "prefix-aware":
		return a.prefixAware()
	case "kv-aware":
		return NewKVAware(a.Weights, a.Staleness)
	case "weighted":
		return NewWeighted(a.Weights, a.Staleness)
	}
	return nil, fmt.Errorf("policies: router %q not found; have %s", name, strings.Join(Names(), ", "))
}

func (a Routing) prefixAware() (sim.Router, error) {
	l := a.Prefix
	switch {
	case l.MatchMin < 0 || l.MatchMin > 100 || l.Imbalance < 0 || l.ImbalanceShare < 0:
		return nil, fmt.Errorf("policies: prefix limits are %d %%, %d requests and %d %%; the first must be from 0 to 100, none negative",
			l.MatchMin, l.Imbalance, l.ImbalanceShare)
	case l.Nodes < 1:
		return nil, fmt.Errorf("policies: a router that goes by prefix remembers %d nodes, must be at least 1", l.Nodes)
	}
	if a.Contents == nil {
		a.Contents = new(sim.Contents)
	}
	return NewPrefixAware(a.Contents, l, a.Staleness), nil
}
