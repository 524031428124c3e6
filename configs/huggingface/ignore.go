package huggingface

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

// ignore takes fields out of a config before it is read, by paths such as text_config.mystery_dim.
func ignore(f *fields, paths []string) ([]Unread, error) {
	var out []Unread
	for _, path := range paths {
		value, err := take(f.raw, path, "")
		if err != nil {
			return nil, err
		}
		taken := fields{raw: map[string]json.RawMessage{path: value}}
		out = append(out, Unread{Key: path, Value: taken.show(path), Class: Ignored})
	}
	return out, nil
}

// take removes the value at a path from an object that stands at above, and returns it.
func take(raw map[string]json.RawMessage, path, above string) (json.RawMessage, error) {
	if value, ok := raw[path]; ok {
		delete(raw, path)
		return value, nil
	}
	key, rest, nested := strings.Cut(path, ".")
	inner := map[string]json.RawMessage{}
	if value, ok := raw[key]; nested && ok && json.Unmarshal(value, &inner) == nil {
		value, err := take(inner, rest, above+key+".")
		if err != nil {
			return nil, err
		}
		raw[key], err = json.Marshal(inner)
		return value, err
	}
	near := ""
	if name := strict.Nearest(path, slices.Sorted(maps.Keys(raw))); name != "" {
		near = fmt.Sprintf("; did you mean %q?", above+name)
	}
	return nil, fmt.Errorf("ignore: the config has no field %q%s", above+path, near)
}
