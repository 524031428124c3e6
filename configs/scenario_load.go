package configs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// Options are what stands above a scenario file. The zero value leaves the file as it is.
type Options struct {
	Set  []string // key=value, in order; a later one wins
	Env  []string // NAME=value, as of os.Environ; only the names DECODESIM_* matter
	Seed *uint64  // stands above all; nil: not given

	Stdin []byte // the scenario that - names; nil: none does

	// Engine puts every pool under this engine; empty: each under its own. Arguments of the scenario and of the layers
	// above it are carried over by what they mean, whatever the two engines call them: max_num_seqs: 64 becomes
	// max_running_requests: 64. Those that the engine has no argument for, or that would mean something else to it, are
	// left out, as if nobody had given them: its own default applies, and Scenario.Notes says so, a line each. A
	// comparison of engines loads the same scenario once for each.
	Engine string

	built bool // the text was written for what was asked, so that its lines say nothing
}

// Load returns the scenario of an embedded name or of a YAML file, complete and checked: every key has its value, from
// Options.Seed, then Options.Set, the environment, the file and the defaults, in this order. Its paths are absolute.
func Load(nameOrPath string, opts Options) (*Scenario, error) {
	if nameOrPath == "-" && opts.Stdin != nil {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		return scenarioSource{"stdin", dir, opts.Stdin}.load(opts)
	}
	src, err := openScenario(nameOrPath)
	if err != nil {
		return nil, err
	}
	return src.load(opts)
}

// Read is Load of a scenario that a program wrote: name stands for its file in errors, and relative paths start from
// the working directory.
func Read(name string, text []byte, opts Options) (*Scenario, error) {
	return scenarioSource{name, "", text}.load(opts)
}

func (src scenarioSource) load(opts Options) (*Scenario, error) {
	l, err := src.layers()
	if err != nil {
		return nil, err
	}
	if opts.built {
		l.origins.where.Lineless()
	}
	if err := l.environment(opts.Env); err != nil {
		return nil, err
	}
	for _, set := range opts.Set {
		if err := l.flag(set); err != nil {
			return nil, err
		}
	}
	if opts.Seed != nil {
		l.assign(l.set, "seed", *opts.Seed, fmt.Sprintf("--seed %d", *opts.Seed))
	}
	if opts.Engine != "" {
		if err := l.switchEngines(opts.Engine); err != nil {
			return nil, err
		}
	}
	s, err := l.scenario()
	if err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// ScenarioNames returns the scenarios built in.
func ScenarioNames() []string { return catalog.Names("scenarios") }

// scenarioSource is the file of a scenario before it is read.
type scenarioSource struct {
	file string // as errors name it
	dir  string // that its relative paths start from
	data []byte
}

// openScenario finds a scenario.
func openScenario(nameOrPath string) (scenarioSource, error) {
	return openFile("scenario", "scenarios", nameOrPath, ScenarioNames())
}

// openFile finds a file of some kind. A name is embedded; whatever looks like a path, or is a file here, is read.
func openFile(kind, dir, nameOrPath string, names []string) (scenarioSource, error) {
	if file, data, ok := catalog.Lookup(dir, nameOrPath); ok {
		return scenarioSource{file, "", data}, nil
	}
	if at, err := os.Stat(nameOrPath); !isScenarioPath(nameOrPath) && (err != nil || at.IsDir()) {
		return scenarioSource{}, notFound(kind, nameOrPath, names)
	}
	data, err := catalog.ReadFile(kind, nameOrPath)
	if err != nil {
		return scenarioSource{}, cmp.Or(partNamed(kind, nameOrPath), err)
	}
	if kind == "scenario" && strict.HasKey(data, "rate", "budget", "search") && !strict.HasKey(data, "pools", "workload") {
		return scenarioSource{}, fmt.Errorf("%s is a study, which decodesim size takes; expected a scenario", nameOrPath)
	}
	if kind == "study" && strict.HasKey(data, "pools") {
		return scenarioSource{}, fmt.Errorf("%s is a scenario; expected a study, whose key scenario can name it", nameOrPath)
	}
	dir, err = filepath.Abs(filepath.Dir(nameOrPath))
	if err != nil {
		return scenarioSource{}, fmt.Errorf("%s %q: %w", kind, nameOrPath, err)
	}
	return scenarioSource{nameOrPath, dir, data}, nil
}

// notFound says what a name that is none of a kind may be instead.
func notFound(kind, name string, names []string) error {
	for _, file := range []string{"best.yaml", "scenario.yaml", "study.yaml"} {
		within := filepath.Join(name, file)
		if _, err := os.Stat(within); err == nil && (file == "study.yaml") == (kind == "study") {
			return fmt.Errorf("%s %q is a directory; did you mean %q?", kind, name, within)
		}
	}
	switch {
	case kind == "study" && slices.Contains(ScenarioNames(), name):
		return fmt.Errorf("%q is a scenario; expected a study, whose key scenario can name it", name)
	case kind == "scenario" && slices.Contains(StudyNames(), name):
		return fmt.Errorf("%q is a study, which decodesim size takes; expected a scenario", name)
	}
	if err := partNamed(kind, name); err != nil {
		return err
	}
	err := strict.NotFound(kind, name, names)
	if at, statErr := os.Stat(name); statErr == nil && at.IsDir() {
		return errors.New(strings.Replace(err.Error(), `" not found; `, `" is a directory; `, 1))
	}
	return err
}

// partNamed says where the name of a model or an accelerator goes that was given for a scenario; nil: it is neither's.
func partNamed(kind, name string) error {
	extension := filepath.Ext(name)
	if _, err := os.Stat(name); err == nil || kind != "scenario" || extension == ".yaml" || extension == ".yml" {
		return nil
	}
	if model, ok := catalog.ModelNamed(name); ok {
		return fmt.Errorf("%q is a model; expected a scenario, which takes it by --set model.config=%s; "+
			"decodesim explain takes --model %[2]s", name, model)
	}
	if gpu, ok := catalog.GPUNamed(name); ok {
		return fmt.Errorf("%q is a gpu; expected a scenario, whose pools take it by --set pools.POOL.gpu=%s; "+
			"decodesim explain takes --gpu %[2]s", name, gpu)
	}
	return nil
}

// layers decodes the file strictly and puts it at the bottom of the layers.
func (src scenarioSource) layers() (*layers, error) {
	var s, skeleton Scenario
	where, err := strict.DecodeChanged(src.file, src.data, &s, catalog.ExpandPreset)
	if err != nil {
		return nil, err
	}
	if _, err := strict.DecodeChanged(src.file, src.data, &skeleton, catalog.ExpandPreset); err != nil {
		return nil, err
	}
	for _, p := range s.paths() {
		*p = absolute(src.dir, *p)
	}
	if s.Name == "" {
		base := filepath.Base(src.file)
		skeleton.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return newLayers(&s, &skeleton, where), nil
}

// paths returns where s names files. A model is one if it looks like a path.
func (s *Scenario) paths() []*string {
	var paths []*string
	if catalog.IsModelPath(s.Model.Config) {
		paths = append(paths, &s.Model.Config)
	}
	if catalog.IsModelPath(s.Speculation.DraftModel) {
		paths = append(paths, &s.Speculation.DraftModel)
	}
	for i := range s.Pools {
		if catalog.IsModelPath(s.Pools[i].Model) {
			paths = append(paths, &s.Pools[i].Model)
		}
		if catalog.IsGPUPath(s.Pools[i].GPU.From) {
			paths = append(paths, &s.Pools[i].GPU.From)
		}
		if catalog.IsEfficiencyPath(s.Pools[i].Efficiency.Base) {
			paths = append(paths, &s.Pools[i].Efficiency.Base)
		}
	}
	if s.Workload.Trace != nil {
		paths = append(paths, &s.Workload.Trace.File)
	}
	if s.Workload.Lengths != nil {
		paths = append(paths, &s.Workload.Lengths.File)
	}
	return paths
}

// Files returns the files that s reads, each at its absolute path.
func (s *Scenario) Files() (all []string) {
	for _, p := range s.paths() {
		if *p != "" && !slices.Contains(all, *p) {
			all = append(all, *p)
		}
	}
	return all
}

// absolute returns path as seen from dir; an absent one stays absent. Seen from nowhere it stays as it is written,
// since ./name without its ./ is no path.
func absolute(dir, path string) string {
	if path == "" || dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Errorf reports an error about the value at a path, where it was given: in the file, by a flag or in the environment.
func (s *Scenario) Errorf(path, format string, args ...any) error {
	return s.origins.errorf(path, format, args...)
}

// Given reports whether somebody said what stands at a path, and no default applies.
func (s *Scenario) Given(path string) bool { return s.origins.given(path) }
