package configs

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// YAML returns the scenario with every value written out, as a file that Load reads back to the same scenario. Its
// paths are absolute, so the file may stand anywhere on this machine.
func (s *Scenario) YAML() []byte { return s.write() }

// YAMLFor is YAML with paths relative to the directory the file will stand in, so that both may move together.
func (s *Scenario) YAMLFor(dir string) ([]byte, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("configs: directory %q: %w", dir, err)
	}
	moved := s.Clone()
	for _, p := range moved.paths() {
		*p = seenFrom(from, *p)
	}
	return moved.write(), nil
}

// seenFrom returns an absolute path as a relative one from a directory; an absent one stays absent, and one on another
// volume absolute, since nothing else leads there.
func seenFrom(dir, path string) string {
	relative, err := filepath.Rel(dir, path)
	if path == "" || err != nil {
		return path
	}
	relative = filepath.ToSlash(relative)
	if !strings.Contains(relative, "/") {
		relative = "./" + relative
	}
	return relative
}

// Clone copies s as deeply as paths reach.
func (s *Scenario) Clone() *Scenario {
	c := *s
	c.Pools = append([]Pool(nil), s.Pools...)
	if s.Workload.Trace != nil {
		trace := *s.Workload.Trace
		c.Workload.Trace = &trace
	}
	if s.Workload.Lengths != nil {
		lengths := *s.Workload.Lengths
		c.Workload.Lengths = &lengths
	}
	return &c
}

func (s *Scenario) write() []byte {
	w := scenarioWriter{scenario: s}
	w.WriteString("# A scenario with every default written out; it runs as it stands.\n")
	w.keys(reflect.ValueOf(s).Elem(), "", "")
	return w.Bytes()
}

// scenarioWriter writes YAML in the order of the schema, with the doc of each key behind it.
type scenarioWriter struct {
	bytes.Buffer
	scenario *Scenario
}

// docColumn is where comments start, if the line is not longer.
const docColumn = 44

// keys writes the keys of a struct; the first line starts with first, which is indent or the dash of a list.
func (w *scenarioWriter) keys(v reflect.Value, first, indent string) {
	engine, pool := engineOf(v)
	for _, f := range strict.FieldsOf(v.Type()) {
		value, doc := v.FieldByIndex(f.Index), v.Type().FieldByIndex(f.Index).Tag.Get("doc")
		if pool != nil && pool.lacks(f.Key) {
			continue
		}
		if engine != nil && catalog.IsArgument(f.Key) {
			if !engine.Has(f.Key) {
				continue
			}
			f.Key, doc = engine.Own(f.Key), w.argumentDoc(pool, engine, f.Key)
		}
		switch {
		case f.Optional && value.IsZero() && doc == "":
			continue
		case f.Optional && value.IsZero():
			w.line(first+f.Key+": null", doc)
		case isSection(value):
			fmt.Fprintf(w, "%s%s:\n", first, f.Key)
			w.keys(value.Elem(), indent+"  ", indent+"  ")
		case isPlain(value):
			w.line(first+f.Key+": "+literal(plain(value)), doc)
		case value.Kind() == reflect.Struct && value.IsZero() && doc == "" && undocumented(value.Type()):
			continue
		case value.Kind() == reflect.Struct:
			fmt.Fprintf(w, "%s%s:\n", first, f.Key)
			w.keys(value, indent+"  ", indent+"  ")
		case isRows(value):
			fmt.Fprintf(w, "%s%s:\n", first, f.Key)
			for i := range value.Len() {
				w.keys(value.Index(i), indent+"  - ", indent+"    ")
			}
		default:
			w.line(first+f.Key+": "+literal(value), doc)
		}
		first = indent
	}
}

// isPlain reports whether a section can be written as the value of its shorthand: it has that alone, and none of its
// other keys is documented in files.
func isPlain(v reflect.Value) bool {
	short, ok := shorthand(v)
	if !ok || v.Kind() != reflect.Struct || !undocumented(v.Type()) {
		return false
	}
	for _, f := range strict.FieldsOf(v.Type()) {
		if f.Key != short && !v.FieldByIndex(f.Index).IsZero() {
			return false
		}
	}
	return true
}

// plain returns the value of a section's shorthand.
func plain(v reflect.Value) reflect.Value {
	short, _ := shorthand(v)
	f, _ := strict.FieldNamed(strict.FieldsOf(v.Type()), short)
	return v.FieldByIndex(f.Index)
}

// undocumented reports whether no key of a struct is documented in files: those that are absent are left out.
func undocumented(t reflect.Type) bool {
	for _, f := range strict.FieldsOf(t) {
		if f.Tag.Get("doc") != "" {
			return false
		}
	}
	return true
}

// argumentDoc says what an argument means to the engine, and whether its value is what the engine takes by itself.
func (w *scenarioWriter) argumentDoc(p *Pool, e *catalog.EngineSpec, key string) string {
	doc := e.Doc(key)
	if w.scenario == nil { // a study, whose pools are written as they are
		return doc
	}
	d, err := w.scenario.engineDefaults(p)
	if err != nil {
		return doc
	}
	if why := d.why(key); why != "" {
		return doc + "; " + why
	}
	return doc
}

// engineOf returns v as a pool, and the engine whose words that is written in; nil: v is no pool.
func engineOf(v reflect.Value) (*catalog.EngineSpec, *Pool) {
	p, ok := v.Addr().Interface().(*Pool)
	if !ok {
		return nil, nil
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return nil, p
	}
	return &engine, p
}

func (w *scenarioWriter) line(text, doc string) {
	if doc != "" {
		text = fmt.Sprintf("%-*s # %s", docColumn, text, doc)
	}
	w.WriteString(text + "\n")
}

// literal writes a value so that the strict decoder reads it back.
func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		var list strings.Builder
		for i := range v.Len() {
			if i > 0 {
				list.WriteString(", ")
			}
			e := v.Index(i)
			element := literal(e)
			if e.Kind() == reflect.String && !readsInList(element, e.String()) {
				element = strconv.Quote(e.String())
			}
			list.WriteString(element)
		}
		return "[" + list.String() + "]"
	case reflect.Pointer:
		return literal(v.Elem())
	case reflect.Float64:
		if math.IsInf(v.Float(), 1) {
			return ".inf"
		}
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.String:
		return quote(v)
	}
	return fmt.Sprint(v.Interface())
}

// readsInList reports whether text between brackets is one element of this value: a comma, a bracket or a brace may end
// it there, and the YAML library reads nothing behind the end of the list.
func readsInList(text, value string) bool {
	var elements []yaml.Node
	return yaml.Unmarshal([]byte("["+text+"]"), &elements) == nil && len(elements) == 1 &&
		elements[0].Kind == yaml.ScalarNode && elements[0].Value == value && !strings.ContainsAny(value, "{}[],")
}

// quote writes text, in quotes where it would read as something else.
func quote(v reflect.Value) string {
	text := v.String()
	switch v.Type() {
	case reflect.TypeFor[AutoBool](), reflect.TypeFor[strict.Release](), reflect.TypeFor[catalog.Override]():
		return text
	}
	var n yaml.Node
	plain := yaml.Unmarshal([]byte("k: "+text), &n) == nil && len(n.Content) == 1 &&
		n.Content[0].Kind == yaml.MappingNode &&
		len(n.Content[0].Content) == 2 && n.Content[0].Content[1].Tag == "!!str" && n.Content[0].Content[1].Value == text &&
		n.Content[0].Content[1].Style == 0 && n.Content[0].Content[1].Anchor == ""
	if plain {
		return text
	}
	return strconv.Quote(text)
}
