package strict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// ScalarDecoder is a type that reads its own scalar, for values of more than one kind. The error says what it expects.
type ScalarDecoder interface{ DecodeScalar(n *yaml.Node) error }

// Fill fills *out, a struct with yaml tags, from a node of the file, and notes where everything stands.
func (p *Positions) Fill(n *yaml.Node, out any) error {
	p.mark("", n)
	return p.value(n, "", reflect.ValueOf(out).Elem())
}

// Value fills v from the node of a value that stands in no file. Its errors have no position.
func Value(n *yaml.Node, path string, v reflect.Value) error {
	return NewPositions("").value(n, path, v)
}

// value fills v from n, which stands at path.
func (p *Positions) value(n *yaml.Node, path string, v reflect.Value) error {
	if err := p.plain(n, path); err != nil {
		return err
	}
	if own, ok := v.Addr().Interface().(ScalarDecoder); ok {
		if l := p.numbersAt(n); l != nil {
			for _, element := range l.nodes {
				one := *element
				n.Content = append(n.Content, &one)
			}
		}
		if err := own.DecodeScalar(n); err != nil {
			return p.Errorf(path, "%v", err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if isNull(n) {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return p.value(n, path, v.Elem())
	case reflect.Struct:
		if short, ok := v.Addr().Interface().(Shorthand); ok && n.Kind != yaml.MappingNode {
			f, _ := FieldNamed(FieldsOf(v.Type()), short.ShorthandKey())
			at, text := Join(path, f.Key), f.Type.Kind() == reflect.String
			if text || !isNull(n) {
				p.mark(at, n)
				if text {
					p.At[at], p.short[at] = p.At[path], true
				}
				return p.value(n, at, v.FieldByIndex(f.Index))
			}
		}
		if law, ok := v.Addr().Interface().(Constant); ok && n.Kind != yaml.MappingNode {
			if !isNumber(n) {
				return p.Errorf(path, "%s, got %s", NoLaw(law), Describe(n))
			}
			n = constantNode(n, law)
		}
		return p.mapping(n, path, v)
	case reflect.Map:
		return p.table(n, path, v)
	case reflect.Slice:
		return p.list(n, path, v)
	default:
		if err := scalar(n, path, v); err != nil {
			return p.Errorf(path, "%v", err)
		}
		return nil
	}
}

// plain refuses what makes a file mean something else than it shows: anchors, aliases and tags.
func (p *Positions) plain(n *yaml.Node, path string) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return p.Errorf(path, "YAML anchors and aliases are not supported; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return p.Errorf(path, "YAML tag %q is not supported; write the value without it", n.Tag)
	}
	return nil
}

// Shorthand is a struct in whose place the value of one of its keys may stand.
type Shorthand interface{ ShorthandKey() string }

// Constant is a law in whose place its mean may stand, if it draws nothing else: the name of that distribution.
type Constant interface{ ConstantDistribution() string }

// NoLaw says what is expected in the place of a law.
func NoLaw(law Constant) string {
	return "expected a number, or a law such as {distribution: " + law.ConstantDistribution() + ", mean: 5}"
}

// constantNode writes the law that the number n stands for, all of it where n is.
func constantNode(n *yaml.Node, law Constant) *yaml.Node {
	word := func(text string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: n.Line, Column: n.Column}
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{
		word("distribution"), word(law.ConstantDistribution()), word("mean"), n}}
}

// IsNumber reports whether text is one number as YAML has it.
func IsNumber(text string) bool {
	var n yaml.Node
	return yaml.Unmarshal([]byte(text), &n) == nil && len(n.Content) == 1 && isNumber(n.Content[0])
}

func isNumber(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float")
}

// Renamer is a struct whose keys may go by other names.
type Renamer interface{ KeyOf(name string) string }

// Hinter is a struct that knows best what a key in n that it lacks was meant to be.
type Hinter interface {
	Hint(name string, n *yaml.Node) string
}

// mapping fills the struct v, whose tags are all the keys there may be.
func (p *Positions) mapping(n *yaml.Node, path string, v reflect.Value) error {
	known, keyOf := FieldsOf(v.Type()), sameKey
	hint := func(name string, _ *yaml.Node) string { return KeyHint(v.Type(), name) }
	if r, ok := v.Addr().Interface().(Renamer); ok {
		keyOf = r.KeyOf
	}
	if h, ok := v.Addr().Interface().(Hinter); ok {
		hint = h.Hint
	}
	if isNumber(n) && hasKey(known, "value") && hasKey(known, "source") {
		return p.Errorf(path, "expected a value and who says so, such as {value: %s, source: data sheet}, got %s", n.Value,
			Describe(n))
	}
	return p.pairs(n, path, keyOf, func(key string, value *yaml.Node, at string) error {
		for _, f := range known {
			if f.Key != key {
				continue
			}
			if isNull(value) && f.Optional {
				delete(p.At, at) // absent: the default applies
				return nil
			}
			return p.value(value, at, v.FieldByIndex(f.Index))
		}
		return p.Errorf(at, "unknown key; %s", hint(key, n))
	})
}

func hasKey(fields []Field, key string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Key == key })
}

func sameKey(name string) string { return name }

// table fills the map v, whose keys are free.
func (p *Positions) table(n *yaml.Node, path string, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		panic("configs: a map with keys that are not strings: " + v.Type().String())
	}
	v.Set(reflect.MakeMap(v.Type()))
	return p.pairs(n, path, sameKey, func(key string, value *yaml.Node, at string) error {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := p.value(value, at, element); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
		return nil
	})
}

// pairs visits the keys of a mapping in the order of the file, refusing duplicates: a key is what keyOf makes of its
// name.
func (p *Positions) pairs(n *yaml.Node, path string, keyOf func(string) string,
	visit func(key string, value *yaml.Node, at string) error) error {
	if n.Kind != yaml.MappingNode {
		return p.Errorf(path, "expected a mapping of keys to values, got %s", Describe(n))
	}
	first := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		key := keyOf(name.Value)
		at := Join(path, key)
		p.mark(at, name)
		p.name(at, key, name.Value)
		switch before, seen := first[key]; {
		case name.Kind != yaml.ScalarNode || name.Anchor != "" || name.Style&yaml.TaggedStyle != 0:
			p.mark(path, name)
			return p.Errorf(path, "expected a plain key, got %s", Describe(name))
		case name.Value == "<<" && name.Tag == "!!merge":
			return p.Errorf(at, "YAML merge keys (<<) are not supported; write the keys out")
		case seen && before.Value != name.Value:
			return p.Errorf(at, "is another name of %s, which is on line %d; expected only one of them", before.Value,
				before.Line)
		case seen:
			return p.Errorf(at, "duplicate key; the first is on line %d", before.Line)
		}
		first[key] = name
		if err := visit(key, value, at); err != nil {
			return err
		}
	}
	return nil
}

// name keeps the name that the key at a path goes by.
func (p *Positions) name(path, key, name string) {
	if name == key {
		delete(p.Names, path)
		return
	}
	p.Names[path] = name
}

func (p *Positions) mark(path string, n *yaml.Node) { p.At[path] = Position{n.Line, n.Column} }

func (p *Positions) list(n *yaml.Node, path string, v reflect.Value) error {
	if n.Kind != yaml.SequenceNode {
		return p.Errorf(path, "expected a list, got %s", Describe(n))
	}
	if l := p.numbersAt(n); l != nil {
		return p.fill(l, path, v)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		p.mark(at, element)
		if err := p.value(element, at, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// Join returns the path of a key inside the value at path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Field is one key of a struct.
type Field struct {
	Key      string
	Index    []int
	Optional bool // omitempty: null stands for absent
	Type     reflect.Type
	Tag      reflect.StructTag
}

// structs has the fields of every struct that was asked for, by its type: they follow from the type, and a sweep that
// reads thousands of scenarios would read their tags each time.
var structs sync.Map

// FieldsOf returns the keys of a struct in the order of its fields; inlined structs lend theirs. Callers share the
// slice.
func FieldsOf(t reflect.Type) []Field {
	if fields, ok := structs.Load(t); ok {
		return fields.([]Field)
	}
	fields := readFields(t)
	structs.Store(t, fields)
	return fields
}

func readFields(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case key == "-" || !f.IsExported():
		case strings.Contains(options, "inline"):
			for _, inner := range FieldsOf(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				fields = append(fields, inner)
			}
		default:
			if key == "" {
				key = strings.ToLower(f.Name)
			}
			optional := strings.Contains(options, "omitempty") || f.Type.Kind() == reflect.Pointer
			fields = append(fields, Field{key, []int{i}, optional, f.Type, f.Tag})
		}
	}
	return fields
}

// KeysOf returns the names of fields.
func KeysOf(fields []Field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	return keys
}

// FieldNamed returns the field of that key; false: there is none.
func FieldNamed(fields []Field, key string) (Field, bool) {
	for _, f := range fields {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}
