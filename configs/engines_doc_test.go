package configs

import (
	"bytes"
	"flag"
	"fmt"
	"os"
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
	b.WriteString(worthSection())
	return b.Bytes()
}

// worthSection says what it would change to schedule otherwise than vLLM does: what the equality is worth, and what the
// departures that remain cost.
func worthSection() string {
	var b strings.Builder
	b.WriteString("\n## What equality with vLLM is worth\n\n")
	b.WriteString(filled("", "vllm-v1 with a rule taken away, against itself: mean TTFT, median ITL and capacity. "+
		"chat-8b is on one H100 at the rate given, 5,000 requests, seed 1; the pipeline is llama-3.1-70b in bf16 over 8 "+
		"stages of an "+
		"H100 each, prompts of 2,048 tokens and outputs of 128, 600 requests at 20 requests/s, more than it can serve. "+
		"Where a departure remains, it is measured against vLLM's own scheduler under the small loads of "+
		"tools/differential (20 cases, synchronous and asynchronous)."))
	b.WriteString("\n| what is otherwise | load | TTFT | ITL p50 | capacity |\n|---|---|--:|--:|--:|\n")
	for _, row := range []string{
		"an asynchronous engine taken for a synchronous one (`async_scheduling: false`) | chat-8b, 14 requests/s | " +
			"71.0 → 58.2 ms (−18 %) | 9.97 → 9.99 ms | – |",
		"the same | chat-8b, 20 requests/s | 112 → 86.3 ms (−23 %) | 16.5 → 16.5 ms | – |",
		"the same, with 16 sequences | chat-8b, 5 requests/s | 68.4 → 59.7 ms (−13 %) | 7.40 → 7.40 ms | – |",
		"the rules of 0.22 (`version: 0.22`) | chat-8b at each of these | equal | equal | – |",
		"stages that are priced as equal microbatches, and not scheduled | the pipeline | overload in both | " +
			"72.9 ms → 1.40 s | 14.8 → 2.62 requests/s (5.6 times too few) |",
		"a draft model's slots left out of the budget (remains) | small loads | −8 % and −5 % | E2E −7 % and −5 % | – |",
		"EAGLE and MTP find all cached blocks (remains) | – | not measured | – | – |",
	} {
		b.WriteString("| " + row + "\n")
	}
	return b.String()
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
