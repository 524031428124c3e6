package datafile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

func TestSettingsReadAsTheyStand(t *testing.T) {
	o, err := ReadSettings("config.yaml", []byte("a: 1\nb: {c: [x, 2.5, null, true]}\nd: &d {e: 1, f: 2}\n"+
		"g: {f: 3, <<: *d}\nh: *d\n3: three\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": 1, "b": map[string]any{"c": []any{"x", 2.5, nil, true}},
		"d": map[string]any{"e": 1, "f": 2}, "g": map[string]any{"e": 1, "f": 3}, "h": map[string]any{"e": 1, "f": 2},
		"3": "three"}, o.Fields)
	for _, text := range []string{"", "# nothing\n", "null\n"} {
		o, err := ReadSettings("config.yaml", []byte(text))
		require.NoError(t, err)
		assert.Empty(t, o.Fields)
	}
	for text, want := range map[string]string{
		"a: [":                        "config.yaml: not YAML: ",
		"- 1\n":                       "config.yaml:1: expected a mapping",
		"a: {b: 1,\n  b: 2}\n":        `config.yaml:2: key "b" stands twice`,
		"a: [{b: 1}, {c: 1, c: 1}]\n": `config.yaml:1: key "c" stands twice`,
		"a: &a\n  again: *a\n":        "it has more than 262144 values",
		"a: !!int x\n":                `config.yaml:1: "x" is not a value`,
	} {
		_, err := ReadSettings("config.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// TestManySettingsAreReadInTheTimeOfTheirNumber: each key was compared with all others, for minutes.
func TestManySettingsAreReadInTheTimeOfTheirNumber(t *testing.T) {
	soak.TakesLong(t)
	var text strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&text, "k%d: 1\n", i)
	}
	began := time.Now()
	o, err := ReadSettings("config.yaml", []byte(text.String()))
	require.NoError(t, err)
	assert.Len(t, o.Fields, 200_000)
	assert.Less(t, time.Since(began), 20*time.Second)
}

// TestAliasesDoNotFillMemory: nine lists of nine aliases of the one before are a billion values.
func TestAliasesDoNotFillMemory(t *testing.T) {
	text := "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
	}
	_, err := ReadSettings("config.yaml", []byte(text))
	require.ErrorContains(t, err, "it has more than 262144 values")
}

// FuzzSettings reads any bytes as a tool's settings, and what is read by the names of inference-perf's.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"load:\n  type: constant\n  stages:\n  - {rate: 2, duration: 60}\nserver: {model_name: m}\ndata: {output_len: 128}\n",
		"a: &a {b: 1}\nc: {<<: *a, d: 2}\ne: *a\n", "a: &a [*a]\n", "? [1, 2]\n: 3\n", "- 1\n", "a: !!binary aGk=\n",
		"a: 2026-11-27\nb: .nan\nc: 0x1f\n", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := ReadSettings("config.yaml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "config.yaml:") {
				t.Fatalf("an error that does not say its file: %v", err)
			}
			return
		}
		_ = o.Sub("server").Text("model_name")
		_, _ = o.Sub("data").Search("output_len")
		for _, stage := range o.Sub("load").Elements("stages") {
			_ = stage.Required("rate", "a number")
		}
	})
}
