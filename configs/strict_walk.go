package configs

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder walks YAML nodes beside the Go values they fill.
type decoder struct{ where *positions }

// scalarDecoder is a type that reads its own scalar, for values of more than one kind. The error says what it expects.
type scalarDecoder interface{ decodeScalar(n *yaml.Node) error }

func (d decoder) structInto(n *yaml.Node, out any) error {
	d.mark("", n)
	return d.value(n, "", reflect.ValueOf(out).Elem())
}

// value fills v from n, which stands at path.
func (d decoder) value(n *yaml.Node, path string, v reflect.Value) error {
	if err := d.plain(n, path); err != nil {
		return err
	}
	if own, ok := v.Addr().Interface().(scalarDecoder); ok {
		if err := own.decodeScalar(n); err != nil {
			return d.where.errorf(path, "%v", err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if isNull(n) {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n, path, v.Elem())
	case reflect.Struct:
		return d.mapping(n, path, v)
	case reflect.Map:
		return d.table(n, path, v)
	case reflect.Slice:
		return d.list(n, path, v)
	default:
		if err := scalar(n, path, v); err != nil {
			return d.where.errorf(path, "%v", err)
		}
		return nil
	}
}

// plain refuses what makes a file mean something else than it shows: anchors, aliases and tags.
func (d decoder) plain(n *yaml.Node, path string) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return d.where.errorf(path, "YAML anchors and aliases are not supported; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return d.where.errorf(path, "YAML tag %q is not supported; write the value without it", n.Tag)
	}
	return nil
}

// renamer is a struct whose keys may go by other names. A hint is for who mistypes one in n.
type renamer interface {
	keyOf(name string) string
	hint(name string, n *yaml.Node) string
}

// mapping fills the struct v, whose tags are all the keys there may be.
func (d decoder) mapping(n *yaml.Node, path string, v reflect.Value) error {
	known, keyOf := fieldsOf(v.Type()), sameKey
	hint := func(name string, _ *yaml.Node) string { return didYouMean(name, keysOf(known)) }
	if r, ok := v.Addr().Interface().(renamer); ok {
		keyOf, hint = r.keyOf, r.hint
	}
	return d.pairs(n, path, keyOf, func(key string, value *yaml.Node, at string) error {
		for _, f := range known {
			if f.key != key {
				continue
			}
			if isNull(value) && f.optional {
				delete(d.where.at, at) // absent: the default applies
				return nil
			}
			return d.value(value, at, v.FieldByIndex(f.index))
		}
		return d.where.errorf(at, "unknown key; %s", hint(key, n))
	})
}

func sameKey(name string) string { return name }

// table fills the map v, whose keys are free.
func (d decoder) table(n *yaml.Node, path string, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		panic("configs: a map with keys that are not strings: " + v.Type().String())
	}
	v.Set(reflect.MakeMap(v.Type()))
	return d.pairs(n, path, sameKey, func(key string, value *yaml.Node, at string) error {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(value, at, element); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
		return nil
	})
}

// pairs visits the keys of a mapping in the order of the file, refusing duplicates: a key is what keyOf makes of its name.
func (d decoder) pairs(n *yaml.Node, path string, keyOf func(string) string, visit func(key string, value *yaml.Node, at string) error) error {
	if n.Kind != yaml.MappingNode {
		return d.where.errorf(path, "expected a mapping of keys to values, got %s", describe(n))
	}
	first := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		key := keyOf(name.Value)
		at := join(path, key)
		d.mark(at, name)
		d.name(at, key, name.Value)
		switch before, seen := first[key]; {
		case name.Kind != yaml.ScalarNode || name.Anchor != "" || name.Style&yaml.TaggedStyle != 0:
			d.mark(path, name)
			return d.where.errorf(path, "expected a plain key, got %s", describe(name))
		case name.Value == "<<" && name.Tag == "!!merge":
			return d.where.errorf(at, "YAML merge keys (<<) are not supported; write the keys out")
		case seen && before.Value != name.Value:
			return d.where.errorf(at, "is another name of %s, which is on line %d; expected only one of them", before.Value, before.Line)
		case seen:
			return d.where.errorf(at, "duplicate key; the first is on line %d", before.Line)
		}
		first[key] = name
		if err := visit(key, value, at); err != nil {
			return err
		}
	}
	return nil
}

// name keeps the name that the key at a path goes by.
func (d decoder) name(path, key, name string) {
	if name == key {
		delete(d.where.names, path)
		return
	}
	d.where.names[path] = name
}

func (d decoder) mark(path string, n *yaml.Node) { d.where.at[path] = position{n.Line, n.Column} }

func (d decoder) list(n *yaml.Node, path string, v reflect.Value) error {
	if n.Kind != yaml.SequenceNode {
		return d.where.errorf(path, "expected a list, got %s", describe(n))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.mark(at, element)
		if err := d.value(element, at, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// field is one key of a struct.
type field struct {
	key      string
	index    []int
	optional bool // omitempty: null stands for absent
}

// fieldsOf returns the keys of a struct in the order of its fields; inlined structs lend theirs.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case key == "-" || !f.IsExported():
		case strings.Contains(options, "inline"):
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
		default:
			if key == "" {
				key = strings.ToLower(f.Name)
			}
			optional := strings.Contains(options, "omitempty") || f.Type.Kind() == reflect.Pointer
			fields = append(fields, field{key, []int{i}, optional})
		}
	}
	return fields
}

func keysOf(fields []field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return keys
}
