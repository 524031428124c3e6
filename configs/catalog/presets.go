package catalog

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
)

// presets is where the workloads are embedded that a file can begin from.
const presets = "workloads"

// PresetNames returns the workloads that a file can begin from.
func PresetNames() []string { return Names(presets) }

// ExpandPreset puts the workload that workload.preset names beneath what the file says of its own: keys of the file
// stand over it. All that comes of the preset stands where its name does, for errors.
func ExpandPreset(where *strict.Positions, root *yaml.Node) error {
	w := valueOf(root, "workload")
	name := valueOf(w, "preset")
	if name == nil || name.Kind != yaml.ScalarNode || name.Tag == "!!null" || twice(w, "preset") {
		return nil // or what Fill refuses
	}
	_, data, ok := Lookup(presets, name.Value)
	if !ok {
		where.Note("workload.preset", name)
		return where.Errorf("workload.preset", "%s", strict.UnknownName("preset", name.Value, PresetNames()))
	}
	var file struct{ Block string }
	var block yaml.Node
	if err := yaml.Unmarshal(data, &file); err != nil {
		return err
	}
	if err := yaml.Unmarshal([]byte(file.Block), &block); err != nil {
		return err
	}
	from := valueOf(block.Content[0], "workload")
	place(from, name.Line, name.Column)
	removeKey(w, "preset")
	for _, way := range []string{"closed_loop", "trace"} {
		if own := valueOf(w, way); own != nil && own.Tag != "!!null" { // requests come as the file says
			removeKey(from, "arrivals")
		}
	}
	merge(w, from)
	return nil
}

// laws are the keys that say what the others of their section mean: a section that has one of its own stands alone.
var laws = []string{"process", "distribution"}

// merge adds what a mapping lacks.
func merge(to, from *yaml.Node) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		own := valueOf(to, key.Value)
		switch {
		case own == nil:
			to.Content = append(to.Content, key, value)
		case own.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode &&
			!slices.ContainsFunc(laws, func(law string) bool { return valueOf(own, law) != nil }):
			merge(own, value)
		}
	}
}

// place moves a node and all in it to a place.
func place(n *yaml.Node, line, column int) {
	n.Line, n.Column = line, column
	for _, inside := range n.Content {
		place(inside, line, column)
	}
}

// valueOf returns the value of a key; nil: there is none, or no mapping.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// twice reports whether a mapping has a key more than once.
func twice(mapping *yaml.Node, key string) bool {
	n := 0
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			n++
		}
	}
	return n > 1
}

// removeKey takes a key and its value out of a mapping.
func removeKey(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}
