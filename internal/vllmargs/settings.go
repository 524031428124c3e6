package vllmargs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
)

// namesFile reports whether a flag names a file of further flags.
func (g *given) namesFile() bool {
	return slices.Contains([]string{"--config", "--extra-llm-api-options"}, g.flag.names[0])
}

// unread has it said of a file that could not be read; the flags of one that could are in their places already.
func (d *draft) unread(g *given) error {
	if !g.remarked {
		d.differ(g, "no such file here, so its settings are not read")
	}
	return nil
}

// filesMax bounds how many files of settings are read, each of which may be as long as a scenario.
const filesMax = 8

// gather returns the flags of the arguments and of the files that they name. Over such files the command line wins,
// except in trtllm-serve (unverified).
func (d *draft) gather(args []string) ([]*given, error) {
	all, err := d.parse(args)
	if err != nil {
		return nil, err
	}
	files := 0
	for _, g := range slices.Clone(all) {
		if !g.namesFile() {
			continue
		}
		files++
		if files > filesMax {
			return nil, fmt.Errorf("%s is one file of settings too many; expected at most %d", g.text(), filesMax)
		}
		text, err := d.options.ReadFile(g.value())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", g.text(), err)
		}
		more, err := d.settings(g, text)
		if err != nil {
			return nil, err
		}
		d.idle(g, "its settings are read")
		if d.engine == tensorRTLLM {
			all = append(all, more...)
		} else {
			all = append(more, all...)
		}
	}
	return all, nil
}

// settings returns the flags of a YAML file, whose keys are their names.
func (d *draft) settings(g *given, text []byte) ([]*given, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s: %w; expected a YAML file of settings", g.text(), err)
	}
	if root.Kind == 0 {
		return nil, nil
	}
	if root.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: expected a YAML file of settings, each as key: value", g.text())
	}
	if key := strict.Repeated(&root); key != nil {
		return nil, fmt.Errorf("%s: line %d: %w", g.text(), key.Line, key)
	}
	return d.parse(flattened("--", root.Content[0], 0))
}

// depthMax bounds how deep settings nest.
const depthMax = 8

// flattened writes settings as flags; what is nested has dots in its name.
func flattened(prefix string, m *yaml.Node, depth int) []string {
	var args []string
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, v := prefix+m.Content[i].Value, m.Content[i+1]
		switch {
		case v.Kind == yaml.MappingNode && depth < depthMax:
			args = append(args, flattened(key+".", v, depth+1)...)
		case v.Kind == yaml.SequenceNode:
			var elements []string
			for _, e := range v.Content {
				elements = append(elements, e.Value)
			}
			args = append(args, key+"=["+strings.Join(elements, ", ")+"]")
		case v.Kind == yaml.ScalarNode && v.Tag != "!!null":
			args = append(args, key+"="+v.Value)
		}
	}
	return args
}
