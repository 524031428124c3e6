package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// Efficiencies are what serving software achieves, by GPU: measured on some of them, and what is to be expected of
// their kin and of any other; and by what models and older releases differ from that.
type Efficiencies struct {
	Name      string              `yaml:"name"`
	Describes string              `yaml:"describes"`          // which software, and where the numbers come from
	Default   hardware.Efficiency `yaml:"default"`            // on a GPU that is not among the following
	Families  []FamilyEfficiency  `yaml:"families,omitempty"` // on one of a family, see Family
	GPUs      []GPUEfficiency     `yaml:"gpus,omitempty"`
	Models    []ModelEfficiency   `yaml:"models,omitempty"`
	Release   strict.Release      `yaml:"release,omitempty"`  // that all of it is of, the newest that was measured
	Releases  []ReleaseEfficiency `yaml:"releases,omitempty"` // those before it, the oldest first

	older []Scale // of the release that was asked for; empty: the newest
}

// FamilyEfficiency is what is achieved on GPUs of one family.
type FamilyEfficiency struct {
	Family     string              `yaml:"family"`
	Efficiency hardware.Efficiency `yaml:"efficiency"`
}

// GPUEfficiency is what is achieved on one GPU.
type GPUEfficiency struct {
	GPU        string              `yaml:"gpu"` // catalog name
	Efficiency hardware.Efficiency `yaml:"efficiency"`

	// Elsewhere: it was measured under other software alone, and is to be expected of this by what it differs there.
	Elsewhere bool `yaml:"elsewhere,omitempty"`
}

// ModelEfficiency is by what the constants of a model with weights of a precision differ from those of any: which
// kernels an engine has for its shapes.
type ModelEfficiency struct {
	Model   string  `yaml:"model"`   // catalog name
	Weights string  `yaml:"weights"` // of the experts, or of the dense network
	Scales  []Scale `yaml:"scales"`

	Family       string `yaml:"family,omitempty"`       // the GPUs that it is true of, see FamilyEfficiency; empty: any
	Architecture string `yaml:"architecture,omitempty"` // the GPUs that it is true of; empty: any
	Source       string `yaml:"source,omitempty"`       // empty: fitted, as the constants are
}

// of reports whether it is true of a GPU.
func (m *ModelEfficiency) of(gpu *hardware.GPU) bool {
	return (m.Architecture == "" || m.Architecture == gpu.Architecture) && (m.Family == "" || m.Family == familyOf(gpu))
}

// ReleaseEfficiency is by what the constants under a release differ from those under the newest that was measured:
// kernels become faster from one to the next.
type ReleaseEfficiency struct {
	Release strict.Release `yaml:"release"`
	Scales  []Scale        `yaml:"scales"`
}

// known returns the release that stands for a version.
func (e *Efficiencies) known(version string) strict.Release {
	var releases []strict.Release
	for _, r := range e.Releases {
		releases = append(releases, r.Release)
	}
	return ReleaseOf(append(releases, e.Release), version)
}

// Under returns the efficiencies of the release that stands for a version.
func (e Efficiencies) Under(version string) Efficiencies {
	for known, i := e.known(version), 0; i < len(e.Releases); i++ {
		if e.Releases[i].Release == known {
			e.older = e.Releases[i].Scales
		}
	}
	return e
}

// Scale multiplies a constant, by its key; a share stays a share.
type Scale struct {
	Constant string  `yaml:"constant"`
	Times    float64 `yaml:"times"`
}

// EfficiencyDir is beside the engines whose steps it prices.
const EfficiencyDir = "engines/efficiencies"

// EfficiencyNames returns the efficiencies built in.
func EfficiencyNames() []string { return Names(EfficiencyDir) }

// EfficienciesOf returns the efficiencies built in under a name, as a copy that the caller may change. NAME@VERSION are
// those of the release that stands for a version.
func EfficienciesOf(name string) (Efficiencies, error) {
	name, version, asked := strings.Cut(name, releaseMark)
	e, err := efficienciesNamed(name)
	e.GPUs = slices.Clone(e.GPUs)
	switch {
	case err != nil || !asked:
		return e, err
	case len(numbers(version)) == 0:
		return e, fmt.Errorf("efficiency %q: no release %q; expected its number, such as %s@1.2", name+releaseMark+version,
			version, name)
	}
	return e.Under(version), nil
}

// Stands says which release stands for the one that a name asks for, if that is another; empty: none is asked for, or
// there is but one.
func (e *Efficiencies) Stands(name string) string {
	_, version, asked := strings.Cut(name, releaseMark)
	known := numbers(string(e.known(version)))
	own := numbers(version)
	if !asked || slices.Equal(known, own[:min(len(known), len(own))]) {
		return ""
	}
	return string(e.known(version))
}

var efficienciesNamed = onEach(EfficiencyDir, readEfficiencies)

func readEfficiencies(name string) (Efficiencies, error) {
	file, data, ok := Lookup(EfficiencyDir, name)
	if !ok {
		return Efficiencies{}, strict.NotFound("efficiency", name, EfficiencyNames())
	}
	var e Efficiencies
	if _, err := strict.Decode(file, data, &e); err != nil {
		return e, err
	}
	if err := e.validate(name); err != nil {
		return e, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// For returns what is achieved on a GPU by a model with weights of a precision, and whether that is stated of the GPU.
// One of which nothing is stated achieves what is stated of the GPU nearest to it, of its family, or else what is to be
// expected of any.
func (e *Efficiencies) For(gpu, model, weights string) (achieved hardware.Efficiency, stated bool) {
	g, err := GPU(gpu)
	if err != nil {
		g.Name = gpu
	}
	achieved, stated = e.on(&g)
	for i := range e.Models {
		if m := &e.Models[i]; m.Model == model && m.Weights == weights && m.of(&g) {
			scale(&achieved, m.Scales)
		}
	}
	scale(&achieved, e.older)
	return achieved, stated
}

// On is For of a GPU and a model that need not be in the catalog: a model runs the kernels of any model of its shape.
func (e *Efficiencies) On(gpu *hardware.GPU, model *llm.Model) (achieved hardware.Efficiency, stated bool) {
	achieved, stated = e.on(gpu)
	twin := e.twin(model)
	for i := range e.Models {
		if m := &e.Models[i]; m.Model == twin && m.Weights == model.FFNDtype() && m.of(gpu) {
			scale(&achieved, m.Scales)
		}
	}
	scale(&achieved, e.older)
	return achieved, stated
}

// twin names the model whose entries are true of a model with weights of its precision: itself, if it has some, or else
// the first of its shape, rather one with a vocabulary of its size; empty: there is none. Llama 2, 3.1 and 3.3 of 70B
// are of one shape, and were measured under other engines and on other GPUs.
func (e *Efficiencies) twin(model *llm.Model) (twin string) {
	alike := false
	for i := range e.Models {
		m := &e.Models[i]
		known, err := modelNamed(m.Model)
		switch {
		case err != nil || m.Weights != model.FFNDtype() || !known.SameShape(model):
		case m.Model == model.Name:
			return m.Model
		case twin == "" || !alike && known.Vocab == model.Vocab:
			twin, alike = m.Model, known.Vocab == model.Vocab
		}
	}
	return twin
}

func scale(achieved *hardware.Efficiency, by []Scale) {
	for _, s := range by {
		achieved.Scale(s.Constant, s.Times)
	}
}

// on is For of any model.
func (e *Efficiencies) on(gpu *hardware.GPU) (achieved hardware.Efficiency, stated bool) {
	for i := range e.GPUs {
		if g := &e.GPUs[i]; g.GPU == gpu.Name {
			return g.Efficiency, !g.Elsewhere
		}
	}
	achieved, _ = e.standIn(gpu)
	return achieved, false
}

// Measured returns what is achieved on the GPUs that were measured under this software.
func (e *Efficiencies) Measured() []GPUEfficiency {
	return slices.DeleteFunc(slices.Clone(e.GPUs), func(g GPUEfficiency) bool { return g.Elsewhere })
}

// of returns what is stated of a GPU.
func (e *Efficiencies) of(gpu string) (stated hardware.Efficiency, ok bool) {
	for _, g := range e.GPUs {
		if g.GPU == gpu {
			return g.Efficiency, true
		}
	}
	return stated, false
}

func (e *Efficiencies) validate(name string) error {
	if e.Name != name || e.Describes == "" {
		return fmt.Errorf("name: %q, describes: %q; expected the name of the file, %q, and what it describes", e.Name,
			e.Describes, name)
	}
	if err := e.Default.Validate(); err != nil {
		return fmt.Errorf("default.%w", err)
	}
	for i := range e.GPUs {
		g := &e.GPUs[i]
		if _, _, ok := Lookup("gpus", g.GPU); !ok {
			return fmt.Errorf("gpus[%d].gpu: %w", i, strict.NotFound("gpu", g.GPU, GPUNames()))
		}
		for j := range i {
			if e.GPUs[j].GPU == g.GPU {
				return fmt.Errorf("gpus[%d].gpu: %q is that of gpus[%d] already; expected one of its own", i, g.GPU, j)
			}
		}
		if err := g.Efficiency.Validate(); err != nil {
			return fmt.Errorf("gpus[%d].efficiency.%w", i, err)
		}
	}
	for i := range e.Families {
		if err := e.Families[i].Efficiency.Validate(); err != nil {
			return fmt.Errorf("families[%d].efficiency.%w", i, err)
		}
	}
	for i := range e.Models {
		if _, _, ok := Lookup("models", e.Models[i].Model); !ok {
			return fmt.Errorf("models[%d].model: %w", i, strict.NotFound("model", e.Models[i].Model, ModelNames()))
		}
		if err := e.checkScales(fmt.Sprintf("models[%d]", i), e.Models[i].Scales); err != nil {
			return err
		}
	}
	for i := range e.Releases {
		if err := e.checkScales(fmt.Sprintf("releases[%d]", i), e.Releases[i].Scales); err != nil {
			return err
		}
	}
	return nil
}

func (e *Efficiencies) checkScales(path string, scales []Scale) error {
	for j, s := range scales {
		if probe := e.Default; !(s.Times > 0) || !probe.Scale(s.Constant, s.Times) {
			return fmt.Errorf("%s.scales[%d]: %g times %q; expected a positive factor on a constant of efficiencies",
				path, j, s.Times, s.Constant)
		}
	}
	return nil
}

// LoadEfficiency reads an efficiency file: the keys of hardware.Efficiency, all of them but those whose absence means
// no effect. A word that is no path can only be meant for the name of built-in ones.
func LoadEfficiency(file string) (hardware.Efficiency, error) {
	own, err := readEfficiency(file)
	return own.Efficiency, err
}

// readEfficiency reads an efficiency file with all that it may state beside its constants.
func readEfficiency(file string) (e ownEfficiency, err error) {
	if !IsEfficiencyPath(file) {
		return e, fmt.Errorf("%w, or a path that ends in .yaml", strict.NotFound("efficiency", file, EfficiencyNames()))
	}
	data, err := ReadFile("efficiency", file)
	if err != nil {
		return e, err
	}
	where, err := strict.Decode(file, data, &e)
	switch {
	case err != nil && isEfficiencies(file, data):
		return e, fmt.Errorf(
			"%s: efficiencies of several GPUs, as the built-in ones are; expected the constants of one: those "+
				"under default or under a gpu, as the whole file", file)
	case err != nil:
		return e, err
	}
	for _, f := range strict.FieldsOf(reflect.TypeOf(e)) {
		if _, ok := where.At[f.Key]; !ok && !f.Optional {
			return e, where.Errorf(f.Key, "missing; an efficiency file states every constant")
		}
	}
	if key := e.LeftOut.wrong(); key != "" {
		return e, where.Errorf(key, "cannot be of runs that were left out; expected two runs and more, and errors in percent")
	}
	var wrong *hardware.RangeError
	if err := e.Validate(); errors.As(err, &wrong) {
		return e, where.Errorf(wrong.Key, "%s", wrong.Message)
	} else if err != nil {
		return e, err
	}
	return e, nil
}

// EfficienciesAt returns the efficiencies built in under a name, or those of a file: of several GPUs, as the built-in
// ones are, or the constants of one.
func EfficienciesAt(nameOrPath string) (Efficiencies, error) {
	if !IsEfficiencyPath(nameOrPath) {
		return EfficienciesOf(nameOrPath)
	}
	data, err := ReadFile("efficiency", nameOrPath)
	if err != nil {
		return Efficiencies{}, err
	}
	if !isEfficiencies(nameOrPath, data) {
		one, err := LoadEfficiency(nameOrPath)
		return Efficiencies{Default: one}, err
	}
	var e Efficiencies
	if _, err := strict.Decode(nameOrPath, data, &e); err != nil {
		return e, err
	}
	if err := e.validate(e.Name); err != nil {
		return e, fmt.Errorf("%s: %w", nameOrPath, err)
	}
	return e, nil
}

// IsEfficiencyPath tells a path to an efficiency file from the name of built-in efficiencies.
func IsEfficiencyPath(efficiency string) bool {
	return strings.ContainsAny(efficiency, `/\`) || strings.HasSuffix(efficiency, ".yaml") ||
		strings.HasSuffix(efficiency, ".yml")
}

// isEfficiencies reports whether a file has the keys of built-in efficiencies.
func isEfficiencies(file string, data []byte) bool {
	_, err := strict.Decode(file, data, new(Efficiencies))
	return err == nil
}
