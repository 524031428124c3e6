package huggingface

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
)

// countMax bounds every integer of a config; the tighter bounds are those of the shape.
const countMax = 1 << 30

// fields is one JSON object. Accessors mark the keys they look at, so that what is left over was understood by nobody.
// The first error sticks, and accessors return zero values from then on.
type fields struct {
	raw  map[string]json.RawMessage
	path string // prefix of keys in messages
	used map[string]bool
	err  error
}

func newFields(path string, data []byte) (*fields, error) {
	f := &fields{path: path, used: map[string]bool{}}
	if err := json.Unmarshal(data, &f.raw); err != nil {
		var other *json.UnmarshalTypeError
		if errors.As(err, &other) {
			return nil, fmt.Errorf("%sis a JSON %s; want a JSON object", label(path), other.Value)
		}
		return nil, fmt.Errorf("%sis not a JSON object: %w", label(path), err)
	}
	if f.raw == nil {
		return nil, fmt.Errorf("%sis null; want a JSON object", label(path))
	}
	for _, key := range slices.Sorted(maps.Keys(f.raw)) {
		if !inputs.PrintableName(key) {
			return nil, fmt.Errorf("%s%s has characters that do not print or that turn its direction; want a key without "+
				"them", path, inputs.Escaped(key))
		}
	}
	return f, nil
}

func label(path string) string {
	if path == "" {
		return "config "
	}
	return strings.TrimSuffix(path, ".") + " "
}

// fail keeps the first error: the key, its value and what is wrong.
func (f *fields) fail(key, format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s%s is %s: %s", f.path, key, f.show(key), fmt.Sprintf(format, args...))
	}
}

// show is the value of key as written, cut short.
func (f *fields) show(key string) string {
	v, ok := f.raw[key]
	if !ok {
		return "absent"
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return "unreadable"
	}
	const most = 80
	if b.Len() > most {
		return strings.ToValidUTF8(b.String()[:most], "") + "…"
	}
	return b.String()
}

// has reports whether key is there and not null, and marks it.
func (f *fields) has(key string) bool {
	f.used[key] = true
	v, ok := f.raw[key]
	return ok && string(bytes.TrimSpace(v)) != "null"
}

// first is the first key that has a value; all are marked.
func (f *fields) first(keys []string) (string, bool) {
	found := ""
	for _, k := range keys {
		if f.has(k) && found == "" {
			found = k
		}
	}
	return found, found != ""
}

// count is a whole number ≥ 0 under the first key that has one. Aliases that are present must agree.
func (f *fields) count(fallback int, keys ...string) int {
	found, ok := f.first(keys)
	if !ok {
		return fallback
	}
	n := f.countAt(found)
	for _, k := range keys {
		if k != found && f.has(k) && f.countAt(k) != n {
			f.fail(k, "%s says %d; want them equal", found, n)
		}
	}
	return n
}

// anyCount is like count but lets later aliases differ.
func (f *fields) anyCount(fallback int, keys ...string) int {
	if found, ok := f.first(keys); ok {
		return f.countAt(found)
	}
	return fallback
}

// required is a count ≥ 1 that must be there.
func (f *fields) required(keys ...string) int {
	n := f.count(-1, keys...)
	if n < 0 && f.err == nil {
		f.err = fmt.Errorf("%s%s is missing; want a whole number ≥ 1 under %s", f.path, keys[0], strings.Join(keys, ", "))
	}
	if n == 0 && f.err == nil {
		found, _ := f.first(keys)
		f.fail(found, "want a whole number ≥ 1")
	}
	return n
}

// requiredOr is a count ≥ 1 that must be there unless the family has a default.
func (f *fields) requiredOr(fallback int, keys ...string) int {
	if _, ok := f.first(keys); !ok && fallback > 0 {
		return fallback
	}
	return f.required(keys...)
}

// countAt reads a whole number, or a list of equal ones, which some families write per layer.
func (f *fields) countAt(key string) int {
	v := bytes.TrimSpace(f.raw[key])
	if len(v) > 0 && v[0] == '[' {
		list := f.counts(key)
		for _, n := range list {
			if n != list[0] {
				f.fail(key, "want one whole number; layers that differ in it are not understood")
				return 0
			}
		}
		if len(list) > 0 {
			return list[0]
		}
	}
	n, ok := wholeNumber(v)
	if !ok {
		f.fail(key, "want a whole number from 0 to %d", countMax)
		return 0
	}
	return n
}

// wholeNumber reads an integer, written with a zero fraction or not.
func wholeNumber(v []byte) (int, bool) {
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil || x < 0 || x > countMax || x != float64(int(x)) {
		return 0, false
	}
	return int(x), true
}

// counts is a list of whole numbers; absent is empty. Booleans count as 0 and 1.
func (f *fields) counts(key string) []int {
	if !f.has(key) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(f.raw[key], &list) != nil {
		f.fail(key, "want a list of whole numbers")
		return nil
	}
	out := make([]int, 0, len(list))
	for _, v := range list {
		n, ok := wholeNumber(v)
		switch string(v) {
		case "true":
			n, ok = 1, true
		case "false":
			n, ok = 0, true
		}
		if !ok {
			f.fail(key, "want a list of whole numbers, found %.40s in it", v)
			return nil
		}
		out = append(out, n)
	}
	return out
}

// isList reports whether key holds a list.
func (f *fields) isList(key string) bool {
	v := bytes.TrimSpace(f.raw[key])
	return f.has(key) && len(v) > 0 && v[0] == '['
}

// isText reports whether key holds a string.
func (f *fields) isText(key string) bool {
	v := bytes.TrimSpace(f.raw[key])
	return f.has(key) && len(v) > 0 && v[0] == '"'
}

// flag is a boolean under the first key that has one.
func (f *fields) flag(fallback bool, keys ...string) bool {
	key, ok := f.first(keys)
	if !ok {
		return fallback
	}
	var b bool
	if json.Unmarshal(f.raw[key], &b) != nil {
		f.fail(key, "want true or false")
	}
	return b
}

// text is a string under the first key that has one.
func (f *fields) text(fallback string, keys ...string) string {
	key, ok := f.first(keys)
	if !ok {
		return fallback
	}
	var s string
	if json.Unmarshal(f.raw[key], &s) != nil {
		f.fail(key, "want a string")
	}
	return s
}

// texts is a list of strings; absent is empty.
func (f *fields) texts(key string) []string {
	if !f.has(key) {
		return nil
	}
	var list []string
	if json.Unmarshal(f.raw[key], &list) != nil {
		f.fail(key, "want a list of strings")
	}
	return list
}

// object is the object under key; nil if absent.
func (f *fields) object(key string) *fields {
	if !f.has(key) {
		return nil
	}
	inner, err := newFields(f.path+key+".", f.raw[key])
	if err != nil && f.err == nil {
		f.err = err
	}
	return inner
}

// objects is a list of objects; absent is empty.
func (f *fields) objects(key string) []*fields {
	if !f.has(key) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(f.raw[key], &list) != nil {
		f.fail(key, "want a list of objects")
		return nil
	}
	var out []*fields
	for i, data := range list {
		inner, err := newFields(fmt.Sprintf("%s%s[%d].", f.path, key, i), data)
		if err != nil {
			f.err = firstError(f.err, err)
			return nil
		}
		out = append(out, inner)
	}
	return out
}

// number is a finite number above 0 that must be there.
func (f *fields) number(key string) float64 {
	x, err := strconv.ParseFloat(string(bytes.TrimSpace(f.raw[key])), 64)
	if !f.has(key) || err != nil || !(x > 0 && x < countMax) {
		f.fail(key, "want a number above 0")
		return 0
	}
	return x
}

// lift copies the fields of inner objects beside f's own, which win.
func (f *fields) lift(keys ...string) {
	for _, key := range keys {
		inner := f.object(key)
		if inner == nil {
			continue
		}
		for _, k := range inner.keys() {
			if _, ok := f.raw[k]; !ok {
				f.raw[k] = inner.raw[k]
			}
		}
	}
}

// keys are all keys in order.
func (f *fields) keys() []string {
	out := make([]string, 0, len(f.raw))
	for k := range f.raw {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
