package configs

import (
	"fmt"
	"regexp"
	"strconv"
)

// splitForm is a split as it is written: 1P3D.
var splitForm = regexp.MustCompile(`^([0-9]{1,7})[Pp]([0-9]{1,7})[Dd]$`)

// applySplit writes the replicas that split says into the prefill and the decode pool, and split is gone then: what is
// said twice may differ. A pool's own replicas yield to a split that stands above them, and must not contradict one
// that does not.
func (l *layers) applySplit(s *Scenario) error {
	if s.Split == "" && !s.origins.given("split") {
		return nil
	}
	m := splitForm.FindStringSubmatch(s.Split)
	if m == nil {
		return s.origins.errorf("split", "%q is no split; expected prefill and decode replicas, such as 1P3D", s.Split)
	}
	for i, role := range []string{RolePrefill, RoleDecode} {
		pools := s.PoolsOf(role)
		if len(pools) != 1 {
			return s.origins.errorf("split", "%q, but %d pools have the role %s; expected one", s.Split, len(pools), role)
		}
		n, _ := strconv.Atoi(m[i+1])
		path := fmt.Sprintf("pools[%d].replicas", pools[0])
		if p := &s.Pools[pools[0]]; p.Replicas != n && l.level(path) >= l.level("split") {
			return s.origins.errorf("split", "%q contradicts %s, %d; expected only one of them", s.Split, path, p.Replicas)
		}
		s.Pools[pools[0]].Replicas = n
		s.origins.moved(path, "split")
	}
	s.Split = ""
	return nil
}

// level returns how high the layer stands that says the value at path; 0: none does.
func (l *layers) level(path string) int {
	for i, layer := range []map[string]any{l.set, l.env, l.file} {
		if _, there := layer[path]; there {
			return 3 - i
		}
	}
	return 0
}

// moved lets errors about the value at path point at another, which it comes from.
func (o *origins) moved(path, from string) {
	delete(o.assigned, path)
	delete(o.where.At, path)
	if by, ok := o.assigned[from]; ok {
		o.assigned[path] = by
	} else if at, ok := o.where.At[from]; ok {
		o.where.At[path] = at
	}
}
