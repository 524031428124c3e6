package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/decodesim/decodesim/configs/huggingface"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/hardware/llm"
)

// ModelSource says where a model is described, and what of that description is not believed.
type ModelSource struct {
	Config        string   // catalog name, or the path of a config.json or of a file like those of the catalog
	Ignore        []string // fields of a config.json that are left out
	Override      Override
	Total, Active float64 // parameters, as published; 0: unknown
}

// ModelReading is a model, and what of its description was not read.
type ModelReading struct {
	Model  llm.Model
	Unread []huggingface.Unread // of a config.json

	Assumed string // what is not known of its family; empty: it is known
}

// publishedOff is how far a count may be from a published one: publishers round.
const publishedOff = 0.02

// Read returns the model.
func (s ModelSource) Read() (ModelReading, error) {
	var over overrideSpec
	if s.Override != "" {
		var err error
		over, err = s.Override.spec()
		if err != nil {
			return ModelReading{}, fmt.Errorf("override: %w", err)
		}
	}
	r, err := s.read(over)
	if err != nil {
		return r, err
	}
	return r, s.compare(&r.Model)
}

// Changes says what was left out of the description, and what stands in its place.
func (s ModelSource) Changes() (all []string) {
	if len(s.Ignore) > 0 {
		all = append(all, "left out of its config.json, as the scenario says: "+strings.Join(s.Ignore, ", "))
	}
	if over, err := s.Override.spec(); err == nil {
		all = append(all, "the scenario's own in place of what its file says: "+strings.Join(over.keys, ", "))
	}
	return all
}

// read reads the description, whichever it is, and changes it.
func (s ModelSource) read(over overrideSpec) (r ModelReading, err error) {
	isConfig := IsModelPath(s.Config) && !isYAML(s.Config)
	if isConfig {
		return s.readConfig(over)
	}
	if len(s.Ignore) > 0 {
		return r, fmt.Errorf("ignore is for fields of a config.json, and %q is none; expected override", s.Config)
	}
	if isYAML(s.Config) {
		r.Model, err = ownModel(s.Config)
	} else {
		r.Model, err = Model(s.Config)
		if at, statErr := os.Stat(s.Config); err != nil && statErr == nil && at.IsDir() {
			err = aDirectory(s.Config)
		}
	}
	if err == nil {
		err = over.apply(&r.Model)
	}
	if err == nil {
		err = r.Model.Validate()
	}
	return r, err
}

// ownModel reads a file like those of the catalog. What it says is published is compared with what it counts.
func ownModel(path string) (llm.Model, error) {
	data, err := ReadFile("model", path)
	if err != nil {
		return llm.Model{}, err
	}
	spec, err := readModel(path, data)
	if err != nil {
		return llm.Model{}, err
	}
	spec.Name = cmp.Or(spec.Name, modelName(path))
	spec.Source = cmp.Or(spec.Source, "the user's "+filepath.Base(path))
	m, err := spec.model(path)
	if err == nil && spec.Published.Note == "" {
		err = ModelSource{Total: spec.Published.Total, Active: spec.Published.Active}.compare(&m)
	}
	return m, err
}

// readConfig reads a config.json, and the quantisation beside it.
func (s ModelSource) readConfig(over overrideSpec) (ModelReading, error) {
	f, err := inputs.Open(s.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ModelReading{}, fmt.Errorf("file %q does not exist", s.Config)
	case err != nil:
		return ModelReading{}, fmt.Errorf("file cannot be read: %w", err)
	}
	defer f.Close()
	if isDirectory(f) {
		return ModelReading{}, aDirectory(s.Config)
	}
	x, err := huggingface.ReadWith(modelName(s.Config), f, huggingface.Options{
		Ignore: s.Ignore, Layers: over.has("layers"), Weights: over.has("weights"), Override: over.apply,
	})
	r := ModelReading{Model: x.Model, Unread: x.Unread, Assumed: x.Assumed}
	if err != nil || filepath.Base(s.Config) != "config.json" || r.Model.Precision != llm.UniformPrecision() ||
		over.has("weights") {
		return r, err
	}
	r.Model, err = quantizedBeside(r.Model, filepath.Dir(s.Config))
	return r, err
}

// compare refuses a model that counts otherwise than its publisher does. Fields that are left out need a count to be
// held against: without them a file may load as another model.
func (s ModelSource) compare(m *llm.Model) error {
	sparse := m.Experts() > 0
	if len(s.Ignore) > 0 && (s.Total == 0 || sparse && s.Active == 0) {
		want := "published: {total: …}"
		if sparse {
			want = "published: {total: …, active: …}"
		}
		return fmt.Errorf("ignore needs what the publisher says of the number of parameters; expected %s beside it", want)
	}
	if err := countedAs("parameters", s.Total, m.ParamsTotal()); err != nil {
		return err
	}
	return countedAs("active parameters", s.Active, m.ActiveNoEmbedding(), m.ActiveAll(), m.ActiveNoEmbeddingNoHead())
}

// countedAs compares a published count with the nearest count that publishers may mean.
func countedAs(what string, published float64, counts ...int64) error {
	if published == 0 {
		return nil
	}
	nearest, off := counts[0], math.Inf(1)
	for _, n := range counts {
		if x := math.Abs(float64(n)/published - 1); x < off {
			nearest, off = n, x
		}
	}
	if off <= publishedOff {
		return nil
	}
	return fmt.Errorf("counts %.4g %s, %+.1f %% from the published %.4g; expected at most 2 %%: the file says something "+
		"that is not understood, or the number is another model's", float64(nearest), what,
		100*(float64(nearest)/published-1), published)
}
