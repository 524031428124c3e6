package catalog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

var update = flag.Bool("update", false, "rewrite docs/models.md")

// TestThePageOfModelsIsThatOfTheirFiles: docs/models.md says what the YAML files say; -update writes it.
func TestThePageOfModelsIsThatOfTheirFiles(t *testing.T) {
	const file = "../../docs/models.md"
	page := modelPage(t)
	if *update {
		require.NoError(t, os.WriteFile(file, page, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(page), string(have), "run go test ./configs/catalog -run Page -update")
}

// aboutModels opens the page.
const aboutModels = `# Models

Written from ` + "`configs/catalog/models/`" + ` by ` + "`go test ./configs/catalog -run Page -update`" + `: every model of the
catalog, counted from its shape, beside what its publisher says. ` + "`decodesim show NAME`" + ` prints the file of a model
with its sources, and ` + "`decodesim explain --model NAME --gpu GPU`" + ` what a step of it costs. The path of a HuggingFace
` + "`config.json`" + ` stands for a model in the same way.

A config.json is refused if it has a field that is not understood and could change the cost, or lacks one that its
family states: a file from which fields were taken until it loads is another model, by up to 23 times.
` + "`decodesim model check PATH`" + ` says which. GLM-5.3-Flash (320 B, 18 B active) is not here: of its
45 layers, 34 with KDA and 11 with MLA and a pooled index, vocabulary, heads and dense layers are not published where we
could read them, and sources differ on how many tokens a pool has (4 or 16). Its config.json, if you have it, goes in by
` + "`model: {config, ignore, override, published}`" + `, see [scenario.md](scenario.md).

## Sizes

*Total* counts the text decoder: embedding, head, layers and norms, without vision and without modules that draft.
*Active* is what a token uses, without the routed experts that it does not use; publishers leave out the embedding, the
head as well, or neither, and the column counts as they do, or else as ` + "`explain`" + `: all of a dense model, and one
with experts without an embedding that is only looked up.

| model | layers | total | published | | active | published | | drafting modules | checkpoint |
|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
`

// aboutNotes opens the list of differences.
const aboutNotes = `
| model | why the counts differ from those published |
|---|---|
`

// aboutCaches opens the last table.
const aboutCaches = `
## Caches

Bytes of one sequence by token of its context, over all layers, in bf16 and without copies on several GPUs; windows
hold the latest tokens. *Attention* is that of the least usual layers. *State* is what a sequence has whatever its
length: recurrent states, and what compressors keep of tokens that are in no entry yet. *Read* is what a decode step
reads of the cache of a sequence.

| model | attention | 4k | 32k | 128k | 1M | state, MB | read at 4k, MB | read at longest, MB | longest |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
`

func modelPage(t *testing.T) []byte {
	var sizes, caches, notes bytes.Buffer
	for _, name := range ModelNames() {
		file, text, _ := Lookup("models", name)
		spec, err := readModel(file, text)
		require.NoError(t, err)
		m, err := spec.model(file)
		require.NoError(t, err)
		sizeRow(&sizes, &spec, &m)
		cacheRow(&caches, &m)
		if spec.Published.Note != "" {
			fmt.Fprintf(&notes, "| %s | %s |\n", name, spec.Published.Note)
		}
	}
	return []byte(aboutModels + sizes.String() + aboutNotes + notes.String() + aboutCaches + caches.String())
}

// sizeRow writes counts beside what is published, and by how much they differ.
func sizeRow(b *bytes.Buffer, spec *modelSpec, m *llm.Model) {
	p := spec.Published
	fmt.Fprintf(b, "| %s | %d | %s | %s | %s |", m.Name, m.LayerCount(), billions(float64(m.ParamsTotal())),
		billions(p.Total), off(float64(m.ParamsTotal()), p.Total))
	active := map[string]int64{"nothing": m.ActiveAll(), "": m.Active(), "embedding": m.ActiveNoEmbedding(),
		"embedding-and-head": m.ActiveNoEmbeddingNoHead()}[p.Without]
	switch {
	case p.Active > 0:
		fmt.Fprintf(b, " %s | %s | %s |", billions(float64(active)), billions(p.Active), off(float64(active), p.Active))
	default:
		fmt.Fprintf(b, " %s | | |", billions(float64(active)))
	}
	drafting := ""
	if m.MTP > 0 {
		drafting = fmt.Sprintf("%d, %s", m.MTP, billions(float64(m.MTPParams())))
	}
	fmt.Fprintf(b, " %s | %s, %.0f GB |\n", drafting, strings.Join(dtypes(m), " + "), m.WeightBytes()/1e9)
}

// dtypes are the types of a checkpoint's linear layers, without repetition.
func dtypes(m *llm.Model) (out []string) {
	for _, dtype := range llm.Dtypes() {
		for c, n := range m.Params() {
			if class := llm.WeightClass(c); n > 0 && class.Quantizable() && m.ComputeDtype(class) == dtype {
				out = append(out, dtype)
				break
			}
		}
	}
	return out
}

func cacheRow(b *bytes.Buffer, m *llm.Model) {
	fmt.Fprintf(b, "| %s | %s |", m.Name, m.AttentionKind())
	for _, n := range contexts {
		if n > m.ContextMax {
			b.WriteString(" |")
			continue
		}
		fmt.Fprintf(b, " %.0f |", m.CacheBytes(n, 2)/float64(n))
	}
	state := ""
	if s := m.StateBytes(); s > 0 {
		state = fmt.Sprintf("%.1f", s/1e6)
	}
	short := ""
	if m.ContextMax >= contexts[0] {
		short = fmt.Sprintf("%.1f", m.CacheReadBytes(contexts[0], 2)/1e6)
	}
	fmt.Fprintf(b, " %s | %s | %.0f | %d |\n", state, short, m.CacheReadBytes(m.ContextMax, 2)/1e6, m.ContextMax)
}

func billions(n float64) string { return fmt.Sprintf("%.4g B", n/1e9) }

func off(counted, published float64) string {
	return fmt.Sprintf("%+.1f %%", 100*(counted/published-1))
}
