package sweep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnAxisIsAListOrRanges(t *testing.T) {
	for text, want := range map[string][]string{
		"rate=10:80:10":          {"10", "20", "30", "40", "50", "60", "70", "80"},
		"rate=0.1:0.4:0.1":       {"0.1", "0.2", "0.3", "0.4"},
		"rate=1:2:0.4":           {"1", "1.4", "1.8"},
		"max_num_seqs=32,64,128": {"32", "64", "128"},
		"max_num_seqs=1:64:x4":   {"1", "4", "16", "64"},
		"rate=1,5:7:1,20":        {"1", "5", "6", "7", "20"},
		"x=[a, b],{c: 1, d: 2}":  {"[a, b]", "{c: 1, d: 2}"},
		"weight_sparsity=2:4":    {"2:4"},
	} {
		a, err := ParseAxis(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, a.Values, text)
	}
	a, err := ParseAxis("rate=1,2.5")
	require.NoError(t, err)
	assert.True(t, a.Numbers)
	a, err = ParseAxis("engine=vllm-v1,sglang")
	require.NoError(t, err)
	assert.False(t, a.Numbers)
}

func TestAWrongAxisIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"rate":         "expected KEY=VALUES",
		"rate=":        "expected KEY=VALUES",
		"=1":           "expected KEY=VALUES",
		"rate=1,,2":    "an empty value",
		"rate=5:1:1":   "is no range",
		"rate=1..20":   `"1..20" is no range; expected its step, too, as in 1:20:1`,
		"rate=1:5:0":   "is no range",
		"rate=1:5:-1":  "is no range",
		"rate=0:5:x2":  "is no range",
		"rate=1:5:x1":  "is no range",
		"rate=1,2,1":   "1 twice",
		"rate=1:9e9:1": "more than 100000 values",
	} {
		_, err := ParseAxis(text)
		require.ErrorContains(t, err, "--over "+text, text)
		assert.ErrorContains(t, err, want, text)
	}
}

// TestPointsAreTheCrossProduct: every combination once, the last axis fastest.
func TestPointsAreTheCrossProduct(t *testing.T) {
	axes := []Axis{{Values: []string{"a", "b"}}, {Values: []string{"1", "2", "3"}}}
	var all []string
	for point := range 6 {
		which := at(axes, point)
		all = append(all, axes[0].Values[which[0]]+axes[1].Values[which[1]])
	}
	assert.Equal(t, []string{"a1", "a2", "a3", "b1", "b2", "b3"}, all)
}

// TestShardsShareTheRuns: each run is of one shard, and stands there where run says.
func TestShardsShareTheRuns(t *testing.T) {
	for _, n := range []int{1, 2, 7, 30} {
		for of := 1; of <= n; of++ {
			seen := map[int]bool{}
			for i := 1; i <= of; i++ {
				s := Shard{i, of}
				for j := range s.runs(n) {
					k := s.run(j)
					assert.False(t, seen[k])
					seen[k] = true
					place, mine := s.place(k)
					assert.True(t, mine)
					assert.Equal(t, j, place)
				}
			}
			assert.Len(t, seen, n, "%d shards", of)
		}
	}
	for _, text := range []string{"", "1", "0/2", "3/2", "a/b", "1/0", "-1/2"} {
		_, err := ParseShard(text)
		assert.ErrorContains(t, err, "expected i/n", text)
	}
	s, err := ParseShard("2/3")
	require.NoError(t, err)
	assert.Equal(t, Shard{2, 3}, s)
}
