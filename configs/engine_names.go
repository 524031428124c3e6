package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/hardware"
)

var _ renamer = (*Pool)(nil)

// keyOf returns the key that every engine has for what some engine calls name, or else name.
func (p *Pool) keyOf(name string) string {
	all, err := engines()
	if err != nil {
		return name
	}
	for i := range all {
		if key, ok := all[i].Names[name]; ok {
			return key
		}
	}
	return name
}

// Own returns what the pool's engine calls a key that every engine has a name for.
func (p *Pool) Own(key string) string {
	engine, err := Engine(p.Engine)
	if err != nil {
		return key
	}
	return engine.Own(key)
}

// MemoryShareOf returns what GPUMemoryUtilization is a share of, to the pool's engine.
func (p *Pool) MemoryShareOf() hardware.ShareOf {
	engine, err := Engine(p.Engine)
	if err != nil {
		return hardware.OfTotal
	}
	return engine.MemoryShare
}

// hint suggests a key of a pool under the engine that n names, in that engine's words.
func (p *Pool) hint(name string, n *yaml.Node) string {
	engine := defaultPool().Engine
	if at := child(n, "engine"); at != nil {
		engine = at.Value
	}
	e, err := Engine(engine)
	if err != nil {
		return didYouMean(name, keysOf(fieldsOf(reflect.TypeFor[Pool]())))
	}
	return e.hint(name)
}

// hint suggests what the engine calls a key whose name is near to any that some engine has for it.
func (e *EngineSpec) hint(name string) string {
	have := e.poolKeys()
	if Suggest(name, have) == "" {
		names := e.Keys()
		if all, err := engines(); err == nil {
			for i := range all {
				names = append(names, all[i].OwnNames()...)
			}
		}
		if key := new(Pool).keyOf(Suggest(name, names)); e.has(key) {
			return fmt.Sprintf("did you mean %q?", e.Own(key))
		}
	}
	return didYouMean(name, have)
}

// poolKeys returns the keys of a pool of this engine, under its own names.
func (e *EngineSpec) poolKeys() []string {
	var keys []string
	for _, f := range fieldsOf(reflect.TypeFor[Pool]()) {
		switch {
		case !isArgument(f.key):
			keys = append(keys, f.key)
		case e.has(f.key):
			keys = append(keys, e.Own(f.key))
		}
	}
	return keys
}

// isArgument tells the keys of a pool that belong to its engine from those that every pool has.
func isArgument(key string) bool {
	_, ok := fieldNamed(fieldsOf(reflect.TypeFor[EngineArguments]()), key)
	return ok
}

// enginesWith returns the engines that have an argument of that name.
func enginesWith(name string) []string {
	all, err := engines()
	if err != nil {
		return nil
	}
	var with []string
	for i := range all {
		if slices.Contains(all[i].OwnNames(), name) {
			with = append(with, all[i].Name)
		}
	}
	return with
}

// arguments visits the keys that some layer gives the engine of the pool at path, in the order of the schema.
func (l *layers) arguments(path string, visit func(key, at string)) {
	for _, f := range fieldsOf(reflect.TypeFor[EngineArguments]()) {
		if at := join(path, f.key); l.origins.given(at) {
			visit(f.key, at)
		}
	}
}

// fitEngine refuses the arguments of the pool at path that its engine lacks, and those under the names of other engines; what
// is left goes by the engine's own names from now on.
func (l *layers) fitEngine(path string, e *EngineSpec) (err error) {
	l.arguments(path, func(key, at string) {
		name, renamed := l.origins.name(at), l.origins.name(at) != key
		switch own := e.Own(key); {
		case err != nil:
		case !e.has(key):
			err = l.origins.errorf(at, "engine %q has no such argument; it has %s", e.Name, quoted(e.OwnNames()))
		case renamed && own != name:
			err = l.origins.errorf(at, "is its name under %s; engine %q calls it %q", quoted(enginesWith(name)), e.Name, own)
		}
	})
	for _, key := range e.keys {
		at := join(path, key)
		if own := e.Own(key); own != key && !l.origins.given(at) {
			l.origins.where.names[at] = own
		}
	}
	return err
}

// name returns the last key of a path by the name that it goes by.
func (o *origins) name(path string) string {
	shown := o.where.shown(path)
	return shown[strings.LastIndexByte(shown, '.')+1:]
}

// keyed records that a layer calls the value at path so, and refuses a second name in the same layer.
func (l *layers) keyed(layer, path, name, by string) error {
	at := layer + " " + path
	if before, ok := l.written[at]; ok && before != name {
		return &fileError{by, "", fmt.Sprintf("is another name of %s, which stands beside it; expected only one of them", before)}
	}
	l.written[at] = name
	if key := path[strings.LastIndexByte(path, '.')+1:]; key == name {
		delete(l.origins.where.names, path)
	} else {
		l.origins.where.names[path] = name
	}
	return nil
}
