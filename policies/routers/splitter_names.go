package routers

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// SplitterNames returns the splitters that scenarios can name.
func SplitterNames() []string { return []string{"least-loaded", "share", "class", "prompt"} }

// SplitterDoes says in a few words what the splitter called name does.
func SplitterDoes(name string) string {
	switch name {
	case "least-loaded":
		return "the route whose first pool has the fewest requests per replica"
	case "share":
		return "a share of the requests on each route, drawn by request"
	case "class":
		return "a route for each class of service"
	case "prompt":
		return "short prompts past the pool that prefills, the others through it"
	}
	return ""
}

// SplitterArguments is what splitters go by.
type SplitterArguments struct {
	Seed    uint64
	Entries []int     // the pool that each route begins with
	Weights []float64 // of share, by route
	Classes []int     // of class: the route of each
	Prompt  ByPrompt  // of prompt
}

// NewSplitter returns the splitter called name.
func NewSplitter(name string, a SplitterArguments) (sim.Splitter, error) {
	routes := len(a.Entries)
	switch name {
	case "least-loaded":
		if routes == 0 {
			return nil, fmt.Errorf("policies: a splitter by load needs the pool that each route begins with")
		}
		return LeastLoadedRoute(a.Entries), nil
	case "share":
		if len(a.Weights) != routes {
			return nil, fmt.Errorf("policies: %d shares for %d routes, must be one for each", len(a.Weights), routes)
		}
		return NewShares(a.Weights, a.Seed)
	case "class":
		if len(a.Classes) == 0 {
			return nil, fmt.Errorf("policies: a splitter by class needs the route of a class at least")
		}
		for class, route := range a.Classes {
			if route < 0 || route >= routes {
				return nil, fmt.Errorf("policies: the route of class %d is %d, must be from 0 to %d", class, route, routes-1)
			}
		}
		return ByClass(a.Classes), nil
	case "prompt":
		p := a.Prompt
		if p.LocalBelow < 0 || min(p.Local, p.Remote, p.Pool) < 0 || max(p.Local, p.Remote) >= routes {
			return nil, fmt.Errorf("policies: local_below_tokens is %d and routes %d and %d, must not be negative and below %d", p.LocalBelow, p.Local, p.Remote, routes)
		}
		return p, nil
	}
	return nil, fmt.Errorf("policies: splitter %q not found; have %s", name, strings.Join(SplitterNames(), ", "))
}
