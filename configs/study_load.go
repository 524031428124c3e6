package configs

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// StudyNames returns the studies built in.
func StudyNames() []string { return catalog.Names("studies") }

// Setting is a value that stands above a study's file, and how errors name where it was given.
type Setting struct{ Key, Value, By string }

// LoadStudy returns the study of an embedded name or of a YAML file, complete and checked, with key=value settings
// above it, of which a later one wins. A setting whose key no study has is one of its scenario, and joins Study.Set.
func LoadStudy(nameOrPath string, set []string) (*Study, error) {
	return LoadStudyUnder(nil, nameOrPath, set)
}

// LoadStudyUnder is LoadStudy with settings between the file and set. Without a name there is no file, and the settings
// are all there is.
func LoadStudyUnder(given []Setting, nameOrPath string, set []string) (*Study, error) {
	src := scenarioSource{"size", "", []byte("name: size\n")}
	if nameOrPath != "" {
		var err error
		src, err = openFile("study", "studies", nameOrPath, StudyNames())
		if err != nil {
			return nil, err
		}
	}
	s := defaultStudy()
	where, err := strict.Decode(src.file, src.data, s)
	if err != nil {
		return nil, err
	}
	if nameOrPath == "" {
		where.Lineless()
	}
	s.origins = origins{where, map[string]string{}}
	if s.Name == "" {
		base := filepath.Base(src.file)
		s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if isScenarioPath(s.Scenario) {
		s.Scenario = absolute(src.dir, s.Scenario)
	}
	if catalog.IsModelPath(s.Model) {
		s.Model = absolute(src.dir, s.Model)
	}
	s.Trace = absolute(src.dir, s.Trace)
	for _, x := range given {
		if err := s.assign(x.Key+"="+x.Value, x.By); err != nil {
			return nil, err
		}
	}
	if err := s.fromHere(); err != nil {
		return nil, err
	}
	for _, text := range set {
		if err := s.assign(text, "--set "+text); err != nil {
			return nil, err
		}
	}
	if err := s.resolveGPUs(); err != nil {
		return nil, err
	}
	s.complete()
	s.defaultAttainment()
	return s, s.validate()
}

// fromHere makes the paths absolute that flags gave from the working directory.
func (s *Study) fromHere() (err error) {
	if s.Trace != "" {
		s.Trace, err = filepath.Abs(s.Trace)
	}
	if err == nil && catalog.IsModelPath(s.Model) {
		s.Model, err = filepath.Abs(s.Model)
	}
	return err
}

// complete writes in what a study without a scenario searches unless it says otherwise: all there is to choose.
func (s *Study) complete() {
	if s.Scenario != "" {
		return
	}
	if s.Engine == "" {
		s.Engine = defaultEngine
	}
	s.completeArrivals()
	q := &s.Search
	if !s.origins.given("search.topology") {
		q.Topology = []string{Colocated, Disaggregated}
	}
	if q.Parallel == nil && q.TensorParallel == nil {
		q.Parallel = Layouts{AutoLayouts}
	}
	disaggregated := slices.Contains(q.Topology, Disaggregated)
	if disaggregated && q.PrefillGPU == nil && len(q.GPU) > 1 {
		q.PrefillGPU = q.GPU
	}
	if disaggregated && q.PrefillParallel == nil && q.PrefillTensorParallel == nil && q.Parallel != nil {
		q.PrefillParallel = q.Parallel
	}
	engine, err := catalog.Engine(s.Engine)
	if err != nil {
		return // validate says so
	}
	if q.MaxNumSeqs == nil && engine.Has("max_num_seqs") {
		q.MaxNumSeqs = []int{1024, 512, 256, 128}
	}
	if q.MaxNumBatchedTokens == nil && engine.Has("max_num_batched_tokens") {
		q.MaxNumBatchedTokens = []int{8192, 16384, 2048}
	}
}

// completeArrivals adds Poisson arrivals, at the rate that is asked for, to a workload of which only lengths are said.
// It writes them into Set, where results show them.
func (s *Study) completeArrivals() {
	says := func(keys ...string) bool {
		return slices.ContainsFunc(s.Set, func(set string) bool {
			return slices.ContainsFunc(keys, func(key string) bool {
				rest, ok := strings.CutPrefix(set, "workload."+key)
				return ok && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "."))
			})
		})
	}
	rate := cmp.Or(s.Rate.At, s.Rate.Min)
	if s.Trace != "" || rate <= 0 || !says("prompt_tokens", "output_tokens", "lengths") ||
		says("arrivals", "trace", "closed_loop", "classes") {
		return
	}
	s.Set = append(s.Set, "workload.arrivals.process=poisson", fmt.Sprintf("workload.arrivals.rate=%g", rate))
}

// defaultEngine serves a model of which nobody says how.
const defaultEngine = "vllm-v1"

// Base loads the scenario that the study varies: the one that it names, or one of its model, its trace and the first of
// its GPUs.
func (s *Study) Base(env []string, seed *uint64) (*Scenario, error) {
	o := Options{Set: s.Set, Env: env, Seed: seed, Engine: s.Engine}
	if s.Scenario != "" {
		return Load(s.Scenario, o)
	}
	text := map[string]any{
		"name": s.Name, "model": s.Model, "pools": []any{map[string]any{"name": "serve", "gpu": s.Search.GPU[0]}},
	}
	for key, value := range map[string]string{"weights": s.Weights, "kv_cache": s.KVCache} {
		if value != "" {
			text[key] = value
		}
	}
	text["workload"] = map[string]any{"requests": s.Requests}
	if s.Trace != "" {
		text["workload"] = map[string]any{"trace": map[string]any{"file": s.Trace}}
	}
	written, err := yaml.Marshal(text)
	if err != nil {
		return nil, err
	}
	o.built = true
	return Read("the scenario of the study "+s.Name, written, o)
}

// isScenarioPath tells a path to a scenario from a built-in name.
func isScenarioPath(scenario string) bool {
	extension := filepath.Ext(scenario)
	return strings.ContainsAny(scenario, `/\`) || extension == ".yaml" || extension == ".yml"
}

// assign reads one key=value, which errors name as by. What a study without a scenario says of its model, others set in
// their scenario.
func (s *Study) assign(set, by string) error {
	key, text, ok := strings.Cut(set, "=")
	if !ok || key == "" {
		return strict.Errorf(by, "%s", "expected key=value, such as --set budget.gpus=32")
	}
	if !inputs.Printable(set) {
		return strict.Errorf(strconv.Quote(by), "%s", "has characters that do not print; expected text without them")
	}
	f, v, ok := locateField(reflect.ValueOf(s).Elem(), key)
	if s.Scenario != "" && slices.Contains(ownOfModels, key) {
		ok = false
	}
	if section, rest, _ := strings.Cut(key, "."); !ok && slices.Contains([]string{"budget", "rate", "search"}, section) {
		_, v, _ := locateField(reflect.ValueOf(s).Elem(), section)
		return strict.Errorf(by, "no key %q in %s; %s", rest, section,
			strict.DidYouMean("keys", rest, strict.KeysOf(strict.FieldsOf(v.Type()))))
	}
	if !ok {
		s.Set = append(s.Set, set) // the scenario says whether it has that key
		return nil
	}
	if short, ok := shorthand(v); ok && text != "null" && text != "~" {
		return s.assign(key+"."+short+"="+text, by)
	}
	if v.Kind() == reflect.Struct {
		return strict.Errorf(by, "%s", key+" has keys of its own; set those, such as "+key+"."+firstKey(v))
	}
	s.origins.assigned[key] = by
	if f.Optional && (text == "null" || text == "~") {
		v.SetZero()
		delete(s.origins.assigned, key)
		delete(s.origins.where.At, key)
		return nil
	}
	n, err := parseValue(text, v.Type())
	if err != nil {
		return strict.Errorf(by, "%s", err.Error())
	}
	if err := strict.Value(n, key, v); err != nil {
		var wrong *strict.Error
		errors.As(err, &wrong)
		return strict.Errorf(by, "%s", wrong.Message)
	}
	return nil
}

// ownOfModels are keys that a study without a scenario has in common with scenarios.
var ownOfModels = []string{"model", "weights", "kv_cache"}

// locateField returns the field of a struct that a dotted key names.
func locateField(v reflect.Value, key string) (f strict.Field, at reflect.Value, ok bool) {
	for _, element := range strings.Split(key, ".") {
		if v.Kind() != reflect.Struct {
			return f, v, false
		}
		f, ok = strict.FieldNamed(strict.FieldsOf(v.Type()), element)
		if !ok {
			return f, v, false
		}
		v = v.FieldByIndex(f.Index)
	}
	return f, v, true
}

// YAML returns the study with every value written out, as a file that LoadStudy reads back to the same study.
func (s *Study) YAML() []byte {
	w := scenarioWriter{}
	w.WriteString("# A study with every default written out; it runs as it stands.\n")
	w.keys(reflect.ValueOf(s).Elem(), "", "")
	return w.Bytes()
}

// YAMLFor is YAML with paths relative to the directory the file will stand in, so that both may move together.
func (s *Study) YAMLFor(dir string) ([]byte, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("configs: directory %q: %w", dir, err)
	}
	moved := *s
	moved.Trace = seenFrom(from, s.Trace)
	if isScenarioPath(s.Scenario) {
		moved.Scenario = seenFrom(from, s.Scenario)
	}
	if catalog.IsModelPath(s.Model) {
		moved.Model = seenFrom(from, s.Model)
	}
	return moved.YAML(), nil
}
