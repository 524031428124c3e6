package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"go.yaml.in/yaml/v3"
)

var (
	_ strict.Renamer = (*Pool)(nil)
	_ strict.Hinter  = (*Pool)(nil)
	_ strict.Hinter  = (*SLO)(nil)
)

// KeyOf returns the key that every engine has for what some engine calls name, or else name.
func (p *Pool) KeyOf(name string) string {
	all := catalog.Engines()
	for i := range all {
		if key, ok := all[i].Names[name]; ok {
			return key
		}
	}
	return name
}

// Own returns what the pool's engine calls a key that every engine has a name for.
func (p *Pool) Own(key string) string {
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return key
	}
	return engine.Own(key)
}

// MemoryShareOf returns what GPUMemoryUtilization is a share of, to the pool's engine.
func (p *Pool) MemoryShareOf() hardware.ShareOf {
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return hardware.OfTotal
	}
	return engine.MemoryShare
}

// Hint suggests a key of a pool under the engine that n names, in that engine's words.
func (p *Pool) Hint(name string, n *yaml.Node) string {
	engine := defaultPool().Engine
	if at := strict.Child(n, "engine"); at != nil {
		engine = at.Value
	}
	e, err := catalog.Engine(engine)
	if err != nil {
		return strict.DidYouMean("keys", name, strict.KeysOf(strict.FieldsOf(reflect.TypeFor[Pool]())))
	}
	return engineHint(&e, name)
}

// engineHint suggests what the engine calls a key whose name is near to any that some engine has for it, and says where
// one of the whole scenario stands.
func engineHint(e *catalog.EngineSpec, name string) string {
	have := poolKeys(e)
	if _, ok := strict.FieldNamed(strict.FieldsOf(reflect.TypeFor[Scenario]()), name); ok {
		return fmt.Sprintf("expected %s beside pools, for it is the same in all of them", name)
	}
	if key := strict.Synonym(name); slices.Contains(have, key) {
		return fmt.Sprintf("did you mean %q?", key)
	}
	if strict.Suggest(name, have) == "" {
		names := e.Keys()
		all := catalog.Engines()
		for i := range all {
			names = append(names, all[i].OwnNames()...)
		}
		if key := new(Pool).KeyOf(strict.Suggest(name, names)); e.Has(key) {
			return fmt.Sprintf("did you mean %q?", e.Own(key))
		}
	}
	if strings.HasPrefix(name, "network_") && strings.HasSuffix(name, "bps") {
		return `did you mean "kv_link_bps"? it is in bytes/s`
	}
	hint := strict.DidYouMean("keys", name, have)
	if alike := strict.Alike(name, have); len(alike) > 0 && strings.HasPrefix(hint, "valid ") {
		if len(alike) == 1 {
			return fmt.Sprintf("did you mean %q?", alike[0])
		}
		return "did you mean one of " + strict.Quoted(alike) + "?" // all would be some sixty
	}
	return hint
}

// poolKeys returns the keys of a pool of this engine, under its own names.
func poolKeys(e *catalog.EngineSpec) []string {
	var keys []string
	for _, f := range strict.FieldsOf(reflect.TypeFor[Pool]()) {
		switch {
		case !catalog.IsArgument(f.Key):
			keys = append(keys, f.Key)
		case e.Has(f.Key):
			keys = append(keys, e.Own(f.Key))
		}
	}
	return keys
}

// arguments visits the keys that some layer gives the engine of the pool at path, in the order of the schema.
func (l *layers) arguments(path string, visit func(key, at string)) {
	for _, f := range strict.FieldsOf(reflect.TypeFor[catalog.EngineArguments]()) {
		if at := strict.Join(path, f.Key); l.origins.given(at) {
			visit(f.Key, at)
		}
	}
}

// fitEngine refuses the arguments of the pool at path that its engine lacks, and those under the names of other
// engines; what is left goes by the engine's own names from now on.
func (l *layers) fitEngine(path string, e *catalog.EngineSpec) (err error) {
	l.arguments(path, func(key, at string) {
		name, renamed := l.origins.name(at), l.origins.name(at) != key
		switch own := e.Own(key); {
		case err != nil:
		case !e.Has(key):
			err = l.origins.errorf(at, "engine %q has no such argument; valid keys: %s", e.Name, strict.Quoted(e.OwnNames()))
		case renamed && own != name:
			err = l.origins.errorf(at, "is its name under %s; engine %q calls it %q", strict.Quoted(catalog.EnginesWith(name)),
				e.Name, own)
		}
	})
	for _, key := range e.Keys() {
		at := strict.Join(path, key)
		if own := e.Own(key); own != key && !l.origins.given(at) {
			l.origins.where.Names[at] = own
		}
	}
	return err
}

// name returns the last key of a path by the name that it goes by.
func (o *origins) name(path string) string {
	written := o.where.Written(path)
	return written[strings.LastIndexByte(written, '.')+1:]
}

// keyed records that a layer calls the value at path so, and refuses a second name in the same layer.
func (l *layers) keyed(layer, path, name, by string) error {
	at := layer + " " + path
	if before, ok := l.written[at]; ok && before != name {
		return strict.Errorf(by, "is another name of %s, which stands beside it; expected only one of them", before)
	}
	l.written[at] = name
	if key := path[strings.LastIndexByte(path, '.')+1:]; key == name {
		delete(l.origins.where.Names, path)
	} else {
		l.origins.where.Names[path] = name
	}
	return nil
}

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
