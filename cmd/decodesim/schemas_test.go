package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/compare"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/sensitivity"
	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/traffic"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestTheDocumentationHasSchemasOfWhatIsPrinted: the schemas of --json in docs/ are those of the Go types that are
// printed (-update writes them), and what the commands print passes them.
func TestTheDocumentationHasSchemasOfWhatIsPrinted(t *testing.T) {
	const measured = "workload.requests=400"
	documented := map[string]bool{"serve": true} // which prints what run does
	for name, c := range map[string]struct {
		of   reflect.Type
		args []string
	}{
		"summary": {reflect.TypeFor[metrics.Summary](), []string{"run", "chat-8b", "--set", measured}},
		"compare": {reflect.TypeFor[compare.Comparison](), []string{"compare", "chat-8b", "chat-70b", "--set", measured}},
		"explain": {reflect.TypeFor[explain.Explanation](), []string{"explain", "chat-8b"}},
		"size":    {reflect.TypeFor[sizing.Sizing](), []string{"size", "study.yaml"}},
		"sweep-result": {reflect.TypeFor[sweep.Result](),
			[]string{"sweep", "chat-8b", "--ladder", "--set", measured, "--out", "o"}},
		"workload":     {reflect.TypeFor[traffic.Summary](), []string{"workload", "describe", "conv.csv.gz"}},
		"workload-fit": {reflect.TypeFor[traffic.Fit](), []string{"workload", "fit", "conv.csv.gz"}},
		"sensitivity": {reflect.TypeFor[sensitivity.Result](),
			[]string{"sensitivity", "chat-8b", "--set", "workload.requests=50"}},
		"fleet":        {reflect.TypeFor[sizing.Fleet](), []string{"size", "fleet.yaml"}},
		"explain-grid": {reflect.TypeFor[explain.Grid](), []string{"explain", "chat-8b", "--batch", "1,8"}},
		"sweep-shard": {reflect.TypeFor[sweep.Head](),
			[]string{"sweep", "chat-8b", "--ladder", "--set", measured, "--shard", "1/9", "--out", "part"}},
		"validate":    {reflect.TypeFor[validation.Validation](), []string{"validate", "--data", "data.csv"}},
		"calibrate":   {reflect.TypeFor[calibration.Calibration](), []string{"calibrate", "--data", "data.csv"}},
		"model-check": {reflect.TypeFor[describe.ModelCheck](), []string{"model", "check", "qwen3-8b"}},
	} {
		documented[c.args[0]], documented[c.args[0]+" "+c.args[1]] = true, true
		t.Run(name, func(t *testing.T) {
			s := schemaOf(c.of)
			s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
			command := c.args[0]
			if command == "workload" || command == "model" {
				command += " " + c.args[1]
			}
			s["title"] = "What decodesim " + command + " --json prints"
			schema := compiledSchema(t, name+".schema.json", s)
			if command == "size" || command == "sensitivity" {
				soak.TakesLong(t)
			}
			t.Chdir(t.TempDir())
			writeInvented(t)
			require.NoError(t, os.WriteFile("study.yaml", []byte("scenario: chat-8b\nbudget: {gpus: 2}\nrate: {at: 20}\n"+
				"slo: {ttft_ms: 500, tpot_ms: 40}\nrequests: 400\nseeds: 1\n"), 0o600))
			require.NoError(t, os.WriteFile("fleet.yaml", []byte("budget: {gpus: 8}\nfleet: [study.yaml]\n"), 0o600))
			require.NoError(t, os.WriteFile("data.csv", []byte(own), 0o600))
			status, out, errOut := try(append(c.args, "--json")...)
			require.Equal(t, exitOK, status, errOut)
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(document))
		})
	}
	documented["sweep merge"] = documented["sweep"] // the same file
	everyCommand(newRoot(io.Discard, io.Discard), func(c *cobra.Command, name string) {
		if c.Flags().Lookup("json") != nil {
			require.True(t, documented[name], "decodesim %s --json has no schema in docs/", name)
		}
	})
}

// everyCommand calls do with each command and its name.
func everyCommand(of *cobra.Command, do func(c *cobra.Command, name string)) {
	for _, c := range of.Commands() {
		do(c, strings.TrimPrefix(c.CommandPath(), "decodesim "))
		everyCommand(c, do)
	}
}

// compiledSchema returns a schema that is the one in docs/.
func compiledSchema(t *testing.T, file string, schema map[string]any) *jsonschema.Schema {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(schema))
	path := filepath.Join(root, "docs", file)
	if *update {
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	documented, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(documented), updateWith)
	read, err := jsonschema.UnmarshalJSON(&b)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(file, read))
	compiled, err := compiler.Compile(file)
	require.NoError(t, err)
	return compiled
}

// schemaOf returns what the JSON of a Go type is. Fields are added from release to release, so others are allowed.
func schemaOf(t reflect.Type) map[string]any {
	written, itself := t.MethodByName("Written")
	switch own := t.Implements(reflect.TypeFor[json.Marshaler]()); {
	case itself && own && t.Kind() == reflect.Struct:
		return schemaOf(written.Type.Out(0))
	case own && t.Kind() == reflect.Struct:
		return nullable(t)
	case own && t.Kind() != reflect.Pointer: // stats.Number: NaN is null
		return map[string]any{"type": []any{"number", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": []any{"array", "null"}, "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []any{}
		addFields(t, properties, &required)
		return map[string]any{"type": "object", "properties": properties, "required": required}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// nullable returns what a struct is that writes itself: null for what was not measured.
func nullable(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	addFields(t, properties, &required)
	for name, is := range properties {
		properties[name] = map[string]any{"anyOf": []any{is, map[string]any{"type": "null"}}}
	}
	return map[string]any{"type": "object", "properties": properties}
}

// addFields adds the fields of a struct, and those of the structs that are embedded in it.
func addFields(t reflect.Type, properties map[string]any, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			addFields(embedded, properties, required)
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = schemaOf(f.Type)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}
