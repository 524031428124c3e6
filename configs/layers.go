package configs

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// layers collects what each layer says about each value of a scenario, by path, and lets viper find the topmost.
//
// viper lower-cases keys, splits them at dots and cannot reach into lists. So each of its keys is a whole path such as
// pools[0].replicas, in lower case by the rules of the schema, under a delimiter that no path contains; names stand in
// values only.
type layers struct {
	file, env, set map[string]any
	sections       map[string]bool // optional sections that some layer has
	origins        origins
	skeleton       *Scenario         // has every section and as many list elements as the file: the paths there are
	notes          []string          // what was left out
	written        map[string]string // layer and path → the name that the layer has for it
}

// origins says where values come from.
type origins struct {
	where    *strict.Positions
	assigned map[string]string // path → the flag or the variable that set it
}

// errorf reports an error about the value at path.
func (o *origins) errorf(path, format string, args ...any) error {
	list, _, _ := strings.Cut(path, "[") // an element of a list that was assigned as a whole
	for _, at := range append(shortOf(path), list) {
		if by, ok := o.assigned[at]; ok {
			if strings.Contains(by, "={") && at == path { // a section as a whole, in which the value is one of several
				return strict.Errorf(by+": "+o.where.Written(path), format, args...)
			}
			return strict.Errorf(by, format, args...)
		}
	}
	return o.where.Errorf(path, format, args...)
}

// given reports whether any layer above the defaults set the value at path.
func (o *origins) given(path string) bool {
	for _, at := range shortOf(path) {
		if _, assigned := o.assigned[at]; assigned {
			return true
		}
	}
	_, inFile := o.where.At[path]
	return inFile
}

// layer says which of them set the value at path last: 1 for the file, 2 for the environment, 3 for --set; 0: none did.
func (o *origins) layer(path string) int {
	by, assigned := o.assigned[path]
	_, inFile := o.where.At[path]
	switch {
	case assigned && strings.HasPrefix(by, "--set "):
		return 3
	case assigned:
		return 2
	case inFile:
		return 1
	}
	return 0
}

// above returns the first path, by letter, that begins like this and that a layer above this one set; empty: there is
// none.
func (o *origins) above(layer int, prefix string) (first string) {
	consider := func(path string) {
		if strings.HasPrefix(path, prefix) && (first == "" || path < first) && o.layer(path) > layer {
			first = path
		}
	}
	for path := range o.assigned {
		consider(path)
	}
	for path := range o.where.At {
		consider(path)
	}
	return first
}

// shortOf returns the paths under which a value stands that is given as a section's shorthand.
func shortOf(path string) []string {
	return []string{path, path + ".config", path + ".from", path + ".base"}
}

func newLayers(file, skeleton *Scenario, where *strict.Positions) *layers {
	l := &layers{
		file: map[string]any{}, env: map[string]any{}, set: map[string]any{}, sections: map[string]bool{},
		origins:  origins{where, map[string]string{}},
		skeleton: skeleton, written: map[string]string{},
	}
	walk(reflect.ValueOf(file).Elem(), "", func(path string, f strict.Field, v reflect.Value) {
		if _, there := where.At[path]; !there {
			return
		}
		if isSection(v) {
			l.sections[path] = !v.IsNil()
			return
		}
		l.file[path] = v.Interface()
	})
	fillSections(reflect.ValueOf(skeleton).Elem())
	return l
}

// assign sets a value in a layer. Nil takes an optional value, section or list away from every layer so far.
func (l *layers) assign(layer map[string]any, path string, value any, by string) {
	if value == nil {
		switch _, v := l.at(path); {
		case isSection(v):
			v.Set(reflect.New(v.Type().Elem()))
			fillSections(v.Elem())
		case isRows(v):
			v.SetZero()
		}
		inside := func(other string, _ any) bool {
			return other == path || strings.HasPrefix(other, path+".") || strings.HasPrefix(other, path+"[")
		}
		maps.DeleteFunc(l.file, inside)
		maps.DeleteFunc(l.env, inside)
		maps.DeleteFunc(l.set, inside)
		maps.DeleteFunc(l.sections, func(other string, _ bool) bool { return inside(other, nil) })
		maps.DeleteFunc(l.origins.where.At, func(other string, _ strict.Position) bool { return inside(other, nil) })
		maps.DeleteFunc(l.origins.assigned, func(other, _ string) bool { return inside(other, nil) })
		return
	}
	layer[path] = value
	l.origins.assigned[path] = by
	for section := strict.Parent(path); section != ""; section = strict.Parent(section) {
		l.sections[section] = true
	}
}

// environment reads the variables DECODESIM_*: the path of a value in capitals, with _ for every other character.
func (l *layers) environment(env []string) error {
	const prefix = "DECODESIM_"
	entries := slices.DeleteFunc(slices.Sorted(slices.Values(env)), func(entry string) bool {
		return !strings.HasPrefix(entry, prefix) || strings.HasPrefix(entry, prefix+"SHARED=")
	})
	if len(entries) == 0 { // all paths there are take as long as the rest of a scenario's reading
		return nil
	}
	variables := map[string]variable{}
	var names []string
	add := func(path, key string) {
		name := prefix + l.variable(strict.Join(strict.Parent(path), key))
		variables[name] = variable{path, key}
		names = append(names, name)
	}
	walk(reflect.ValueOf(l.skeleton).Elem(), "", func(path string, f strict.Field, v reflect.Value) {
		if _, law := constant(v); isSection(v) && !law {
			return
		}
		add(path, f.Key)
		l.addShorthand(path, f.Key, add)
		for _, own := range l.ownNames(path, f.Key) {
			add(path, own)
		}
	})
	for _, entry := range entries {
		name, text, _ := strings.Cut(entry, "=")
		at, ok := variables[name]
		if !ok {
			if within := variablesOf(variables, strings.ToLower(name[len(prefix):])); within != "" {
				return strict.Errorf(entry, "no such key; expected it as %s", within)
			}
			return strict.Errorf(entry, "%s", "no such key; "+
				firstOf(strict.DidYouMean("keys", name, names), "valid keys: DECODESIM_SEED and so on"))
		}
		if err := l.keyed("environment", at.path, at.key, entry); err != nil {
			return err
		}
		if err := l.parse(l.env, at.path, text, entry); err != nil {
			return err
		}
	}
	return nil
}

// addShorthand adds the section at whose place the value of a key may stand.
func (l *layers) addShorthand(path, key string, add func(path, key string)) {
	section := strict.Parent(path)
	if section == "" {
		return
	}
	if _, v := l.at(section); v.Kind() == reflect.Struct {
		if short, ok := shorthand(v); ok && short == key && undocumented(v.Type()) {
			add(section, strings.TrimPrefix(section[len(strict.Parent(section)):], "."))
		}
	}
}

// variable is what a variable of the environment sets: the value at a path, whose last key is called so.
type variable struct{ path, key string }

// variablesOf lists the variables of the keys of that name which are least deep in the scenario; empty: there are none,
// or too many to go through.
func variablesOf(all map[string]variable, key string) string {
	const few = 4
	least, names := 0, []string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		depth := strings.Count(all[name].path, ".")
		switch {
		case all[name].key != key || len(names) > 0 && depth > least:
			continue
		case len(names) == 0 || depth < least:
			least, names = depth, names[:0]
		}
		names = append(names, name)
	}
	if len(names) > few {
		return ""
	}
	return strings.Join(names, " or ")
}

// variable returns the name of the variable for a path: POOLS_SERVE_REPLICAS for pools[0].replicas.
func (l *layers) variable(path string) string {
	for i := range l.skeleton.Pools {
		if inPool, ok := strings.CutPrefix(path, fmt.Sprintf("pools[%d].", i)); ok {
			path = "pools_" + l.poolName(i) + "_" + inPool
			break
		}
	}
	path = strings.ReplaceAll(path, "]", "")
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '.' || r == '[' || r == '-' {
			return '_'
		}
		return r
	}, path))
}

func (l *layers) poolName(i int) string {
	switch p := &l.skeleton.Pools[i]; {
	case p.Name != "":
		return p.Name
	case slices.Contains(roles(), p.Role):
		return p.Role
	}
	return defaultPool().Name
}

// flag reads one --set key=value.
func (l *layers) flag(set string) error {
	by := "--set " + set
	key, text, ok := strings.Cut(set, "=")
	if !ok || key == "" {
		return strict.Errorf(by, "%s", "expected key=value, such as --set workload.arrivals.rate=4")
	}
	path, name, err := l.locate(key)
	if err != nil {
		return strict.Errorf(by, "%s", err.Error())
	}
	if err := l.keyed("--set", path, name, by); err != nil {
		return err
	}
	return l.parse(l.set, path, text, by)
}

// parse reads a value as its type demands and assigns it.
func (l *layers) parse(layer map[string]any, path, text, by string) error {
	f, target := l.at(path)
	if isKeyed(target) && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return l.parseKeys(layer, path, text, by)
	}
	if short, ok := shorthand(target); ok && text != "null" && text != "~" {
		return l.parse(layer, strict.Join(path, short), text, by)
	}
	if f.Optional && (text == "null" || text == "~") {
		l.assign(layer, path, nil, by)
		return nil
	}
	if law, ok := constant(target); ok {
		if !strict.IsNumber(text) {
			return strict.Errorf(by, "%s", strict.NoLaw(law))
		}
		return l.parseConstant(layer, path, law, text, by)
	}
	if isSection(target) || isRows(target) || target.Kind() == reflect.Struct {
		example := "such as " + path + "." + firstKey(target)
		if path == "speculation" || path == "speculation.acceptance" { // one key of them alone is refused
			example = "as in " + SpeculationExample
		}
		return strict.Errorf(by, "%s has keys of its own; set those, %s", path, example)
	}
	n, err := parseValue(text, target.Type())
	if err != nil {
		return strict.Errorf(by, "%s", err.Error())
	}
	value := reflect.New(target.Type()).Elem()
	if err := strict.Value(n, path, value); err != nil {
		return strict.Errorf(by, "%s", err.(*strict.Error).Message)
	}
	value, err = l.fromHere(path, value)
	if err != nil {
		return strict.Errorf(by, "%s", err.Error())
	}
	l.assign(layer, path, value.Interface(), by)
	return nil
}

// shorthand returns the key for whose value v may be given.
func shorthand(v reflect.Value) (key string, ok bool) {
	if !isSection(v) {
		if !v.CanAddr() {
			return "", false
		}
		v = v.Addr()
	}
	short, ok := v.Interface().(strict.Shorthand)
	if !ok {
		return "", false
	}
	return short.ShorthandKey(), true
}

// constant returns the law v, if a number may stand in its place.
func constant(v reflect.Value) (law strict.Constant, ok bool) {
	if !isSection(v) {
		if !v.CanAddr() {
			return nil, false
		}
		v = v.Addr()
	}
	law, ok = v.Interface().(strict.Constant)
	return law, ok
}

// parseConstant puts the law that draws one number in the place of the law at path, of which nothing stays.
func (l *layers) parseConstant(layer map[string]any, path string, law strict.Constant, number, by string) error {
	l.assign(layer, path, nil, by)
	if err := l.parse(layer, strict.Join(path, "distribution"), law.ConstantDistribution(), by); err != nil {
		return err
	}
	return l.parse(layer, strict.Join(path, "mean"), number, by)
}

// parseValue reads the YAML of a value; text is taken as it stands, and so are rules that are not in a list.
func parseValue(text string, t reflect.Type) (*yaml.Node, error) {
	rules := t == reflect.TypeFor[slo.Lines]() && !strings.HasPrefix(strings.TrimSpace(text), "[")
	if t.Kind() == reflect.String && t.Name() == "string" || rules {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}, nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) == 0 {
		return nil, fmt.Errorf("%q is not a value", text)
	}
	return document.Content[0], nil
}

// fromHere makes a path given on the command line or in the environment absolute: it is relative to the working
// directory, not to the scenario file.
func (l *layers) fromHere(path string, v reflect.Value) (reflect.Value, error) {
	file := path == "workload.trace.file" || path == "workload.lengths.file" ||
		strings.HasSuffix(path, ".efficiency.base") && catalog.IsEfficiencyPath(v.String()) ||
		strings.HasSuffix(path, ".gpu.from") && catalog.IsGPUPath(v.String()) ||
		(path == "model.config" || strings.HasPrefix(path, "pools[") && strings.HasSuffix(path, "].model") ||
			path == "speculation.draft_model") && catalog.IsModelPath(v.String())
	if !file {
		return v, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return v, err
	}
	return reflect.ValueOf(absolute(dir, v.String())), nil
}

func firstOf(a, b string) string {
	if strings.HasPrefix(a, "did") {
		return a
	}
	return b
}
