package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhoWaitsInVainIsCounted: the only replica fails for good, and nothing is said to be served that was not.
func TestWhoWaitsInVainIsCounted(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("vain.yaml", []byte(`model: llama-3.1-8b
pools: [{name: serve, gpu: h100-sxm}]
failures: [{pool: serve, at_s: 2}]
workload:
  arrivals: {process: constant, rate: 20}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 10}
  requests: 100
`), 0o600))
	status, out, errOut := try("run", "vain.yaml")
	require.Equal(t, exitOK, status, errOut)
	assert.Regexp(t, `requests +100 arrived: (38|39) completed, 0 rejected, 0 failed, (62|61) unfinished`, out)
	assert.Regexp(
		t, `warning: (62|61) of 100 requests wait in vain for a replica or for room: the SLO and all latencies leave them out`, out)
}
