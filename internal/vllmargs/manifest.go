package vllmargs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
)

// manifest returns what the containers of a Compose file or a Kubernetes manifest run, as the lines of a script that
// does the same with docker run; ok: the text is such a file. It refuses one with a key that stands twice, of which
// readers keep not all the same.
func manifest(text string) (script string, ok bool, err error) {
	if len(text) > textMax {
		return "", false, nil
	}
	var lines []string
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var root yaml.Node
		if err := decoder.Decode(&root); err != nil || len(root.Content) == 0 {
			break // what is no YAML behind a document that is one may be the text of a template
		}
		top := root.Content[0]
		switch services := valueOf(top, "services"); {
		case services != nil: // what services share stands beside them
			ok, lines = true, append(lines, containersIn(services, 0)...)
		case valueOf(top, "apiVersion") != nil:
			ok, lines = true, append(lines, containersIn(top, 0)...)
		default:
			continue
		}
		if key := strict.Repeated(top); key != nil {
			return "", false, fmt.Errorf("line %d: %w", key.Line, key)
		}
	}
	return strings.Join(lines, "\n"), ok, nil
}

// manifestDepthMax is how deep containers are sought: those of a custom resource are within 12 levels.
const manifestDepthMax = 32

// containersIn returns a line for every mapping with an image that is within n.
func containersIn(n *yaml.Node, depth int) (lines []string) {
	if depth > manifestDepthMax || n.Kind == yaml.AliasNode { // it stands elsewhere, too
		return nil
	}
	if image := valueOf(n, "image"); image != nil && image.Kind == yaml.ScalarNode {
		lines = environmentOf(n)
		words := []string{"docker run", inQuotes(image.Value)}
		for _, key := range []string{"entrypoint", "command", "args"} {
			words = append(words, wordsOfNode(valueOf(n, key))...)
		}
		return append(lines, strings.Join(words, " "))
	}
	for _, inner := range n.Content {
		lines = append(lines, containersIn(inner, depth+1)...)
	}
	return lines
}

// valueOf returns the value of a key of a mapping, or of one that is merged into it; nil: it has none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	var merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch n.Content[i].Value {
		case key:
			return value
		case "<<":
			if value.Kind == yaml.MappingNode {
				merged = value
			}
		}
	}
	for i := 0; merged != nil && i+1 < len(merged.Content); i += 2 {
		if merged.Content[i].Value == key {
			return merged.Content[i+1]
		}
	}
	return nil
}

// wordsOfNode returns a command as words of a script: of a list each in quotes, and a text as it stands, on one line.
func wordsOfNode(n *yaml.Node) (words []string) {
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return []string{foldedLine.ReplaceAllString(strings.TrimSpace(n.Value), " ")}
	case n.Kind == yaml.SequenceNode:
		for _, word := range n.Content {
			words = append(words, inQuotes(word.Value))
		}
	}
	return words
}

// foldedLine matches what separates the lines of a command, which YAML may have folded behind a backslash.
var foldedLine = regexp.MustCompile(`\s*\\\n\s*|\s*\n\s*|\s+\\\s+`)

// environmentOf returns the variables of a container as assignments.
func environmentOf(n *yaml.Node) (lines []string) {
	set := func(name, value string) {
		if nameOfVariable.MatchString(name) {
			lines = append(lines, "export "+name+"="+inQuotes(value))
		}
	}
	for _, key := range []string{"environment", "env"} {
		all := valueOf(n, key)
		switch {
		case all == nil:
		case all.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(all.Content); i += 2 {
				set(all.Content[i].Value, all.Content[i+1].Value)
			}
		case all.Kind == yaml.SequenceNode:
			for _, one := range all.Content {
				name, value, _ := strings.Cut(one.Value, "=")
				if named, given := valueOf(one, "name"), valueOf(one, "value"); named != nil && given != nil {
					name, value = named.Value, given.Value
				}
				set(name, value)
			}
		}
	}
	return slices.Compact(lines)
}

var nameOfVariable = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// inQuotes quotes a word so that variables in it are still replaced, as Compose does.
func inQuotes(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(word) + `"`
}
