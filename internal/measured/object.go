package measured

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON mapping. What it lacks reads as absent; the first error of its fields is kept for the whole value
// that it is a part of.
type object struct {
	origin *origin
	path   string // within the value, such as benchmarks[0].metrics
	fields map[string]any
}

// origin is where a value of a file stands.
type origin struct {
	file string
	line int // where the value begins
	err  error
}

// has reports whether all these keys are there.
func (o object) has(keys ...string) bool {
	for _, key := range keys {
		if _, ok := o.fields[key]; !ok {
			return false
		}
	}
	return true
}

// hasOne reports whether one of these keys is there.
func (o object) hasOne(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return o.has(key) })
}

func (o object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// sub returns the mapping of a key; one without fields if there is none.
func (o object) sub(key string) object {
	fields, _ := o.fields[key].(map[string]any)
	return object{o.origin, o.at(key), fields}
}

// elements returns the mappings in the list of a key.
func (o object) elements(key string) []object {
	list, _ := o.fields[key].([]any)
	var all []object
	for i, value := range list {
		fields, ok := value.(map[string]any)
		if !ok {
			o.fail(fmt.Sprintf("%s[%d]", key, i), value, "a mapping")
		}
		all = append(all, object{o.origin, fmt.Sprintf("%s[%d]", o.at(key), i), fields})
	}
	return all
}

// text returns a text, or the first of a list of texts; empty: there is none.
func (o object) text(key string) string {
	value := o.fields[key]
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	text, _ := value.(string)
	return text
}

// optional returns a finite number that may be absent or null.
func (o object) optional(key string) (x float64, ok bool) {
	value := o.fields[key]
	if value == nil {
		return 0, false
	}
	if x, ok = numberOf(value); !ok {
		o.fail(key, value, "a number, or null")
	}
	return x, ok
}

// amount returns a number of at least 0 that may be absent or null.
func (o object) amount(key string) (x float64, ok bool) {
	x, ok = o.optional(key)
	if x < 0 {
		o.fail(key, o.fields[key], "a number of at least 0, or null")
	}
	return x, ok
}

// above returns a number above 0; 0 stands for an absent one, as tools write it.
func (o object) above(key string) (x float64, ok bool) {
	x, ok = o.optional(key)
	if x < 0 {
		o.fail(key, o.fields[key], "a number above 0, or null")
	}
	return x, ok && x > 0
}

// required returns a number above 0 that must be there.
func (o object) required(key, what string) float64 {
	x, ok := numberOf(o.fields[key])
	if !ok || x <= 0 {
		o.fail(key, o.fields[key], what)
	}
	return x
}

// numbers returns a list of numbers; nil: there is none.
func (o object) numbers(key string) []float64 {
	list, _ := o.fields[key].([]any)
	var all []float64
	for i, value := range list {
		x, ok := numberOf(value)
		if !ok {
			o.fail(fmt.Sprintf("%s[%d]", key, i), value, "a number")
			return nil
		}
		all = append(all, x)
	}
	return all
}

// find returns the mapping at or below o that has a value for one of the keys and is nearest to o, in order of their
// names among equals. Tools move their settings from version to version.
func (o object) find(keys ...string) (at object, key string, ok bool) {
	return o.findBy(func(value any) bool { return value != nil }, keys)
}

// search returns the nearest number above 0 under one of the keys, as find does.
func (o object) search(keys ...string) (x float64, ok bool) {
	at, key, ok := o.findBy(func(value any) bool {
		x, isNumber := numberOf(value)
		return isNumber && x > 0
	}, keys)
	if !ok {
		return 0, false
	}
	return numberOf(at.fields[key])
}

func (o object) findBy(accept func(any) bool, keys []string) (at object, key string, ok bool) {
	level := []object{o}
	for len(level) > 0 {
		var below []object
		for _, x := range level {
			for _, key := range keys {
				if accept(x.fields[key]) {
					return x, key, true
				}
			}
			for _, key := range slices.Sorted(maps.Keys(x.fields)) {
				if next := x.sub(key); next.fields != nil {
					below = append(below, next)
				}
			}
		}
		level = below
	}
	return object{}, "", false
}

// fail keeps the first error.
func (o object) fail(key string, value any, want string) {
	if o.origin.err != nil {
		return
	}
	got := "missing"
	if value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte(fmt.Sprint(value))
		}
		if got = string(text); len(got) > 60 {
			got = strings.ToValidUTF8(got[:60], "") + "…"
		}
	}
	o.origin.err = fmt.Errorf("%s:%d: %s: %s; expected %s", o.origin.file, o.origin.line, o.at(key), got, want)
}

// numberOf returns a finite number of JSON or YAML.
func numberOf(value any) (x float64, ok bool) {
	switch v := value.(type) {
	case json.Number:
		parsed, err := strconv.ParseFloat(v.String(), 64)
		x, ok = parsed, err == nil
	case float64:
		x, ok = v, true
	case int:
		x, ok = float64(v), true
	}
	return x, ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}
