package datafile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
)

// Object is a JSON mapping. What it lacks reads as absent; the first error of its fields is kept for the whole value
// that it is a part of.
type Object struct {
	Origin *Origin
	path   string // within the value, such as benchmarks[0].metrics
	Fields map[string]any
}

// Origin is where a value of a file stands.
type Origin struct {
	File string
	Line int // where the value begins
	Err  error
}

// Has reports whether all these keys are there.
func (o Object) Has(keys ...string) bool {
	for _, key := range keys {
		if _, ok := o.Fields[key]; !ok {
			return false
		}
	}
	return true
}

// HasAny reports whether one of these keys is there.
func (o Object) HasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return o.Has(key) })
}

func (o Object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// Sub returns the mapping of a key; one without fields if there is none.
func (o Object) Sub(key string) Object {
	fields, _ := o.Fields[key].(map[string]any)
	return Object{o.Origin, o.at(key), fields}
}

// Elements returns the mappings in the list of a key.
func (o Object) Elements(key string) []Object {
	list, _ := asList(o.Fields[key])
	var all []Object
	for i, value := range list {
		fields, ok := value.(map[string]any)
		if !ok {
			o.Fail(fmt.Sprintf("%s[%d]", key, i), value, "a mapping")
		}
		all = append(all, Object{o.Origin, fmt.Sprintf("%s[%d]", o.at(key), i), fields})
	}
	return all
}

// Text returns a text, or the first of a list of texts; empty: there is none.
func (o Object) Text(key string) string {
	value := o.Fields[key]
	if list, ok := asList(value); ok && len(list) > 0 {
		value = list[0]
	}
	text, _ := value.(string)
	if !inputs.Printable(text) || text != "" && !inputs.Seen(text) {
		o.Fail(key, value, "text that can be seen, without characters that do not print")
	}
	return text
}

// Optional returns a finite number that may be absent or null.
func (o Object) Optional(key string) (x float64, ok bool) {
	value := o.Fields[key]
	if value == nil {
		return 0, false
	}
	x, ok = NumberOf(value)
	if !ok {
		o.Fail(key, value, "a number, or null")
	}
	return x, ok
}

// Amount returns a number of at least 0 that may be absent or null.
func (o Object) Amount(key string) (x float64, ok bool) {
	x, ok = o.Optional(key)
	if x < 0 {
		o.Fail(key, o.Fields[key], "a number of at least 0, or null")
	}
	return x, ok
}

// Positive returns a number above 0; 0 stands for an absent one, as tools write it.
func (o Object) Positive(key string) (x float64, ok bool) {
	x, ok = o.Optional(key)
	if x < 0 {
		o.Fail(key, o.Fields[key], "a number above 0, or null")
	}
	return x, ok && x > 0
}

// Required returns a number above 0 that must be there.
func (o Object) Required(key, what string) float64 {
	x, ok := NumberOf(o.Fields[key])
	if !ok || x <= 0 {
		o.Fail(key, o.Fields[key], what)
	}
	return x
}

// Numbers returns a list of numbers; nil: there is none.
func (o Object) Numbers(key string) []float64 { return o.numbers(key, o.Fields[key], "a number") }

// NumberLists returns the lists of numbers in a list, where want says what the numbers are; nil: there is none.
func (o Object) NumberLists(key, want string) [][]float64 {
	outer, _ := asList(o.Fields[key])
	all := make([][]float64, len(outer))
	for i, list := range outer {
		all[i] = o.numbers(fmt.Sprintf("%s[%d]", key, i), list, want)
	}
	if o.Origin.Err != nil {
		return nil
	}
	return all
}

// numbers returns the numbers of a list. What is no list has none.
func (o Object) numbers(key string, value any, want string) []float64 {
	if all, ok := value.([]float64); ok {
		return all
	}
	list, _ := value.([]any)
	var all []float64
	for i, value := range list {
		x, ok := NumberOf(value)
		if !ok {
			o.Fail(fmt.Sprintf("%s[%d]", key, i), value, want)
			return nil
		}
		all = append(all, x)
	}
	return all
}

// asList returns a list as values of any kind.
func asList(value any) ([]any, bool) {
	numbers, ok := value.([]float64)
	if !ok {
		list, ok := value.([]any)
		return list, ok
	}
	list := make([]any, len(numbers))
	for i, x := range numbers {
		list[i] = x
	}
	return list, true
}

// Count returns a whole number of at least least; absent or null: otherwise.
func (o Object) Count(key string, least, otherwise int) int {
	x, ok := o.Optional(key)
	if !ok {
		return otherwise
	}
	if x != math.Trunc(x) || x < float64(least) || x > 1e9 {
		o.Fail(key, o.Fields[key], fmt.Sprintf("a whole number from %d to 1e9", least))
		return otherwise
	}
	return int(x)
}

// Flag returns a truth value; absent or null: false.
func (o Object) Flag(key string) bool {
	value, ok := o.Fields[key].(bool)
	if !ok && o.Fields[key] != nil {
		o.Fail(key, o.Fields[key], "true or false")
	}
	return value
}

// Find returns the mapping at or below o that has a value for one of the keys and is nearest to o, in order of their
// names among equals. Tools move their settings from version to version.
func (o Object) Find(keys ...string) (at Object, key string, ok bool) {
	return o.findBy(func(value any) bool { return value != nil }, keys)
}

// Search returns the nearest number above 0 under one of the keys, as find does.
func (o Object) Search(keys ...string) (x float64, ok bool) {
	at, key, ok := o.findBy(func(value any) bool {
		x, isNumber := NumberOf(value)
		return isNumber && x > 0
	}, keys)
	if !ok {
		return 0, false
	}
	return NumberOf(at.Fields[key])
}

func (o Object) findBy(accept func(any) bool, keys []string) (at Object, key string, ok bool) {
	level := []Object{o}
	for len(level) > 0 {
		var below []Object
		for _, x := range level {
			for _, key := range keys {
				if accept(x.Fields[key]) {
					return x, key, true
				}
			}
			for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
				if next := x.Sub(key); next.Fields != nil {
					below = append(below, next)
				}
			}
		}
		level = below
	}
	return Object{}, "", false
}

// Fail keeps the first error.
func (o Object) Fail(key string, value any, want string) {
	if o.Origin.Err != nil {
		return
	}
	got := "missing"
	if value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte(fmt.Sprint(value))
		}
		got = string(text)
		if len(got) > 60 {
			got = strings.ToValidUTF8(got[:60], "") + "…"
		}
	}
	o.Origin.Err = fmt.Errorf("%s:%d: %s: %s; expected %s", o.Origin.File, o.Origin.Line, o.at(key), got, want)
}

// NumberOf returns a finite number of JSON or YAML.
func NumberOf(value any) (x float64, ok bool) {
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
