package strict

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type sample struct {
	Name    string             `yaml:"name"`
	Count   int                `yaml:"count"`
	Small   int8               `yaml:"small"`
	Seed    uint64             `yaml:"seed"`
	Rate    float64            `yaml:"rate"`
	Overlap float64            `yaml:"overlap"`
	On      bool               `yaml:"on"`
	Limit   int                `yaml:"limit,omitempty"`
	Pools   []samplePool       `yaml:"pools"`
	Section *samplePool        `yaml:"section"`
	Table   map[string]float64 `yaml:"table"`
	Inner   sampleInner        `yaml:",inline"`
}

type samplePool struct {
	TensorParallel int       `yaml:"tensor_parallel"`
	Values         []float64 `yaml:"values"`
}

type sampleInner struct {
	Deep string `yaml:"deep"`
}

func TestStrictDecodingFillsEveryKind(t *testing.T) {
	var got sample
	_, err := Decode("a.yaml", []byte(`
name: "8"
count: 1e5
small: -128
seed: 18446744073709551615
rate: .5
overlap: .inf
on: true
limit: null
pools:
  - {tensor_parallel: 4, values: [1, 2.5e-3]}
section: {tensor_parallel: 2.0}
table: {Bf16.x: 1}
deep: yes
`), &got)
	require.NoError(t, err)
	require.Equal(t, sample{
		Name: "8", Count: 100000, Small: -128, Seed: math.MaxUint64, Rate: .5, Overlap: math.Inf(1), On: true,
		Pools:   []samplePool{{4, []float64{1, 2.5e-3}}},
		Section: &samplePool{TensorParallel: 2},
		Table:   map[string]float64{"Bf16.x": 1},
		Inner:   sampleInner{"yes"},
	}, got)
}

func TestStrictDecodingPointsAtWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"pools:\n- values: []\n  tensor_paralel: 4\n",
			`a.yaml:3:3: pools[0].tensor_paralel: unknown key; did you mean "tensor_parallel"?`},
		{"pools:\n- bogus: 4\n", `a.yaml:2:3: pools[0].bogus: unknown key; valid keys: "tensor_parallel", "values"`},
		{"tensor_parallel: 4\n", `a.yaml:1:1: tensor_parallel: unknown key; expected it as pools[0].tensor_parallel or ` +
			`section.tensor_parallel`},
		{"Name: x\n", `a.yaml:1:1: Name: unknown key; did you mean "name"?`},
		{"name: x\ncount: 1\nname: y\n", `a.yaml:3:1: name: duplicate key; the first is on line 1`},
		{"table: {a: 1, a: 2}\n", `a.yaml:1:15: table.a: duplicate key; the first is on line 1`},
		{"name: 8\n", `a.yaml:1:1: name: expected text, got the number 8; quote it if it is meant`},
		{"name: true\n", `a.yaml:1:1: name: expected text, got the truth value true; quote it if it is meant`},
		{"name:\n", `a.yaml:1:1: name: expected text, got nothing`},
		{"name: [a]\n", `a.yaml:1:1: name: expected text, got a list`},
		{"count: abc\n", `a.yaml:1:1: count: expected an integer, got "abc"`},
		{"count: 1.5\n", `a.yaml:1:1: count: expected an integer, got 1.5`},
		{"count: 010\n", `a.yaml:1:1: count: expected an integer in plain decimal digits, got 010`},
		{"count: 0x10\n", `a.yaml:1:1: count: expected an integer in plain decimal digits, got 0x10`},
		{"count: 1_000\n", `a.yaml:1:1: count: expected an integer in plain decimal digits, got 1_000`},
		{"count: 1:30\n", `a.yaml:1:1: count: expected an integer, got "1:30"`},
		{"count: 1e30\n", `a.yaml:1:1: count: 1e30 is beyond the range of an integer`},
		{"count: .nan\n", `a.yaml:1:1: count: expected an integer, got .nan`},
		{"small: 128\n", `a.yaml:1:1: small: 128 is out of range; expected an integer from -128 to 127`},
		{"seed: -1\n", `a.yaml:1:1: seed: -1 is out of range; expected an integer from 0 to 18446744073709551615`},
		{"seed: 1.5\n", `a.yaml:1:1: seed: expected an integer, got 1.5`},
		{"rate: .inf\n", `a.yaml:1:1: rate: expected a finite number, got .inf`},
		{"rate: .nan\n", `a.yaml:1:1: rate: expected a finite number, got .nan`},
		{"rate: 1e999\n", `a.yaml:1:1: rate: expected a number, got "1e999"`},
		{"rate: fast\n", `a.yaml:1:1: rate: expected a number, got "fast"`},
		{"overlap: .nan\n", `a.yaml:1:1: overlap: expected a finite number, got .nan`},
		{"overlap: -.inf\n", `a.yaml:1:1: overlap: expected a finite number, got -.inf`},
		{"on: yes\n", `a.yaml:1:1: on: expected true or false, got "yes"`},
		{"pools: {a: 1}\n", `a.yaml:1:1: pools: expected a list, got a mapping`},
		{"pools:\n  - 3\n", `a.yaml:2:5: pools[0]: expected a mapping of keys to values, got the number 3`},
		{"pools:\n  - values: [1, x]\n", `a.yaml:2:17: pools[0].values[1]: expected a number, got "x"`},
		{"section: 3\n", `a.yaml:1:1: section: expected a mapping of keys to values, got the number 3`},
		{strings.Repeat("word ", 100), "a.yaml:1:1: expected a mapping of keys to values, got \"" +
			strings.Repeat("word ", 12) + "\" …"},
		{"- a\n", `a.yaml:1:1: expected a mapping of keys to values, got a list`},
		{"section: &x {}\n", `a.yaml:1:1: section: YAML anchors and aliases are not supported; write the value out`},
		{"count: &x 1\nsmall: *x\n", `a.yaml:1:1: count: YAML anchors and aliases are not supported; write the value out`},
		{"section: {<<: {values: []}}\n",
			`a.yaml:1:11: section.<<: YAML merge keys (<<) are not supported; write the keys out`},
		{"count: !!int \"3\"\n", `a.yaml:1:1: count: YAML tag "!!int" is not supported; write the value without it`},
		{"? [a]\n: 1\n", `a.yaml:1:3: expected a plain key, got a list`},
		{"name: a\n---\nname: b\n", `a.yaml:2:1: a second document starts here; expected one per file`},
		{"", `a.yaml:1:1: the file is empty; expected a mapping of keys to values`},
		{"# nothing\n", `a.yaml:1:1: the file is empty; expected a mapping of keys to values`},
		{"---\n", `a.yaml:1:1: the file is empty; expected a mapping of keys to values`},
		{"name: a\n\tcount: 1\n", `a.yaml:2:1: not YAML: found a tab character that violates indentation`},
		{"name: 'a\n", `a.yaml:2:1: not YAML: found unexpected end of stream`},
		{"name: \xff\n", `a.yaml:1:1: not YAML: invalid leading UTF-8 octet`},
	} {
		t.Run(c.yaml, func(t *testing.T) {
			_, err := Decode("a.yaml", []byte(c.yaml), &sample{})
			require.EqualError(t, err, c.want)
		})
	}
}

func TestStrictDecodingNeverPanics(t *testing.T) {
	for _, data := range []string{"&a [*a]", "{", "a: b: c", "? ", "!!map {}", "\x00", "- - - -", "%YAML 9\n---\n", "*a"} {
		_, err := Decode("a.yaml", []byte(data), &sample{})
		require.Error(t, err, "%q", data)
	}
}

func TestTheNearestNameIsSuggested(t *testing.T) {
	have := []string{"h100-sxm", "h200-sxm", "l4", "seed"}
	for got, want := range map[string]string{
		"h100sxm": "h100-sxm", "H200-SXM": "h200-sxm", "sede": "seed", "l": "l4", "tpu": "", "": "",
	} {
		require.Equal(t, want, Suggest(got, have), "%q", got)
	}
	require.Equal(t, `gpu "h1000-sxm" not found; did you mean "h100-sxm"?`,
		UnknownName("gpu", "h1000-sxm", []string{"h100-sxm", "l4"}))
	require.Equal(t, `gpu "abacus" not found; valid names: "l4"`, UnknownName("gpu", "abacus", []string{"l4"}))
}

// TestALongNameIsNearNone, and is compared with none: a distance takes as many steps as the product of two lengths.
func TestALongNameIsNearNone(t *testing.T) {
	have := make([]string, 1000)
	for i := range have {
		have[i] = fmt.Sprintf("a-name-of-ordinary-length-%d", i)
	}
	long := strings.Repeat("x", 4<<20)
	began := time.Now()
	assert.Empty(t, Suggest(long, have))
	assert.Empty(t, Nearest(long, have))
	assert.Less(t, time.Since(began), 10*time.Second)
	assert.Equal(t, "ä-näme", Suggest("ä-nämé", []string{"name", "ä-näme"}))
}

func TestATextHasALimit(t *testing.T) {
	var x struct {
		Name string `yaml:"name"`
	}
	_, err := Decode("x.yaml", []byte("name: "+strings.Repeat("x", TextMax)), &x)
	require.NoError(t, err)
	_, err = Decode("x.yaml", []byte("name: "+strings.Repeat("x", TextMax+1)), &x)
	require.ErrorContains(t, err, "x.yaml:1:1: name: the text has 4097 bytes; expected at most 4096")
}
