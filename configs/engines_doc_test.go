package configs

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/engines.md")

// TestThePageOfEnginesIsThatOfTheirFiles: docs/engines.md says what the YAML files say; -update writes it.
func TestThePageOfEnginesIsThatOfTheirFiles(t *testing.T) {
	const file = "../docs/engines.md"
	page := enginePage(t)
	if *update {
		require.NoError(t, os.WriteFile(file, page, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(page), string(have), "run go test ./configs -run Page -update")
}

func enginePage(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString("# Engines\n\n")
	b.WriteString(
		filled("", "Written from `configs/catalog/engines/` by `go test ./configs -run Page -update`. An engine is "+
			"a policy, arguments under its own names with its own defaults, and the efficiencies that price its steps. "+
			"`decodesim show NAME` prints its file. A scenario may name an argument as the engine does or as the column "+
			"*key* does, which is the same for every engine. What is marked unverified is from memory: no document or "+
			"source was read for it. [defaults.md](defaults.md) says in which lines of which release each default stands."))
	b.WriteString("\n| engine | describes | policy | efficiencies |\n|---|---|---|---|\n")
	for _, name := range catalog.EngineNames() {
		e, err := catalog.Engine(name)
		require.NoError(t, err)
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", name, name, e.Describes, e.Scheduler, e.Efficiency)
	}
	for _, name := range catalog.EngineNames() {
		e, err := catalog.Engine(name)
		require.NoError(t, err)
		engineSection(t, &b, &e)
	}
	b.WriteString(worthSection(t))
	return b.Bytes()
}

// worthSection returns the last section of the page, which internal/published writes.
func worthSection(t *testing.T) string {
	page, err := os.ReadFile(filepath.Join("..", "docs", "engines.md"))
	require.NoError(t, err)
	const heading = "\n## What equality with the engines is worth\n"
	_, section, found := strings.Cut(string(page), heading)
	require.True(t, found)
	return heading + section
}

func engineSection(t *testing.T, b *bytes.Buffer, e *catalog.EngineSpec) {
	fmt.Fprintf(b, "\n## %s\n\n", e.Name)
	b.WriteString(filled("", e.Describes+". Source: "+strings.TrimSuffix(e.Source, ".")+"."))
	b.WriteString("\n| argument | key | default | note |\n|---|---|---|---|\n")
	notes := argumentNotes(t, e)
	for _, key := range e.Keys() {
		own, cell := e.Own(key), "the same"
		if own != key {
			cell = "`" + key + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", own, cell, argumentDefault(e, key), notes[own])
	}
	b.WriteString("\nWhat is not as in the engine described:\n\n")
	for _, d := range e.Departures {
		b.WriteString(filled("  ", "- "+d))
	}
}

// filled breaks text into lines of at most 120 columns, those after the first behind indent.
func filled(indent, text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > 120:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String() + "\n"
}

// argumentNotes returns the comments behind the arguments in the engine's file.
func argumentNotes(t *testing.T, e *catalog.EngineSpec) map[string]string {
	_, data, _ := catalog.Lookup("engines", e.Name)
	root, err := strict.Parse(strict.NewPositions(e.Name), data)
	require.NoError(t, err)
	notes := map[string]string{}
	for _, pair := range strict.Pairs(strict.Child(root, "arguments")) {
		notes[pair[0].Value] = strings.TrimPrefix(pair[1].LineComment+pair[0].LineComment, "# ")
	}
	return notes
}

// argumentDefault writes the default of an argument; what depends on the GPU from the least to the most.
func argumentDefault(e *catalog.EngineSpec, key string) string {
	f, _ := strict.FieldNamed(strict.FieldsOf(reflect.TypeFor[catalog.EngineArguments]()), key)
	v := reflect.ValueOf(e.Arguments).FieldByIndex(f.Index)
	if !f.Optional || !v.IsZero() {
		return literal(v)
	}
	var least, most float64
	for i, l := range e.Limits {
		x := map[string]float64{
			"max_num_seqs": float64(l.MaxNumSeqs), "max_num_batched_tokens": float64(l.MaxNumBatchedTokens),
			"gpu_memory_utilization": l.GPUMemoryUtilization,
		}[key]
		if i == 0 {
			least, most = x, x
		}
		least, most = min(least, x), max(most, x)
	}
	switch {
	case most == 0:
		return "null"
	case least == most:
		return fmt.Sprintf("%g", most)
	}
	return fmt.Sprintf("%g to %g", least, most)
}
