package configs

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/configs/strict"
)

// TestThePageOfScenariosNamesEveryKey: docs/scenario.md says what the structs and their tags say; -update writes it.
func TestThePageOfScenariosNamesEveryKey(t *testing.T) {
	page := append(scenarioPage(t), studyPage(t)...)
	regenerated(t, "../docs/scenario.md", page)
}

// regenerated requires a file to hold what the code says now, and writes it under -update.
func regenerated(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "run go test ./configs -run 'Page|Schema' -update")
}

// reference is what the page says of a key.
type reference struct {
	path, kind, fallback, unit, accepts, engines, meaning string

	section bool // it has keys of its own
}

// referenceWriter collects the keys of a struct and of everything below it, in the order of the schema.
type referenceWriter struct {
	t    *testing.T
	keys []reference
	seen map[reflect.Type]string // laws, which are described where they stand first
}

func (w *referenceWriter) collect(v reflect.Value, path string) {
	for _, f := range strict.FieldsOf(v.Type()) {
		at, value := strict.Join(path, f.Key), v.FieldByIndex(f.Index)
		w.keys = append(w.keys, w.reference(at, f, value))
		switch {
		case isSection(value) && value.IsNil():
			value = reflect.New(value.Type().Elem())
			w.descend(at, f, value.Elem())
		case isSection(value):
			w.descend(at, f, value.Elem())
		case value.Kind() == reflect.Struct:
			w.descend(at, f, value)
		case isRows(value) && value.Len() > 0:
			w.collect(value.Index(0), at+"[]")
		case isRows(value):
			w.collect(reflect.New(value.Type().Elem()).Elem(), at+"[]")
		}
	}
}

// descend collects the keys of a section. A law that other keys have too is described once.
func (w *referenceWriter) descend(path string, f strict.Field, v reflect.Value) {
	if first, again := w.seen[v.Type()]; again {
		w.keys[len(w.keys)-1].meaning += fmt.Sprintf("; keys as in `%s`", first)
		return
	}
	w.seen[v.Type()] = path
	w.collect(v, path)
}

func (w *referenceWriter) reference(path string, f strict.Field, v reflect.Value) reference {
	r := reference{path: path, kind: kindOf(v), fallback: fallback(path, f, v), unit: unitOf(f), meaning: meaningOf(f)}
	require.NotEmpty(w.t, r.meaning, "%s has neither doc nor about", path)
	r.section = isSection(v) || isRows(v) || v.Kind() == reflect.Struct
	if names := namesOf(f); f.Key == "gpu" || strings.HasSuffix(path, "gpu.from") {
		r.accepts = "what `decodesim list gpus` lists"
	} else if names != nil {
		r.accepts = "`" + strings.Join(names, "` `") + "`"
	}
	if b, ok := boundOf(f); ok {
		r.accepts = b.text()
	}
	if key, ok := strings.CutPrefix(path, "pools[]."); ok {
		r.engines = ownNamesOf(key)
		if isArgument(key) {
			r.fallback = "[the engine's](engines.md)"
		}
	}
	return r
}

func isArgument(key string) bool { return catalog.IsArgument(key) }

// meaningOf returns what the tags say about a field: doc stands in resolved files too.
func meaningOf(f strict.Field) string {
	if doc := f.Tag.Get("doc"); doc != "" {
		return doc
	}
	return f.Tag.Get("about")
}

// unitOf returns the unit of a field: that of its tag, or that of its name.
func unitOf(f strict.Field) string {
	if unit, ok := f.Tag.Lookup("unit"); ok {
		return unit
	}
	for _, of := range []struct{ suffix, unit string }{
		{"_per_s", "1/s"}, {"_bps", "bytes/s"}, {"_ms", "ms"}, {"_s", "s"}, {"_tokens", "tokens"}, {"_len", "tokens"},
	} {
		section := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
		if strings.HasSuffix(f.Key, of.suffix) && f.Type.Kind() != reflect.Bool && !section {
			return of.unit
		}
	}
	return ""
}

// kindOf names the type of a value.
func kindOf(v reflect.Value) string {
	switch {
	case v.Type() == reflect.TypeFor[catalog.Override]():
		return "mapping"
	case v.Type() == reflect.TypeFor[AutoBool]():
		return "auto, true or false"
	case v.Type() == reflect.TypeFor[strict.Release]():
		return "release"
	case v.Type() == reflect.TypeFor[slo.Lines]():
		return "list of rules"
	case v.Type() == reflect.TypeFor[Splits]():
		return "all, or a list of splits"
	case v.Type() == reflect.TypeFor[Layouts]():
		return "auto, or a list of layouts"
	case v.Kind() == reflect.Struct && hasShorthand(v) && undocumented(v.Type()):
		return "text, or a section"
	case hasShorthand(v):
		return "section, or its rules"
	case isConstant(v):
		return "number, or a section"
	case v.Kind() == reflect.Pointer && !isSection(v):
		return kindOf(reflect.New(v.Type().Elem()).Elem())
	case isSection(v) || v.Kind() == reflect.Struct:
		return "section"
	case isRows(v):
		return "list of sections"
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Slice:
		return "list of pairs"
	case v.Kind() == reflect.Slice:
		return "list of " + kindOf(reflect.New(v.Type().Elem()).Elem())
	case v.CanInt() || v.CanUint():
		return "integer"
	case v.CanFloat():
		return "number"
	case v.Kind() == reflect.Bool:
		return "boolean"
	}
	return "text"
}

// fallback returns what applies where nobody gives the key.
func fallback(path string, f strict.Field, v reflect.Value) string {
	_, required := f.Tag.Lookup("required")
	b, bounded := boundOf(f)
	switch {
	case path == "name":
		return "the file's"
	case required || slices.Contains([]string{"pools", "workload", "model", "pools[].gpu"}, path):
		return "required"
	case f.Optional && v.IsZero():
		return "null"
	case v.Kind() == reflect.Struct:
		return ""
	case isSection(v) || isRows(v) || f.Optional && v.IsZero():
		return "null"
	case v.Kind() == reflect.String && v.IsZero(), bounded && v.IsZero() && (b.low > 0 || b.open):
		return "required"
	}
	return "`" + literal(v) + "`"
}

// ownNamesOf returns what engines call an argument, where they do not call it by the key of every engine.
func ownNamesOf(key string) string {
	var names []string
	all := catalog.Engines()
	for i := range all {
		if own := "`" + all[i].Own(key) + "`"; own != "`"+key+"`" && all[i].Has(key) && !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return strings.Join(names, " ")
}

// text writes the range as a page of documentation does.
func (b bound) text() string {
	if b.open {
		return "above " + figure(b.low) + ", at most " + figure(b.high)
	}
	return figure(b.low) + " to " + figure(b.high)
}

// figure writes a number in full, with thousands separators, unless it is too long to be read so.
func figure(x float64) string {
	if x != math.Trunc(x) || math.Abs(x) >= 1e13 {
		return fmt.Sprintf("%g", x)
	}
	digits := fmt.Sprintf("%.0f", math.Abs(x))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if x < 0 {
		return "−" + digits
	}
	return digits
}

// everySection returns the defaults of a scenario that has a row of each kind.
func everySection() *Scenario {
	pool := defaultPool()
	pool.Role = RolePrefill
	pool.fillRole()
	pool.Role = RoleServe
	s := defaultScenario("", []Pool{pool})
	s.defaultFleet(&Scenario{
		Autoscale: make([]Autoscale, 1), Failures: make([]Failure, 1), RandomFailures: make([]RandomFailures, 1),
	})
	return s
}

func scenarioPage(t *testing.T) []byte {
	w := referenceWriter{t: t, seen: map[reflect.Type]string{}}
	w.collect(reflect.ValueOf(everySection()).Elem(), "")
	return w.page("# Scenario files\n\n"+
		"Written from `configs/` by `go test ./configs -run Page -update`; editors read "+
		"[scenario.schema.json](scenario.schema.json).\n"+
		"Every key may stand in the file, as `--set KEY=VALUE` (`pools.NAME.replicas=3` for `pools[].replicas`), or in the\n"+
		"environment as `DECODESIM_KEY`. A key that is *null* by default may stay absent; its meaning says what applies "+
		"then.\n"+
		"A number in the place of a law is that number every time: `workload.prompt_tokens=4000`. The names that engines\n"+
		"have for an argument may stand in place of the key; [engines.md](engines.md) has their defaults.\n"+
		"`decodesim run --out DIR` writes a scenario with every default in it.\n", "##")
}

func studyPage(t *testing.T) []byte {
	w := referenceWriter{t: t, seen: map[reflect.Type]string{}}
	w.collect(reflect.ValueOf(defaultStudy()).Elem(), "")
	return w.page(
		"\n## Study files\n\nWhat `decodesim size` reads; editors read [study.schema.json](study.schema.json).\n", "###")
}

// page writes a table for each section.
func (w *referenceWriter) page(introduction, heading string) []byte {
	var b bytes.Buffer
	b.WriteString(introduction)
	sections := []string{""}
	for _, k := range w.keys {
		if k.section {
			sections = append(sections, k.path)
		}
	}
	for _, section := range sections {
		w.table(&b, section, heading)
	}
	return b.Bytes()
}

func (w *referenceWriter) table(b *bytes.Buffer, section, heading string) {
	title := true
	for _, k := range w.keys {
		inside, last := k.path, strings.LastIndexByte(k.path, '.')
		if in := strings.TrimSuffix(k.path[:max(0, last)], "[]"); in != section {
			continue
		}
		if title && section != "" {
			fmt.Fprintf(b, "\n%s %s\n", heading, section)
		}
		if title {
			b.WriteString(
				"\n| key | type | default | unit | accepts | engines call it | meaning |\n|---|---|---|---|---|---|---|\n")
		}
		title = false
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", inside[last+1:], k.kind, k.fallback, k.unit, k.accepts,
			k.engines, k.meaning)
	}
}

// isConstant reports whether a number may stand in the place of a section.
func isConstant(v reflect.Value) bool {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[strict.Constant]())
}

// hasShorthand reports whether a list may stand in the place of a section.
func hasShorthand(v reflect.Value) bool {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[strict.Shorthand]())
}

// TestTheRecomputationDrawsEveryKey: a key that is new on the page of scenarios is in no random scenario until somebody
// draws it, or says why it need not be drawn.
func TestTheRecomputationDrawsEveryKey(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3, in which the scenarios are drawn")
	}
	for _, file := range []string{"../docs/scenario.md", "../tools/recompute/keys.py", "../tools/recompute/scenarios.py",
		"../tools/recompute/features.py"} {
		_, err := os.ReadFile(file) // so that the result of the test is not taken from a cache when one is changed
		require.NoError(t, err)
	}
	out, err := exec.Command(python, "-B", "../tools/recompute/keys.py").CombinedOutput()
	require.NoError(t, err, string(out))
}
