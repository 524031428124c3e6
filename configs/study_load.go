package configs

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// StudyNames returns the studies built in.
func StudyNames() []string { return catalog.Names("studies") }

// LoadStudy returns the study of an embedded name or of a YAML file, complete and checked, with key=value settings
// above it, of which a later one wins. A setting whose key no study has is one of its scenario, and joins Study.Set.
func LoadStudy(nameOrPath string, set []string) (*Study, error) {
	src, err := openFile("study", "studies", nameOrPath, StudyNames())
	if err != nil {
		return nil, err
	}
	s := defaultStudy()
	where, err := strict.Decode(src.file, src.data, s)
	if err != nil {
		return nil, err
	}
	s.origins = origins{where, map[string]string{}}
	if s.Name == "" {
		base := filepath.Base(src.file)
		s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if isScenarioPath(s.Scenario) {
		s.Scenario = absolute(src.dir, s.Scenario)
	}
	for _, text := range set {
		if err := s.assign(text); err != nil {
			return nil, err
		}
	}
	return s, s.validate()
}

// isScenarioPath tells a path to a scenario from a built-in name.
func isScenarioPath(scenario string) bool {
	extension := filepath.Ext(scenario)
	return strings.ContainsAny(scenario, `/\`) || extension == ".yaml" || extension == ".yml"
}

// assign reads one --set key=value.
func (s *Study) assign(set string) error {
	by := "--set " + set
	key, text, ok := strings.Cut(set, "=")
	if !ok || key == "" {
		return strict.Errorf(by, "%s", "expected key=value, such as --set budget.gpus=32")
	}
	f, v, ok := locateField(reflect.ValueOf(s).Elem(), key)
	if section, rest, _ := strings.Cut(key, "."); !ok && slices.Contains([]string{"budget", "rate", "search"}, section) {
		_, v, _ := locateField(reflect.ValueOf(s).Elem(), section)
		return strict.Errorf(by, "no key %q in %s; %s", rest, section,
			strict.DidYouMean("keys", rest, strict.KeysOf(strict.FieldsOf(v.Type()))))
	}
	if !ok {
		s.Set = append(s.Set, set) // the scenario says whether it has that key
		return nil
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
