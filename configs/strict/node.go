package strict

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Pairs returns the keys and values of a mapping; none if it is nothing of the kind.
func Pairs(n *yaml.Node) [][2]*yaml.Node {
	var pairs [][2]*yaml.Node
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			pairs = append(pairs, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
		}
	}
	return pairs
}

// List returns the elements of a list; none if it is nothing of the kind.
func List(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// Child returns the value of a key of a mapping, or nil.
func Child(n *yaml.Node, key string) *yaml.Node {
	for _, pair := range Pairs(n) {
		if pair[0].Value == key {
			return pair[1]
		}
	}
	return nil
}

// Take is child that also removes the key.
func Take(n *yaml.Node, key string) *yaml.Node {
	for i, pair := range Pairs(n) {
		if pair[0].Value == key {
			n.Content = slices.Delete(n.Content, 2*i, 2*i+2)
			return pair[1]
		}
	}
	return nil
}

// RepeatedKey is a key that stands twice in one mapping.
type RepeatedKey struct {
	Key  string
	Line int // of the second one
}

func (k *RepeatedKey) Error() string {
	return fmt.Sprintf("key %q stands twice in one mapping; expected it once", k.Key)
}

// Repeated returns a key that stands twice in one mapping, of all that n holds; nil: each stands once. It takes a time
// by the number of keys, where the library compares each with all others.
func Repeated(n *yaml.Node) *RepeatedKey {
	if n == nil || n.Kind == yaml.ScalarNode {
		return nil
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for _, pair := range Pairs(n) {
			if key := pair[0]; key.Kind == yaml.ScalarNode {
				if seen[key.Value] {
					return &RepeatedKey{key.Value, key.Line}
				}
				seen[key.Value] = true
			}
		}
	}
	for _, inner := range n.Content {
		if key := Repeated(inner); key != nil {
			return key
		}
	}
	return nil
}

// HasKey reports whether a file of YAML has one of some keys at its top. Long lists of numbers make no nodes.
func HasKey(data []byte, names ...string) bool {
	short, _ := blankNumbers(data)
	var document yaml.Node // in a map the library would compare each key with all others
	if yaml.Unmarshal(short, &document) != nil || len(document.Content) == 0 ||
		document.Content[0].Kind != yaml.MappingNode {
		return false // which a strict reader says better
	}
	for _, pair := range Pairs(document.Content[0]) {
		if slices.Contains(names, pair[0].Value) {
			return true
		}
	}
	return false
}
