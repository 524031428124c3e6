package configs

import (
	"fmt"
	"reflect"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// Assumed is a value that nobody gave: a default of decodesim or of the engine.
type Assumed struct {
	Key   string // its path, in the engine's own words
	Value string // as a file has it
	Doc   string // what it means
}

// Assumed returns the values that no file, flag or variable gave, in the order of the resolved file. What is absent by
// default is left out: nothing was assumed there.
func (s *Scenario) Assumed() []Assumed {
	w := scenarioWriter{scenario: s}
	var all []Assumed
	w.assumed(reflect.ValueOf(s).Elem(), "", "", func(path string, a Assumed) {
		if !s.origins.given(path) {
			all = append(all, a)
		}
	})
	return all
}

// assumed calls found with each value of a struct that the resolved file has: under its path in the schema, and under
// the key in the words of its engine.
func (w *scenarioWriter) assumed(v reflect.Value, path, key string, found func(path string, a Assumed)) {
	engine, pool := engineOf(v)
	for _, f := range strict.FieldsOf(v.Type()) {
		value, doc := v.FieldByIndex(f.Index), v.Type().FieldByIndex(f.Index).Tag.Get("doc")
		at, own := strict.Join(path, f.Key), f.Key
		if pool != nil && pool.lacks(f.Key) || f.Optional && value.IsZero() {
			continue
		}
		if engine != nil && catalog.IsArgument(f.Key) {
			if !engine.Has(f.Key) {
				continue
			}
			own, doc = engine.Own(f.Key), w.argumentDoc(pool, engine, f.Key)
		}
		own = strict.Join(key, own)
		switch {
		case isSection(value):
			if !value.IsNil() {
				w.assumed(value.Elem(), at, own, found)
			}
		case isPlain(value):
			found(at, Assumed{own, literal(plain(value)), doc})
		case value.Kind() == reflect.Struct:
			w.assumed(value, at, own, found)
		case isRows(value):
			for i := range value.Len() {
				w.assumed(value.Index(i), fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("%s[%d]", own, i), found)
			}
		default:
			found(at, Assumed{own, literal(value), doc})
		}
	}
}
