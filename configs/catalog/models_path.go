package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/decodesim/decodesim/configs/huggingface"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/hardware/llm"
)

// Checkpoint returns the model of a catalog name, of a config.json or of a file like those of the catalog.
func Checkpoint(model string) (llm.Model, error) {
	r, err := ModelSource{Config: model}.Read()
	return r.Model, err
}

func aDirectory(path string) error {
	return fmt.Errorf("%q is a directory; name its config.json", path)
}

// quantizedBeside applies the quantisation that some checkpoints state in a file of its own beside a config.json that
// is silent about it. Without it, their weights would count as bf16.
func quantizedBeside(m llm.Model, dir string) (llm.Model, error) {
	f, err := inputs.Open(filepath.Join(dir, "hf_quant_config.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, fmt.Errorf("quantisation cannot be read: %w", err)
	}
	defer f.Close()
	m, err = huggingface.Quantize(m, f)
	if err != nil {
		err = fmt.Errorf("hf_quant_config.json: %w", err)
	}
	return m, err
}

// NameOf is what results call the model of a catalog name or of a file.
func NameOf(model string) string {
	if IsModelPath(model) {
		return modelName(model)
	}
	return model
}

// modelName names a model by its file, or by the directory of a file that is called like all others, where the path
// says it.
func modelName(path string) string {
	name := filepath.Base(path)
	if dir := filepath.Base(filepath.Dir(path)); name == "config.json" && strings.Trim(dir, `./\`) != "" {
		return dir
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// repository is a HuggingFace id: an owner and a name, of which no file is called so.
var repository = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

// IsModelPath tells a path to a model's file from a catalog name and from a HuggingFace id, be it a page's address.
func IsModelPath(model string) bool {
	for _, hub := range []string{"https://huggingface.co/", "huggingface.co/", "hf.co/", "hf:"} {
		model = strings.TrimPrefix(model, hub)
	}
	return isModelFile(model) || strings.ContainsAny(model, `/\`) && !repository.MatchString(model)
}

// isModelFile reports whether a name ends as the files of models do.
func isModelFile(name string) bool {
	return filepath.Ext(name) == ".json" || isYAML(name)
}

// isYAML tells a file like those of the catalog from a config.json.
func isYAML(name string) bool {
	return filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml"
}
