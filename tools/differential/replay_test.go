package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// recording is a case and what vLLM's own scheduler did in it, as record.py wrote it.
type recording struct {
	Case Case `json:"case"`
	Result
}

// TestStepsAreThoseOfVLLM replays recorded cases: every step has the start, the members in their order, the tokens of
// each, the victims and the free blocks that it had in vLLM, and every token comes when it came there; with runs of
// steps, too.
func TestStepsAreThoseOfVLLM(t *testing.T) {
	for _, version := range []string{"0.22", "0.33"} {
		n, steps := 0, 0
		for _, r := range recordings(t, version) {
			what := fmt.Sprintf("vLLM %s, %s, async %v, case %d", version, r.Case.Kind, r.Case.Async, n)
			got, err := Simulate(&r.Case)
			require.NoError(t, err, what)
			for i := range min(len(r.Steps), len(got.Steps)) {
				require.Equal(t, sorted(r.Steps[i]), sorted(got.Steps[i]), "%s: step %d", what, i)
			}
			require.Len(t, got.Steps, len(r.Steps), what)
			require.Equal(t, r.Tokens, got.Tokens, what)
			require.Equal(t, r.Tokens, got.Runs, what)
			n, steps = n+1, steps+len(r.Steps)
		}
		require.GreaterOrEqual(t, n, 40)
		t.Logf("vLLM %s: %d cases, %d steps", version, n, steps)
	}
}

// sorted returns s with its victims in order of ID.
func sorted(s Step) Step {
	s.Preempted = append([]int32{}, s.Preempted...)
	slices.Sort(s.Preempted)
	return s
}

func recordings(t *testing.T, version string) (all []recording) {
	f, err := os.Open("testdata/vllm-" + version + ".jsonl.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for in := json.NewDecoder(z); in.More(); {
		var r recording
		require.NoError(t, in.Decode(&r))
		all = append(all, r)
	}
	return all
}
