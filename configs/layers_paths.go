package configs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// walk visits every value and every optional section of a scenario under its path, in the order of the schema. It enters
// the sections and list elements that v has.
func walk(v reflect.Value, path string, visit func(path string, f field, v reflect.Value)) {
	for _, f := range fieldsOf(v.Type()) {
		at, inner := join(path, f.key), v.FieldByIndex(f.index)
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
func isSection(v reflect.Value) bool { return v.Kind() == reflect.Pointer }

// isRows: a list of parts with keys of their own.
func isRows(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct
}

// fillSections creates the sections that are absent.
func fillSections(v reflect.Value) {
	walk(v, "", func(_ string, _ field, inner reflect.Value) {
		if isSection(inner) && inner.IsNil() {
			inner.Set(reflect.New(inner.Type().Elem()))
		}
	})
}

// locate returns the path that a dotted key means: pools[0].replicas for pools.serve.replicas and pools.0.replicas.
func (l *layers) locate(key string) (string, error) {
	v, path := reflect.ValueOf(l.skeleton).Elem(), ""
	key = strings.NewReplacer("[", ".", "]", "").Replace(key)
	for _, element := range strings.Split(key, ".") {
		if isSection(v) {
			v = v.Elem()
		}
		switch {
		case isRows(v):
			i, err := l.row(path, element, v.Len())
			if err != nil {
				return "", err
			}
			path, v = fmt.Sprintf("%s[%d]", path, i), v.Index(i)
		case v.Kind() == reflect.Struct:
			known := fieldsOf(v.Type())
			f, ok := fieldNamed(known, element)
			if !ok {
				return "", fmt.Errorf("no key %q%s; %s", element, under(path), didYouMean(element, keysOf(known)))
			}
			path, v = join(path, element), v.FieldByIndex(f.index)
		default:
			return "", fmt.Errorf("%s is a value; it has no key %q", path, element)
		}
	}
	return path, nil
}

// row returns the index of a list element, by the name of a pool or by its index.
func (l *layers) row(path, element string, rows int) (int, error) {
	var names []string
	if path == "pools" {
		for i := range rows {
			if names = append(names, l.poolName(i)); names[i] == element {
				return i, nil
			}
		}
	}
	i, err := strconv.Atoi(element)
	switch {
	case err == nil && i >= 0 && i < rows:
		return i, nil
	case path == "pools":
		return 0, fmt.Errorf("no pool %q; have %s", element, quoted(names))
	case rows == 0:
		return 0, fmt.Errorf("no element %q in %s, which is empty", element, path)
	}
	return 0, fmt.Errorf("no element %q in %s; have 0 to %d", element, path, rows-1)
}

// at returns the field and the value of the skeleton at a path that locate or walk gave.
func (l *layers) at(path string) (field, reflect.Value) {
	v, f := reflect.ValueOf(l.skeleton).Elem(), field{}
	for _, element := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if isSection(v) {
			v = v.Elem()
		}
		if v.Kind() == reflect.Slice {
			i, _ := strconv.Atoi(element)
			v = v.Index(i)
			continue
		}
		f, _ = fieldNamed(fieldsOf(v.Type()), element)
		v = v.FieldByIndex(f.index)
	}
	return f, v
}

func fieldNamed(fields []field, key string) (field, bool) {
	for _, f := range fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
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
	return row + fieldsOf(t)[0].key
}

func under(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}
