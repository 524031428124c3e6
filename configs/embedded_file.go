package configs

import "fmt"

// Kinds are the catalogs that are built in, in the order in which File looks for a name.
func Kinds() []string { return []string{"scenarios", "gpus", "models", "engines", efficiencyDir} }

// FileNames returns the names of every file that is built in, by catalog.
func FileNames() []string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, embeddedNames(kind)...)
	}
	return names
}

// File returns the YAML that is built in under a name: of a scenario, a GPU, a model, an engine or efficiencies.
func File(name string) ([]byte, error) {
	for _, kind := range Kinds() {
		if _, data, ok := embedded(kind, name); ok {
			return data, nil
		}
	}
	hint := "see decodesim list"
	if near := Suggest(name, FileNames()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, fmt.Errorf("nothing built in is called %q; %s", name, hint)
}
