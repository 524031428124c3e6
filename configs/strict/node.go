package strict

import (
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
