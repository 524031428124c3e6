package sglang

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// result is what a case came to. Ends are the times of tokens; Ends1 those with steps taken one by one.
type result struct {
	Steps []step            `json:"steps"`
	Ends  map[int32][]int64 `json:"ends"`
	Ends1 map[int32][]int64 `json:"ends1"`
}

// TestCasesOfAFile runs the cases that the file DIFFERENTIAL_IN has and writes their results to DIFFERENTIAL_OUT.
func TestCasesOfAFile(t *testing.T) {
	in, out := os.Getenv("DIFFERENTIAL_IN"), os.Getenv("DIFFERENTIAL_OUT")
	if in == "" {
		t.Skip("DIFFERENTIAL_IN names no file of cases; harness.py sets it")
	}
	from, err := os.Open(in)
	require.NoError(t, err)
	defer from.Close()
	to, err := os.Create(out)
	require.NoError(t, err)
	defer to.Close()
	w := bufio.NewWriter(to)
	for dec, enc := json.NewDecoder(from), json.NewEncoder(w); dec.More(); {
		var c testCase
		require.NoError(t, dec.Decode(&c))
		steps := c.run(t, true)
		require.NoError(t, enc.Encode(result{steps.watched.all(), c.run(t, false).tokens, steps.tokens}))
	}
	require.NoError(t, w.Flush())
}
