package configs

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Kinds are the catalogs that are built in, in the order in which File looks for a name.
func Kinds() []string {
	return []string{"scenarios", "studies", "gpus", "models", "engines", efficiencyDir, acceptanceDir}
}

// FileNames returns the names of every file that is built in, by catalog. Where an earlier catalog has the name already, it
// comes with its own: efficiencies/sglang beside the engine sglang.
func FileNames() []string {
	var names []string
	for _, kind := range Kinds() {
		for _, name := range embeddedNames(kind) {
			if slices.Contains(names, name) {
				name = path.Base(kind) + "/" + name
			}
			names = append(names, name)
		}
	}
	return names
}

// File returns the YAML that is built in under a name: of a scenario, a study, a GPU, a model, an engine, efficiencies or acceptance curves. A catalog
// may stand before the name: efficiencies/sglang.
func File(name string) ([]byte, error) {
	catalog, rest, given := strings.Cut(name, "/")
	if !given {
		catalog, rest = "", name
	}
	for _, kind := range Kinds() {
		if catalog != "" && catalog != path.Base(kind) {
			continue
		}
		if _, data, ok := embedded(kind, rest); ok {
			return data, nil
		}
	}
	hint := "see decodesim list"
	if near := Suggest(name, FileNames()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, fmt.Errorf("nothing built in is called %q; %s", name, hint)
}
