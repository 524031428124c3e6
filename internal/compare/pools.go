package compare

import (
	"slices"
	"strings"
)

// poolKey divides a key such as pools.serve.gpu into the pool's name and its own key; empty: it is no pool's.
func poolKey(key string) (pool, own string) {
	rest, ok := strings.CutPrefix(key, "pools.")
	if !ok {
		return "", ""
	}
	pool, own, _ = strings.Cut(rest, ".")
	return pool, own
}

// alike returns the keys on which pools agree that some scenario lacks. Pools of different names are not compared key
// by key, and two that replace one would print all that they are, a hundred lines, of which few tell them apart.
func alike(diff []KeyDiff) map[string]bool {
	single := map[string]bool{}
	for _, d := range diff {
		// the name is in the key, so it differs only where there is no such pool
		if pool, own := poolKey(d.Key); own == "name" {
			single[pool] = true
		}
	}
	said := map[string][]string{} // by key, what the pools say
	for _, d := range diff {
		if pool, own := poolKey(d.Key); single[pool] {
			for _, v := range d.Values {
				if v != "" {
					said[own] = append(said[own], v)
				}
			}
		}
	}
	agreed := map[string]bool{}
	for _, d := range diff {
		pool, own := poolKey(d.Key)
		if values := said[own]; single[pool] &&
			(own == "name" || len(values) > 1 && len(slices.Compact(slices.Sorted(slices.Values(values)))) == 1) {
			agreed[d.Key] = true
		}
	}
	return agreed
}
