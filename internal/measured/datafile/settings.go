package datafile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
)

// SettingsMax bounds a file of settings, in bytes. Each of its values takes a few hundred bytes of memory.
const SettingsMax = 4 << 20

// ReadSettings parses the YAML of a tool's settings, whose root is a mapping or nothing.
func ReadSettings(file string, data []byte) (Object, error) {
	o := Object{Origin: &Origin{File: file, Line: 1}}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return o, fmt.Errorf("%s: not YAML: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if key := strict.Repeated(&document); key != nil {
		return o, fmt.Errorf("%s:%d: %w", file, key.Line, key)
	}
	if len(document.Content) == 0 {
		return o, nil
	}
	b := budget(valuesMax)
	value, err := b.valueOf(document.Content[0])
	if err != nil {
		return o, fmt.Errorf("%s:%w", file, err)
	}
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return o, fmt.Errorf("%s:%d: expected a mapping of keys to values", file, document.Content[0].Line)
	}
	o.Fields = fields
	return o, nil
}

// valuesMax bounds the values of a file, those that aliases repeat included: nine lists of nine aliases of the one
// before are a billion.
const valuesMax = 1 << 18

// budget is how many more values there may be.
type budget int

// valueOf returns what a node says, as encoding/json would have it. The library compares each key of a map with all
// others, so that it decodes only single values. An error begins with its line.
func (b *budget) valueOf(n *yaml.Node) (any, error) {
	*b--
	if *b < 0 {
		return nil, fmt.Errorf("%d: it has more than %d values; expected a shorter file", n.Line, valuesMax)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return b.valueOf(n.Alias)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, element := range n.Content {
			value, err := b.valueOf(element)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.MappingNode:
		fields := make(map[string]any, len(n.Content)/2)
		for _, pair := range strict.Pairs(n) {
			value, err := b.valueOf(pair[1])
			if err != nil {
				return nil, err
			}
			if merged, ok := value.(map[string]any); ok && pair[0].Tag == "!!merge" {
				for key, inherited := range merged {
					if _, own := fields[key]; !own {
						fields[key] = inherited
					}
				}
				continue
			}
			fields[pair[0].Value] = value
		}
		return fields, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, fmt.Errorf("%d: %q is not a value: %w", n.Line, n.Value, err)
	}
	return value, nil
}
