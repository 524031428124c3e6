package catalog

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/strict"
)

// Kinds are the catalogs that are built in, in the order in which File looks for a name.
func Kinds() []string {
	return []string{"scenarios", "studies", "gpus", "models", "engines", EfficiencyDir, acceptanceDir, "workloads"}
}

// FileNames returns the names of every file that is built in, by catalog. Where an earlier catalog has the name
// already, it comes with its own: efficiencies/sglang beside the engine sglang.
func FileNames() []string {
	var names []string
	for _, kind := range Kinds() {
		for _, name := range Names(kind) {
			if slices.Contains(names, name) {
				name = path.Base(kind) + "/" + name
			}
			names = append(names, name)
		}
	}
	return names
}

// File returns the YAML that is built in under a name: of a scenario, a study, a GPU, a model, an engine, efficiencies
// or acceptance curves. A catalog may stand before the name: efficiencies/sglang. GPUs and models are found as people
// write them too.
func File(name string) ([]byte, error) {
	catalog, rest, given := strings.Cut(name, "/")
	if !given {
		catalog, rest = "", name
	}
	for _, kind := range Kinds() {
		if catalog != "" && catalog != path.Base(kind) {
			continue
		}
		if _, data, ok := Lookup(kind, rest); ok {
			return data, nil
		}
	}
	if kind, own := asWritten(name); own != "" {
		_, data, _ := Lookup(kind, own)
		return data, nil
	}
	if gpu, _ := CountedGPU(name); unpriced[shortGPU(gpu)] != "" {
		return nil, UnknownGPU(name)
	}
	hint := "see decodesim list"
	if near := firstName(strict.Suggest(name, FileNames()), NearestModel(name), NearestGPU(name)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, fmt.Errorf("nothing built in is called %q; %s", name, hint)
}

// asWritten returns the GPU or the model of the catalog that is meant by H200 or Qwen/Qwen3-32B; empty: none is.
func asWritten(name string) (kind, own string) {
	gpu, _ := CountedGPU(name)
	if own, ok := GPUNamed(gpu); ok {
		return "gpus", own
	}
	if own, ok := ModelNamed(name); ok {
		return "models", own
	}
	return "", ""
}

func firstName(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return ""
}

// ReadFile reads a file that a user named, for errors that say what it was for.
func ReadFile(kind, file string) ([]byte, error) {
	f, err := inputs.Open(file)
	switch {
	case os.IsNotExist(err):
		return nil, fmt.Errorf("%s file %q does not exist", kind, file)
	case err != nil:
		return nil, fmt.Errorf("%s file %q cannot be read: %w", kind, file, err)
	}
	defer f.Close()
	if isDirectory(f) {
		return nil, fmt.Errorf("%s file %q is a directory; expected a YAML file", kind, file)
	}
	data, err := io.ReadAll(io.LimitReader(f, SizeMax+1))
	if err != nil {
		return nil, fmt.Errorf("%s file %q cannot be read: %w", kind, file, err)
	}
	if len(data) > SizeMax {
		return nil, fmt.Errorf("%s file %q is longer than %d bytes (4 MiB); expected a shorter YAML file", kind, file,
			SizeMax)
	}
	return data, nil
}

// SizeMax bounds what is read of a file, which may be a device without an end.
const SizeMax = 4 << 20

func isDirectory(f *os.File) bool {
	at, err := f.Stat()
	return err == nil && at.IsDir()
}
