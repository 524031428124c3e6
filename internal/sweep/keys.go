package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
)

// The keys of a load, and their short names.
const (
	keyRate        = "workload.arrivals.rate"
	keyTraceRate   = "workload.trace.rate"
	keyConcurrency = "workload.closed_loop.concurrency"
	nameRate       = "rate"
	nameClients    = "concurrency"
)

// isLoad reports whether a key says how much load there is.
func isLoad(key string) bool {
	return key == keyRate || key == keyTraceRate || key == keyConcurrency
}

// keyOf returns the key of a scenario that a short name means: rate and concurrency are those of its load, and what
// only pools have is that of the pool, if there is one. Every other name is a key itself, and Load says whether there
// is such a key.
func keyOf(s *configs.Scenario, name string) (string, error) {
	w := &s.Workload
	switch {
	case name == nameRate && w.Trace != nil:
		return keyTraceRate, nil
	case name == nameRate && w.ClosedLoop != nil:
		return "", fmt.Errorf("the rate of a closed loop is a result; expected concurrency")
	case name == nameRate:
		return keyRate, nil
	case name == nameClients && w.ClosedLoop == nil:
		return "", fmt.Errorf("the workload has no closed loop; expected rate")
	case name == nameClients:
		return keyConcurrency, nil
	case name == "seed":
		return "", fmt.Errorf("every point is run under the same seeds; expected --seeds N")
	case strings.ContainsAny(name, ".["):
		return name, nil
	}
	values := s.Values()
	has := func(key string) bool {
		return slices.ContainsFunc(values, func(v configs.Value) bool {
			return v.Key == key || strings.HasPrefix(v.Key, key+".")
		})
	}
	if has(name) && name != "model" || len(s.Pools) == 0 {
		return name, nil
	}
	var keys []string
	for i := range s.Pools {
		if key := "pools." + s.Pools[i].Name + "."; has(key + s.Pools[i].KeyOf(name)) {
			keys = append(keys, key+name)
		}
	}
	switch {
	case name == "model":
		return name, nil
	case len(keys) == 0 && len(s.Pools) == 1 && strict.Suggest(name, topLevel(values)) == "":
		return "pools." + s.Pools[0].Name + "." + name, nil // whose error suggests what was meant
	case len(keys) == 0:
		return name, nil
	case len(keys) > 1:
		return "", fmt.Errorf("%d pools have this key; expected one of them, such as %s", len(keys), keys[0])
	}
	return keys[0], nil
}

// topLevel returns the first parts of keys.
func topLevel(values []configs.Value) []string {
	var names []string
	for _, v := range values {
		name, _, _ := strings.Cut(v.Key, ".")
		names = append(names, name)
	}
	return names
}
