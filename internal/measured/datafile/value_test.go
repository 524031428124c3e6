package datafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// byTheLibrary reads values as encoding/json does.
func byTheLibrary(data []byte) (all []any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		var value any
		if err := d.Decode(&value); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, err
		}
		all = append(all, value)
	}
}

// widened has lists of numbers as the library has them.
func widened(value any) any {
	switch v := value.(type) {
	case []float64:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = x
		}
		return all
	case []any:
		for i := range v {
			v[i] = widened(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = widened(v[key])
		}
	case json.Number:
		if x, err := v.Float64(); err == nil {
			return x
		}
	}
	return value
}

// TestValuesReadAsTheLibraryReadsThem: of texts that are JSON, and of texts that nearly are.
func TestValuesReadAsTheLibraryReadsThem(t *testing.T) {
	pieces := []string{"{", "}", "[", "]", ",", ":", " ", "\n", `"a"`, `"b\\"\u00e9"`, `"c": `, "1", "-2.5e3", "0.1", "1e999",
		"null", "true", "false", "tru", "01"}
	documents := []string{`{"d": [1, 2, 3]}`, `[[0.5, 1], [], [2, null]]`, `{"x": {"y": "z"}, "w": [true]}`}
	pieces = append(pieces, documents...)
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "text"), "")
		if rapid.Bool().Draw(t, "whole") { // for few of the others are JSON
			text = rapid.SampledFrom(documents).Draw(t, "document") + text
		}
		if rapid.Bool().Draw(t, "wrapped") {
			text = `{"k": ` + text + "}"
		}
		want, wrong := byTheLibrary([]byte(text))
		got, err := ReadDocuments("f.json", []byte(text), nil)
		if wrong != nil {
			require.Error(t, err, text)
			return
		}
		var flat []any
		for _, value := range want {
			if list, ok := value.([]any); ok {
				flat = append(flat, list...)
				continue
			}
			flat = append(flat, value)
		}
		if err != nil {
			require.NotContains(t, err.Error(), "not JSON", text)
			return
		}
		require.Len(t, got, len(flat), text)
		for i := range flat {
			require.Equal(t, widened(flat[i]), widened(got[i].Fields), text)
			valid++
		}
	})
	assert.Positive(t, valid)
}

// TestLongListsTakeNoMoreThanTheirText: what a benchmark tool writes of every token is most of its file.
func TestLongListsTakeNoMoreThanTheirText(t *testing.T) {
	var text bytes.Buffer
	text.WriteString(`{"itls": [`)
	for i := range 20_000 {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("[0.012345678901, 0.02, 0.013456789012, 0.0312, 0.014567890123, 0.011, 0.015678901234, 0.021]")
	}
	text.WriteString("]}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all, err := ReadDocuments("big.json", text.Bytes(), nil)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, all[0].NumberLists("itls", "seconds"), 20_000)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*text.Len()), "of %d bytes", text.Len())
}

func TestWhereAFileIsNoJSON(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\": 1}\n{\"b\": }":        "f.json:2: not JSON: invalid character '}'",
		"{\"a\": 1,\n \"b\": [1,, 2]}": "f.json:2: not JSON: invalid character ','",
		"{\"a\": [1, 2":                "f.json:1: not JSON: unexpected EOF",
		"{\"a\": 1}]":                  "f.json:1: not JSON: invalid character ']'",
		"[1, 2]":                       "f.json:1: value 1 is not a mapping",
		"nonsense":                     "f.json:1: not JSON: invalid character 'o' in literal null",
	} {
		_, err := ReadDocuments("f.json", []byte(text), nil)
		assert.ErrorContains(t, err, want, fmt.Sprintf("%q", text))
	}
}

// TestAFileThatWouldNotFitIsRefused: before anything is made of it.
func TestAFileThatWouldNotFitIsRefused(t *testing.T) {
	data := bytes.Repeat([]byte("{}\n"), 1_000_000)
	require.NoError(t, fits(data, '{', 0), "where nobody knows how much there is")
	require.NoError(t, fits(data, '{', 8e9))
	assert.EqualError(t, fits(data, '{', 3e9),
		"its 3 MB would take about 4.0 GB of memory, and 3.0 GB are available; expected a shorter file")
	assert.EqualError(t, fits([]byte("a,b\n"+strings.Repeat("1,2\n", 999_999)), '\n', 3e9),
		"its 4 MB would take about 4.0 GB of memory, and 3.0 GB are available; expected a shorter file", "rows of CSV")
	assert.NoError(t, fits([]byte("["+strings.Repeat("0.012345, ", 1_000_000)+"0]"), '{', 1e8), "a list takes little")
}

// TestHowFarAFileIsReadIsReported, up to all of it and never back.
func TestHowFarAFileIsReadIsReported(t *testing.T) {
	last, all, times := int64(0), int64(0), 0
	report := func(done, of int64) {
		require.True(t, done >= last && done <= of, "%d after %d of %d", done, last, of)
		last, all, times = done, of, times+1
	}
	_, err := ReadDocuments("f.jsonl", bytes.Repeat([]byte(`{"a":[1,2,3],"b":"c"}`+"\n"), 20_000), report)
	require.NoError(t, err)
	assert.Greater(t, times, 10)
	assert.Greater(t, last, all*8/10)
	last, times = 0, 0
	table, err := ReadTable("f.csv", []byte("a,b\n"+strings.Repeat("1,2\n", 50_000)), report)
	require.NoError(t, err)
	for i := range table.Rows {
		table.Record(i)
	}
	assert.Greater(t, times, 10)
	assert.Greater(t, last, all*8/10)
}
