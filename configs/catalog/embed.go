package catalog

import (
	"embed"
	"path"
	"strings"
	"sync"
)

// The catalogs travel in the binary, so that it runs from any directory, offline.
//
//go:embed gpus/*.yaml models/*.yaml engines/*.yaml engines/efficiencies/*.yaml scenarios/*.yaml studies/*.yaml acceptance/*.yaml workloads/*.yaml
var files embed.FS

// Names returns the names in an embedded directory, in order: its YAML files without their extension.
func Names(dir string) []string {
	entries, err := files.ReadDir(dir)
	if err != nil {
		panic("configs: no embedded directory " + dir)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Lookup returns the file of a name in an embedded directory and its bytes; ok: there is one.
func Lookup(dir, name string) (file string, data []byte, ok bool) {
	file = path.Join(dir, name+".yaml")
	if strings.Contains(name, "/") {
		return file, nil, false
	}
	data, err := files.ReadFile(file)
	return file, data, err == nil
}

// onEach returns read with a memory: it reads each name of an embedded directory at most once, for every build of a
// scenario asks for the same few.
func onEach[T any](dir string, read func(name string) (T, error)) func(name string) (T, error) {
	byName := sync.OnceValue(func() map[string]func() (T, error) {
		each := map[string]func() (T, error){}
		for _, name := range Names(dir) {
			each[name] = sync.OnceValues(func() (T, error) { return read(name) })
		}
		return each
	})
	return func(name string) (T, error) {
		if once, ok := byName()[name]; ok {
			return once()
		}
		return read(name) // which says what there is
	}
}
