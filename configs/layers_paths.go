package configs

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// walk visits every value and every optional section of a scenario under its path, in the order of the schema. It
// enters the sections and list elements that v has.
func walk(v reflect.Value, path string, visit func(path string, f strict.Field, v reflect.Value)) {
	for _, f := range strict.FieldsOf(v.Type()) {
		at, inner := strict.Join(path, f.Key), v.FieldByIndex(f.Index)
		switch {
		case inner.Kind() == reflect.Struct:
			walk(inner, at, visit)
		case isSection(inner):
			visit(at, f, inner)
			if !inner.IsNil() {
				walk(inner.Elem(), at, visit)
			}
		case isRows(inner):
			for i := range inner.Len() {
				walk(inner.Index(i), fmt.Sprintf("%s[%d]", at, i), visit)
			}
		default:
			visit(at, f, inner)
		}
	}
}

// isSection: a part of a scenario that may be absent as a whole.
func isSection(v reflect.Value) bool {
	return v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct
}

// isRows: a list of parts with keys of their own.
func isRows(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct
}

// fillSections creates the sections that are absent.
func fillSections(v reflect.Value) {
	walk(v, "", func(_ string, _ strict.Field, inner reflect.Value) {
		if isSection(inner) && inner.IsNil() {
			inner.Set(reflect.New(inner.Type().Elem()))
		}
	})
}

// locate returns the path that a dotted key means: pools[0].replicas for pools.serve.replicas and pools.0.replicas; and
// the name of its last key, which may be an engine's own.
func (l *layers) locate(key string) (path, name string, err error) {
	v := reflect.ValueOf(l.skeleton).Elem()
	var beside []strict.Field // the keys of the part that path is in
	key = strings.NewReplacer("[", ".", "]", "").Replace(key)
	for _, element := range strings.Split(key, ".") {
		if isSection(v) {
			v = v.Elem()
		}
		switch {
		case isRows(v):
			i, err := l.row(path, element, v.Len())
			if err != nil {
				return "", "", err
			}
			path, v = fmt.Sprintf("%s[%d]", path, i), v.Index(i)
		case v.Kind() == reflect.Struct:
			known := strict.FieldsOf(v.Type())
			key := element
			if r, ok := v.Addr().Interface().(strict.Renamer); ok {
				key = r.KeyOf(element)
			}
			f, ok := strict.FieldNamed(known, key)
			if !ok {
				return "", "", fmt.Errorf("no key %q%s; %s", element, under(path), l.hint(path, element, v.Type()))
			}
			path, v, beside = strict.Join(path, key), v.FieldByIndex(f.Index), known
		default:
			first, _, _ := strings.Cut(name, "_") // kv_transfer.link is kv_link
			hint := first + "_" + element
			if _, ok := strict.FieldNamed(beside, hint); ok {
				return "", "", fmt.Errorf("%s is a value; it has no key %q; did you mean %q?", path, element, hint)
			}
			return "", "", fmt.Errorf("%s is a value; it has no key %q", path, element)
		}
		name = element
	}
	return path, name, nil
}

// hint suggests a key at path, whose type is t; that of a pool in the words of its engine, and one that has its place
// in a pool by the name of the first.
func (l *layers) hint(path, name string, t reflect.Type) string {
	engine, err := catalog.Engine(l.engineAt(path))
	if poolPath.MatchString(path) && err == nil {
		return engineHint(&engine, name)
	}
	if t == reflect.TypeFor[SLO]() {
		return new(SLO).Hint(name, nil)
	}
	hint := strict.KeyHint(t, name)
	if len(l.skeleton.Pools) > 0 {
		hint = strings.ReplaceAll(hint, "pools[0].", "pools."+l.poolName(0)+".")
	}
	return hint
}

// poolPath is the path of a pool.
var poolPath = regexp.MustCompile(`^pools\[\d+\]$`)

// engineAt returns the name of the engine of the pool at path, as the layers so far have it.
func (l *layers) engineAt(path string) string {
	for _, layer := range []map[string]any{l.set, l.env, l.file} {
		if name, ok := layer[path+".engine"].(string); ok {
			return name
		}
	}
	return defaultPool().Engine
}

// ownNames returns the names that engines of their own have for the key at path.
func (l *layers) ownNames(path, key string) []string {
	if !poolPath.MatchString(strict.Parent(path)) {
		return nil
	}
	all := catalog.Engines()
	var names []string
	for i := range all {
		if own := all[i].Own(key); own != key && !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return names
}

// row returns the index of a list element, by the name of a pool or of a class, or by its index.
func (l *layers) row(path, element string, rows int) (int, error) {
	kind, names := l.names(path, rows)
	if i := slices.Index(names, element); i >= 0 {
		return i, nil
	}
	i, err := strconv.Atoi(element)
	switch {
	case err == nil && i >= 0 && i < rows:
		return i, nil
	case len(names) > 0:
		return 0, fmt.Errorf("no %s %q; valid names: %s", kind, element, strict.Quoted(names))
	case rows == 0:
		return 0, fmt.Errorf("no element %q in %s, which is empty", element, path)
	}
	return 0, fmt.Errorf("no element %q in %s; valid: 0 to %d", element, path, rows-1)
}

// names returns what the elements of a list are, and their names; nil: they have none.
func (l *layers) names(path string, rows int) (kind string, names []string) {
	for i := range rows {
		switch path {
		case "pools":
			kind, names = "pool", append(names, l.poolName(i))
		case "workload.classes":
			kind, names = "class", append(names, l.skeleton.Workload.Classes[i].Name)
		case "autoscale":
			kind, names = "pool", append(names, l.skeleton.Autoscale[i].Pool)
		}
	}
	return kind, names
}

// at returns the field and the value of the skeleton at a path that locate or walk gave.
func (l *layers) at(path string) (strict.Field, reflect.Value) {
	v, f := reflect.ValueOf(l.skeleton).Elem(), strict.Field{}
	for _, element := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if isSection(v) {
			v = v.Elem()
		}
		if v.Kind() == reflect.Slice {
			i, _ := strconv.Atoi(element)
			v = v.Index(i)
			continue
		}
		f, _ = strict.FieldNamed(strict.FieldsOf(v.Type()), element)
		v = v.FieldByIndex(f.Index)
	}
	return f, v
}

// firstKey names a key inside a section or a list, as an example.
func firstKey(v reflect.Value) string {
	t, row := v.Type(), ""
	if isRows(v) {
		row = "0."
	}
	if t.Kind() != reflect.Struct {
		t = t.Elem()
	}
	return row + strict.FieldsOf(t)[0].Key
}

func under(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// isKeyed: a part of a scenario with keys of its own.
func isKeyed(v reflect.Value) bool { return v.Kind() == reflect.Struct || isSection(v) }

// parseKeys reads several keys of one part at once: {from: h200-sxm, bandwidth_bps: 5e12}. Those that it does not name
// keep their values, so that {} would say nothing.
func (l *layers) parseKeys(layer map[string]any, path, text, by string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) == 0 ||
		document.Content[0].Kind != yaml.MappingNode {
		return strict.Errorf(by, "%q is not a value; expected keys and values such as {%s: …}", text, l.firstKeyAt(path))
	}
	pairs := document.Content[0].Content
	if len(pairs) == 0 {
		return strict.Errorf(by, "{} sets nothing; expected keys and values such as {%s: …}", l.firstKeyAt(path))
	}
	source, seen := "environment", map[string]bool{}
	if strings.HasPrefix(by, "--set") {
		source = "--set"
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i].Value, pairs[i+1]
		if strings.ContainsAny(key, ".[]") || seen[key] {
			return strict.Errorf(by, "key %q twice or not of one word; expected each key once", key)
		}
		seen[key] = true
		at, name, err := l.locate(path + "." + key)
		if err != nil {
			return strict.Errorf(by, "%s", err.Error())
		}
		if err := l.keyed(source, at, name, by); err != nil {
			return err
		}
		inner, err := written(value)
		if err != nil {
			return strict.Errorf(by, "%q is not a value", text)
		}
		if err := l.parse(layer, at, inner, by); err != nil {
			return err
		}
	}
	return nil
}

// firstKeyAt names a key inside the part at path, as an example.
func (l *layers) firstKeyAt(path string) string {
	_, v := l.at(path)
	return firstKey(v)
}

// written is a value as it was written: in one line, and a text without quotes.
func written(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	n.Style = yaml.FlowStyle
	text, err := yaml.Marshal(n)
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\n", " ")), err
}
