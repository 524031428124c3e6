package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/configs/strict"
)

// TestSchemasAcceptWhatLoads: the schemas that editors read are those of the structs; -update writes them. Every file
// that is built in passes its schema, and so does what it resolves to.
func TestSchemasAcceptWhatLoads(t *testing.T) {
	scenario := compiled(t, "scenario",
		schemaOf("A scenario of decodesim", reflect.TypeFor[Scenario](), "model", "pools", "workload"))
	for _, name := range ScenarioNames() {
		text, err := catalog.File("scenarios/" + name)
		require.NoError(t, err)
		require.NoError(t, scenario.Validate(document(t, text)), name)
		s, err := Load(name, Options{})
		require.NoError(t, err)
		require.NoError(t, scenario.Validate(document(t, s.YAML())), "%s, resolved", name)
	}
	study := compiled(t, "study", schemaOf("A study of decodesim", reflect.TypeFor[Study](), "rate"))
	for _, name := range StudyNames() {
		text, err := catalog.File("studies/" + name)
		require.NoError(t, err)
		require.NoError(t, study.Validate(document(t, text)), name)
		s, err := LoadStudy(name, nil)
		require.NoError(t, err)
		require.NoError(t, study.Validate(document(t, s.YAML())), "%s, resolved", name)
	}
}

// TestTheSchemaOfSweepsAcceptsWhatLoads, and refuses what does not.
func TestTheSchemaOfSweepsAcceptsWhatLoads(t *testing.T) {
	schema := compiled(t, "sweep", schemaOf("What decodesim sweep varies", reflect.TypeFor[SweepStudy](), "scenario"))
	load := func(text string) error {
		inDir(t, text)
		_, err := LoadSweep("chat.yaml")
		return err
	}
	for _, text := range []string{
		"scenario: chat-8b\nover: ['rate=1:9:1']\n", "scenario: chat-8b\nladder: true\nseeds: 3\n",
	} {
		require.NoError(t, load(text))
		require.NoError(t, schema.Validate(document(t, []byte(text))))
	}
	for text, want := range map[string]string{
		"scenario: chat-8b\nover: ['rate=1:9:1']\nseed: 3\n": `unknown key; did you mean "seeds"?`,
		"over: ['rate=1:9:1']\n":                             "scenario: is missing",
		"scenario: chat-8b\nladder: true\nseeds: 0\n":        "0 is out of range; expected 1 to 1000",
	} {
		require.ErrorContains(t, load(text), want)
		require.Error(t, schema.Validate(document(t, []byte(text))), text)
	}
	require.ErrorContains(t, load("scenario: chat-8b\n"), "over: is missing")
}

// TestTheSchemaRefusesWhatLoadRefuses: names, ranges, types and unknown keys.
func TestTheSchemaRefusesWhatLoadRefuses(t *testing.T) {
	scenario := compiled(t, "scenario",
		schemaOf("A scenario of decodesim", reflect.TypeFor[Scenario](), "model", "pools", "workload"))
	require.NoError(t, scenario.Validate(document(t, []byte(base))))
	for _, text := range []string{
		with("replicas: 2", "replicas: 0"), with("replicas: 2", "replica: 2"), with("seed: 5", "seed: five"),
		with("seed: 5", "weights: fp7"),
		with("seed: 5", "slo: {ttft_ms: 0}"), with("process: poisson", "process: poison"),
		with("model: llama-3.1-8b", "name: x"),
		with("replicas: 2", "max_running_request: 7"), with("requests: 10", "requests: 1.5"),
	} {
		require.Error(t, scenario.Validate(document(t, []byte(text))), text)
		refused(t, text)
	}
	require.NoError(t, scenario.Validate(document(t, []byte(with("replicas: 2", "max_running_requests: 7")))),
		"an engine's own name")
}

func refused(t *testing.T, text string) {
	t.Helper()
	inDir(t, text)
	_, err := Load("chat.yaml", Options{})
	require.Error(t, err)
}

// compiled returns a schema that is the one in docs/.
func compiled(t *testing.T, name string, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(schema))
	file := name + ".schema.json"
	regenerated(t, "../docs/"+file, b.Bytes())
	read, err := jsonschema.UnmarshalJSON(&b)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(file, read))
	compiledSchema, err := compiler.Compile(file)
	require.NoError(t, err)
	return compiledSchema
}

// document reads YAML as what JSON would be.
func document(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal(text, &v))
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	return out
}

// schemaOf returns the JSON schema of a file that fills a struct.
func schemaOf(title string, t reflect.Type, required ...string) map[string]any {
	schema := objectOf(t)
	schema["$schema"], schema["title"], schema["required"] = "https://json-schema.org/draft/2020-12/schema", title,
		required
	return schema
}

// objectOf returns the schema of a mapping whose keys are the fields of a struct. A pool may also name an argument as
// its engine does.
func objectOf(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, f := range strict.FieldsOf(t) {
		properties[f.Key] = propertyOf(f)
	}
	if t == reflect.TypeFor[Pool]() {
		all := catalog.Engines()
		for i := range all {
			for own, key := range all[i].Names {
				f, _ := strict.FieldNamed(strict.FieldsOf(t), key)
				alias := propertyOf(f)
				alias["description"] = fmt.Sprintf("%s under its name in %s: %s", key, strings.Join(catalog.EnginesWith(own), ", "),
					meaningOf(f))
				properties[own] = alias
			}
		}
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

func propertyOf(f strict.Field) map[string]any {
	p := typeOf(f.Type)
	if b, ok := boundOf(f); ok {
		low := "minimum"
		if b.open {
			low = "exclusiveMinimum"
		}
		p[low], p["maximum"] = b.low, b.high
	}
	if names := namesOf(f); names != nil {
		p["enum"] = names
	}
	if f.Optional {
		p = map[string]any{"anyOf": []any{p, map[string]any{"type": "null"}}}
	}
	p["description"] = meaningOf(f)
	return p
}

// typeOf returns what the schema says of a Go type.
func typeOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[AutoBool]():
		return map[string]any{"enum": []any{"auto", true, false}}
	case reflect.TypeFor[strict.Release]():
		return map[string]any{"type": []any{"string", "number"}}
	case reflect.TypeFor[catalog.Override]():
		return map[string]any{"type": "object"}
	case reflect.TypeFor[slo.Lines]():
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"},
			map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}}
	case reflect.TypeFor[Splits](), reflect.TypeFor[Layouts]():
		word := AutoLayouts
		if t == reflect.TypeFor[Splits]() {
			word = AllSplits
		}
		return map[string]any{"anyOf": []any{map[string]any{"const": word},
			map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Struct:
		if short, ok := reflect.New(t).Interface().(strict.Shorthand); ok {
			f, _ := strict.FieldNamed(strict.FieldsOf(t), short.ShorthandKey())
			return map[string]any{"anyOf": []any{objectOf(t), typeOf(f.Type)}}
		}
		if _, ok := reflect.New(t).Interface().(strict.Constant); ok {
			return map[string]any{"anyOf": []any{objectOf(t), map[string]any{"type": "number"}}}
		}
		return objectOf(t)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "integer"}
}
