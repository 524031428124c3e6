package sglang

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// record is a case, and what SGLang's own scheduler did with it.
type record struct {
	Case  testCase          `json:"case"`
	Steps []step            `json:"steps"`
	Ends  map[int32][]int64 `json:"ends"`
}

// TestStepsAreSGLangsOwn replays recorded cases: every step has the members, tokens, cached tokens, retractions and
// free tokens that SGLang's own scheduler gave it, and every token comes when it did. harness.py --record writes them.
func TestStepsAreSGLangsOwn(t *testing.T) {
	for _, name := range []string{"sglang-0.5.23", "sglang-0.5.23-overlap", "sglang-0.5.23-decode",
		"sglang-0.5.23-decode-overlap", "sglang-0.5.23-random", "sglang-0.5.23-random-overlap",
		"sglang-0.5.23-preemption", "sglang-0.5.23-preemption-overlap"} {
		t.Run(name, func(t *testing.T) { replay(t, name, 35) })
	}
	t.Run("one match of each that waits", func(t *testing.T) { replay(t, "sglang-0.5.23-order-overlap", 9) })
}

// replay replays the cases of a file, of which there are at least so many.
func replay(t *testing.T, name string, least int) {
	file, err := os.Open("testdata/" + name + ".jsonl.gz")
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	cases, steps := 0, 0
	for dec := json.NewDecoder(z); dec.More(); cases++ {
		var r record
		require.NoError(t, dec.Decode(&r))
		require.Equal(t, strings.HasSuffix(name, "-overlap"), r.Case.Overlap)
		got := r.Case.run(t, true)
		steps += len(r.Steps)
		composed := got.watched.all()
		require.Len(t, composed, len(r.Steps), "case %d, %s: steps", cases, r.Case.Kind)
		for i, want := range r.Steps {
			require.Equal(t, sorted(want), sorted(composed[i]), "case %d, %s: step %d", cases, r.Case.Kind, i)
		}
		require.Equal(t, r.Ends, got.tokens, "case %d, %s: times of tokens", cases, r.Case.Kind)
		require.Equal(t, r.Ends, r.Case.run(t, false).tokens, "case %d, %s: in runs of steps", cases, r.Case.Kind)
	}
	t.Logf("%d cases, %d steps", cases, steps)
	require.GreaterOrEqual(t, cases, least)
}

// sorted returns a step with its members in order of ID: retraction alone goes by their order, and the victims tell.
func sorted(s step) step {
	slices.SortFunc(s.Batch, func(a, b [3]int32) int { return cmp.Compare(a[0], b[0]) })
	slices.Sort(s.Preempted)
	if len(s.Preempted) == 0 {
		s.Preempted = nil
	}
	return s
}
