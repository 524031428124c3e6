package configs

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// Value is a key of a scenario, as --set takes it, and what it holds, as a file writes it.
type Value struct{ Key, Text string }

// Values returns what s holds, in the order of the schema, under the canonical keys whatever an engine calls them. What
// is absent is null where the key is optional; sections that are absent have no keys, nor has a pool for what its
// engine has no argument for.
func (s *Scenario) Values() []Value {
	var values []Value
	walk(reflect.ValueOf(s).Elem(), "", func(path string, f strict.Field, v reflect.Value) {
		if isSection(v) || s.foreign(path) {
			return
		}
		text := "null"
		if !f.Optional || !v.IsZero() {
			text = literal(v)
		}
		values = append(values, Value{s.named(path), text})
	})
	return values
}

// foreign reports whether a key belongs to engines or roles other than that of its pool.
func (s *Scenario) foreign(path string) bool {
	for i := range s.Pools {
		key, inPool := strings.CutPrefix(path, fmt.Sprintf("pools[%d].", i))
		switch {
		case inPool && s.Pools[i].lacks(key):
			return true
		case !inPool || !catalog.IsArgument(key):
			continue
		}
		engine, err := catalog.Engine(s.Pools[i].Engine)
		return err == nil && !engine.Has(key)
	}
	return false
}

// named writes pools.serve.replicas for pools[0].replicas.
func (s *Scenario) named(path string) string {
	for i := range s.Pools {
		if inPool, ok := strings.CutPrefix(path, fmt.Sprintf("pools[%d].", i)); ok {
			return "pools." + s.Pools[i].Name + "." + inPool
		}
	}
	return path
}
