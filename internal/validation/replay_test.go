package validation

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
)

// TestWhatClientsMeasuredIsWhatRunSaysOfTheSameRequests: each directory of testdata/served has the result file of a
// tool that sent 30 requests to decodesim serve at a tenth of real time, without its samples and settings of its own,
// and the trace that the server recorded. The steps are those of a textbook, which no fit changes.
func TestWhatClientsMeasuredIsWhatRunSaysOfTheSameRequests(t *testing.T) {
	for _, tool := range []string{"vllm", "aiperf", "guidellm"} {
		dir := filepath.Join("testdata", "served", tool)
		s := &Source{Data: filepath.Join(dir, "result.json"), Scenario: filepath.Join(dir, "scenario.yaml"), Replay: true,
			Speed: 0.1}
		file, above, err := s.Read()
		require.NoError(t, err)
		require.Len(t, file.Runs, 1)
		seen := map[measured.Metric]bool{}
		for _, p := range predictUnder(t.Context(), &file.Runs[0], above, nil) {
			require.Empty(t, p.Skip, "%s: %s", tool, p.Value.Name)
			// A client adds what it takes to send a request and to read a chunk: some milliseconds of wall time.
			allowed := 6 / p.Value.Measured
			if p.Value.Metric == measured.RequestsPerS || p.Value.Metric == measured.OutputPerS {
				allowed = .035 // of 30 requests: a tool counts from its own start to its own end
			} else if p.Value.Metric == measured.TTFT || p.Value.Stat != measured.Mean && p.Value.Stat != measured.P50 {
				allowed = max(allowed, .045)
			}
			assert.InDelta(t, 0, p.Error(), allowed, "%s: %s measured %g, predicted %g", tool, p.Value.Name,
				p.Value.Measured, p.Predicted)
			seen[p.Value.Metric] = true
		}
		for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.E2E, measured.RequestsPerS} {
			assert.True(t, seen[m], "%s: metric %d", tool, m)
		}
	}
}

func TestAReplayNeedsATrace(t *testing.T) {
	dir := filepath.Join("testdata", "served", "vllm")
	s := &Source{Data: filepath.Join(dir, "result.json"), Scenario: "chat-8b", Replay: true}
	_, _, err := s.Read()
	require.ErrorContains(t, err, "has no trace; expected one with --replay")
}
