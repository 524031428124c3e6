package inputs

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAKeyThatStandsTwiceIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		`{"a":1,"a":2}`:                         `line 1: key "a" stands twice`,
		"{\"a\":{\"b\":1,\n\"c\":2,\n\"b\":3}}": `line 3: key "b"`,
		`[{"a":1},{"a":1,"b":[{"a":1}],"a":2}]`: `key "a"`,
		`{"a":1,"\u0061":2}`:                    `key "\u0061"`,
		`{"a":1} {"b":1,"b":2}`:                 `key "b"`,
	} {
		require.ErrorContains(t, DuplicateKey([]byte(text)), says, text)
	}
	for _, text := range []string{
		`{}`, ``, `[1,2,1,2]`, `["a","a"]`, `{"a":"a","b":"a"}`, `{"a":{"a":1},"b":{"a":1}}`, `{"a":1} {"a":1}`,
		`{"a":["b","b",{"b":1}],"b":"\"b\":"}`, `{"a\"":1,"a":2}`, `"a","a"`, `}}}{`, `{"a":1,"a`, `"\`, "\xff{\"\xff\":1",
	} {
		assert.NoError(t, DuplicateKey([]byte(text)), text)
	}
}

// TestNoKeysAreSoughtDeeperThanJSONIsRead: what is nested deeper is no JSON to its reader, and a level takes memory.
func TestNoKeysAreSoughtDeeperThanJSONIsRead(t *testing.T) {
	data := bytes.Repeat([]byte("["), 1<<24)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, DuplicateKey(data))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
	deepest := strings.Repeat("[", depthMax-1) + `{"a":1,"a":2}` + strings.Repeat("]", depthMax-1)
	require.True(t, json.Valid([]byte(deepest)))
	require.ErrorContains(t, DuplicateKey([]byte(deepest)), "stands twice")
	assert.False(t, json.Valid([]byte("["+deepest+"]")))
}

func TestAFieldThatStandsTwiceIsRefused(t *testing.T) {
	for text, key := range map[string]string{
		`{"n":80,"N":1}`: `"N"`, `{"keys":1,"\u212aeyſ":2}`: `"\u212aeyſ"`, `{"a":{"b":1,"b":2},"a":1}`: `"a"`,
	} {
		require.ErrorContains(t, DuplicateField([]byte(text)), "key "+key+" stands twice", text)
	}
	assert.NoError(t, DuplicateField([]byte(`{"a":{"b":1,"B":2,"b":[{"c":1,"c":2}]},"b":1}`)))
}

// FuzzDuplicateKey: whatever the bytes, the scan ends.
func FuzzDuplicateKey(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\"c"}],"a":2}`))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = DuplicateKey(data) })
}

func BenchmarkDuplicateKey(b *testing.B) {
	data := []byte(`[`)
	for range 10_000 {
		data = append(data, `{"prompt_len":512,"output_len":128,"itls":[0.01,0.02,0.03],"error":"none"},`...)
	}
	data[len(data)-1] = ']'
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if DuplicateKey(data) != nil {
			b.Fatal("no key stands twice")
		}
	}
}
