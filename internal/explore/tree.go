package explore

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is the text of a scenario as nodes.
type tree struct {
	document yaml.Node
	notes    []string // what a change took away
}

// parse reads a text of which it is known that it is a scenario.
func parse(text []byte) (*tree, error) {
	t := &tree{}
	if err := yaml.Unmarshal(text, &t.document); err != nil {
		return nil, err
	}
	if len(t.document.Content) != 1 || t.document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("expected a mapping of keys to values")
	}
	return t, nil
}

// text writes the tree as a file.
func (t *tree) text() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&t.document); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

func (t *tree) root() *yaml.Node { return t.document.Content[0] }

// pools are the mappings of the pools.
func (t *tree) pools() []*yaml.Node {
	if list := child(t.root(), "pools"); list != nil {
		return list.Content
	}
	return nil
}

// child returns the value of a key; nil: it is not there.
func child(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// set gives the value at a path such as workload.arrivals.rate, and makes the sections above it.
func set(mapping *yaml.Node, path string, value any) error {
	key, rest, deeper := strings.Cut(path, ".")
	at := child(mapping, key)
	if at == nil {
		at = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, at)
	}
	if deeper {
		if at.Kind != yaml.MappingNode {
			return fmt.Errorf("%s is a value of its own in the scenario", key)
		}
		return set(at, rest, value)
	}
	was := *at
	if err := at.Encode(value); err != nil {
		return err
	}
	if at.Kind == yaml.MappingNode {
		at.Style = yaml.FlowStyle
	}
	at.HeadComment, at.LineComment, at.FootComment = was.HeadComment, "", was.FootComment
	return nil
}

// unset removes keys of a mapping.
func unset(mapping *yaml.Node, keys ...string) {
	for _, key := range keys {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if mapping.Content[i].Value == key {
				mapping.Content = append(mapping.Content[:i:i], mapping.Content[i+2:]...)
				break
			}
		}
	}
}

// copied returns a node that can be changed without the other.
func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, inner := range n.Content {
		c.Content = append(c.Content, copied(inner))
	}
	return &c
}
