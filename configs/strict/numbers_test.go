package strict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/soak"
)

// lists is a file with the places where long lists of numbers may stand.
type lists struct {
	Name   string    `yaml:"name"`
	Whole  []int64   `yaml:"whole"`
	Real   []float64 `yaml:"real"`
	Inside []struct {
		Values []float64 `yaml:"values"`
		After  int       `yaml:"after"`
	} `yaml:"inside"`
	After int `yaml:"after"`
}

// plainly decodes a file as the library reads it.
func plainly(data []byte, out *lists) (*Positions, error) {
	where := NewPositions("f.yaml")
	root, err := Parse(where, data)
	if err == nil {
		err = where.Fill(root, out)
	}
	return where, err
}

// TestLongListsReadAsTheLibraryReadsThem draws files with long lists in every form, and mistakes in them.
func TestLongListsReadAsTheLibraryReadsThem(t *testing.T) {
	soak.TakesLong(t)
	element := rapid.OneOf(
		rapid.Map(rapid.IntRange(-2000, 2000), func(n int) string { return fmt.Sprint(n) }),
		rapid.SampledFrom([]string{"1.5", "1e3", "-2.5E-3", "0", "7.25"}))
	rare := rapid.SampledFrom([]string{"010", "x", "1_0", ".5", "5.", "0x1f", "\"1\"", "1 2", "", "[1]", "-", "null",
		"1 # one"})
	rapid.Check(t, func(rt *rapid.T) {
		list := func(indent string) string {
			values := rapid.SliceOfN(element, numbersMin-2, numbersMin+20).Draw(rt, "values")
			if rapid.IntRange(0, 3).Draw(rt, "mistake") == 0 {
				values[rapid.IntRange(0, len(values)-1).Draw(rt, "at")] = rare.Draw(rt, "rare")
			}
			switch rapid.IntRange(0, 3).Draw(rt, "form") {
			case 0:
				return " [" + strings.Join(values, ",") + "]"
			case 1:
				return " [ " + strings.Join(values, " ,\n"+indent+"   ") + " ]"
			case 2:
				return " [" + strings.Join(values, ", ") + ",]"
			}
			return "\n" + indent + "- " + strings.Join(values, "\n"+indent+"- ")
		}
		name := rapid.SampledFrom([]string{"a", "'a" + list("") + "'", "|\n  text" + list("  "), "# a" + list("#")}).
			Draw(rt, "name")
		file := fmt.Sprintf("name: %s\nwhole:%s\nreal:%s\ninside:\n  - values:%s\n    after: 1\n"+
			"  - {values:%s, after: 2}\nafter: 3\n", name, list("  "), list(""), list("    "), list("    "))
		var got, want lists
		where, err := Decode("f.yaml", []byte(file), &got)
		plain, plainErr := plainly([]byte(file), &want)
		if plainErr != nil {
			require.Error(rt, err, file)
			return
		}
		require.NoError(rt, err, file)
		assert.Equal(rt, want, got)
		for path, at := range where.At {
			assert.Equal(rt, plain.At[path], at, path)
		}
	})
}

func TestALongListIsNoNodes(t *testing.T) {
	file := []byte("name: a\nwhole: [1" + strings.Repeat(",1", 100_000) + "]\nreal:\n" +
		strings.Repeat("- 2.5\n", 100_000))
	var out lists
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := Decode("f.yaml", file, &out)
			require.NoError(b, err)
		}
	}).AllocedBytesPerOp()
	assert.Less(t, allocated/200_001, int64(40), "bytes for each number; a node takes 150")
	allocated = testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.True(b, HasKey(file, "real"))
			require.False(b, HasKey(file, "other"))
		}
	}).AllocedBytesPerOp()
	assert.Less(t, allocated/400_002, int64(40), "and neither has the search for a key")
	assert.Len(t, out.Whole, 100_001)
	assert.Len(t, out.Real, 100_000)
	_, err := Decode("f.yaml", []byte("whole: [1"+strings.Repeat(", 1", 999)+", 1.5]"), &out)
	require.ErrorContains(t, err, "f.yaml:1:1: whole[1000]: expected an integer, got 1.5")
}
