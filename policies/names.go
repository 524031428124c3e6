package policies

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// RouterNames returns the routers that scenarios can name.
func RouterNames() []string { return []string{"least-loaded", "round-robin"} }

// NewRouter returns the router called name.
func NewRouter(name string) (sim.Router, error) {
	switch name {
	case "least-loaded":
		return LeastLoaded{}, nil
	case "round-robin":
		return new(RoundRobin), nil
	}
	return nil, fmt.Errorf("policies: router %q not found; have %s", name, strings.Join(RouterNames(), ", "))
}

// SchedulerNames returns the schedulers that engines can name.
func SchedulerNames() []string { return []string{"continuous", "prefill-first", "sglang", "static"} }
