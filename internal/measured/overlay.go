package measured

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// overlay returns a scenario's text with other keys over it. A workload keeps what is not a load, such as how prompts
// resemble each other; a pool keeps all but the keys given. What is not touched keeps its line, so that errors point
// into the user's file.
func overlay(name string, base []byte, over string) (string, error) {
	root, err := mapping(name, base)
	if err != nil {
		return "", err
	}
	top, err := mapping(name, []byte(over))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(base), "\n")
	changed := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if at := indexOf(root, key.Value); at >= 0 {
			value, err = merged(name, key.Value, root.Content[at+1], value)
			if err != nil {
				return "", err
			}
			blank(lines, root, at)
			root.Content = slices.Delete(root.Content, at, at+2)
		}
		changed.Content = append(changed.Content, key, value)
	}
	if root.Style&yaml.FlowStyle != 0 { // the whole scenario may be one line
		changed.Content = append(root.Content, changed.Content...)
		lines = nil
	}
	text, err := yaml.Marshal(changed)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	unchanged := strings.TrimRight(strings.Join(lines, "\n"), " \n")
	if unchanged != "" {
		unchanged += "\n"
	}
	return unchanged + string(text), nil
}

// mapping parses a YAML file whose root must be a mapping.
func mapping(name string, text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: not a scenario; expected keys and values, such as model, pools and workload", name)
	}
	return document.Content[0], nil
}

// indexOf returns where in a mapping's content a key is; −1: it is not.
func indexOf(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// blank empties the lines of the entry at index at of a block mapping, up to the next entry.
func blank(lines []string, m *yaml.Node, at int) {
	end := len(lines)
	for i := 0; i < len(m.Content); i += 2 {
		if l := m.Content[i].Line - 1; l > m.Content[at].Line-1 {
			end = min(end, l)
		}
	}
	for i := m.Content[at].Line - 1; i < end; i++ {
		lines[i] = ""
	}
}

// loadKeys are the keys of a workload that say when how much is asked.
var loadKeys = []string{
	"arrivals", "closed_loop", "trace", "lengths", "prompt_tokens", "output_tokens", "max_tokens", "requests",
	"duration_s", "warmup_s",
}

// merged returns what a top-level key becomes.
func merged(name, key string, base, over *yaml.Node) (*yaml.Node, error) {
	switch {
	case key == "workload" && base.Kind == yaml.MappingNode:
		for _, load := range loadKeys {
			if at := indexOf(base, load); at >= 0 {
				base.Content = slices.Delete(base.Content, at, at+2)
			}
		}
		base.Content = append(base.Content, over.Content...)
		base.Style = 0
		return base, nil
	case key == "pools" && base.Kind == yaml.SequenceNode && len(base.Content) > 0:
		if n := len(base.Content); n > 1 {
			return nil, fmt.Errorf("%s: pools: %d of them; expected 1, for the data say of which kind its GPUs are or how "+
				"they are used", name, n)
		}
		put(base.Content[0], over.Content[0])
		return base, nil
	}
	return over, nil
}

// put replaces or adds the entries of one mapping in another.
func put(base, over *yaml.Node) {
	for i := 0; i+1 < len(over.Content); i += 2 {
		if at := indexOf(base, over.Content[i].Value); at >= 0 {
			base.Content[at+1] = over.Content[i+1]
		} else {
			base.Content = append(base.Content, over.Content[i], over.Content[i+1])
		}
	}
}
