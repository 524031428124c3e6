package formats_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

// about is what the schema of that name holds.
func about(name string) string {
	schemas := formats.Schemas()
	return schemas[slices.IndexFunc(schemas, func(s datafile.Schema) bool { return s.Name == name })].About
}

func TestATableThatIsNearlyKnownNamesWhatItMisses(t *testing.T) {
	expected := "; expected " + about("points")
	for _, c := range []struct{ head, message string }{
		{"concurrancy,prompt_tokens,output_tokens,tpot_ms",
			`data:1: concurrancy: no such column in the nearest schema, "points"; did you mean "concurrency"? expected ` +
				about("points")},
		{"concurrency,prompt_tokens,ouptut_tokens,tpot_ms",
			`data:1: ouptut_tokens: no such column in the nearest schema, "points"; did you mean "output_tokens"? expected ` +
				about("points")},
		{"concurrency,prompt_tokens,output_tokens,tpto_ms",
			`data:1: tpto_ms: no such column in the nearest schema, "points"; did you mean "tpot_ms"? expected ` +
				about("points")},
		{"clients,prompt_tokens,output_tokens,tpot_ms",
			`data:1: no column "concurrency" or "rate", which the nearest schema, "points", needs` + expected},
		{"rate,prompt_tokens,tokens_out,tpot_ms",
			`data:1: no column "output_tokens", which the nearest schema, "points", needs` + expected},
		{"rate,prompt_tokens,output_tokens,median",
			`data:1: no column "ttft_ms" or "ttft_p50_ms" or the like, which the nearest schema, "points", needs` + expected},
		{
			"run,t,running,wating", `data:1: wating: no such column in the nearest schema, "request timings"; did you mean "waiting"? expected ` + about("request timings")},
	} {
		_, err := measuredtest.ReadText(t, c.head+"\n8,1000,200,11\n")
		assert.EqualError(t, err, c.message)
	}
	_, err := measuredtest.ReadText(t, "rate,b,c,d\n1,2,3,4\n")
	assert.ErrorContains(t, err, "has no known schema; expected a table of your own", "a quarter of a schema is near none")
}

// TestEverySchemaIsNearestToItself: any one column that is taken from a table is the one that is missed.
func TestEverySchemaIsNearestToItself(t *testing.T) {
	tried := 0
	for _, s := range formats.Schemas() {
		for i, missed := range s.Columns {
			rest := slices.Delete(slices.Clone(s.Columns), i, i+1)
			for j := range rest {
				rest[j], _, _ = strings.Cut(rest[j], "|")
			}
			_, err := measuredtest.ReadText(t, strings.Join(rest, ",")+"\n"+strings.Repeat(",", len(rest)-1)+"\n")
			name, _, _ := strings.Cut(missed, "|")
			if err == nil || !strings.Contains(err.Error(), "nearest schema") {
				continue // what is left is another kind's
			}
			if missed == "experiment" || missed == "exp_id" { // which is all that these two differ by
				continue
			}
			tried++
			assert.ErrorContains(t, err, `data:1: no column "`+name+`"`, s.Name)
		}
	}
	assert.Greater(t, tried, 80)
}

// zipped writes a file compressed.
func zipped(t *testing.T, path, text string) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

func TestACompressedFileIsReadAsItsContent(t *testing.T) {
	dir := t.TempDir()
	text := strings.TrimPrefix(pointsHead, "id,") + "8,1000,200,11\n16,1000,200,13\n"
	plain, packed := filepath.Join(dir, "data.csv"), filepath.Join(dir, "data.csv.gz")
	require.NoError(t, os.WriteFile(plain, []byte(text), 0o600))
	zipped(t, packed, text)
	want, err := formats.Read(plain, "")
	require.NoError(t, err)
	got, err := formats.Read(packed, "")
	require.NoError(t, err)
	assert.Equal(t, "data-1", got.Runs[0].ID)
	assert.Equal(t, want.Runs, got.Runs)

	whole, err := os.ReadFile(packed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(packed, whole[:len(whole)-9], 0o600))
	_, err = formats.Read(packed, "")
	assert.ErrorContains(t, err, "its gzip data cannot be unpacked: unexpected EOF; expected a whole file")
}

func TestCompressedFilesThatBelongTogetherAreFound(t *testing.T) {
	dir := t.TempDir()
	zipped(t, filepath.Join(dir, "requests.jsonl.gz"),
		`{"run":"p1","i":0,"input_tokens":900,"output_tokens":100,"ttft_s":0.1}`+"\n")
	zipped(t, filepath.Join(dir, "table.csv.gz"), measuredtest.ProfiledTable("id", "p1"))
	f, err := formats.Read(filepath.Join(dir, "requests.jsonl.gz"), "")
	require.NoError(t, err)
	require.Len(t, f.Runs, 1)
	assert.Empty(t, f.Runs[0].Skip)
	assert.Contains(t, f.Runs[0].Scenario, "900")
}
