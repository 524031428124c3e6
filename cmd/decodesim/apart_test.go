package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReplicasApartHaveTheSameSummary: without files to write, replicas that a router does not look at are simulated
// one after the other; with them, together.
func TestReplicasApartHaveTheSameSummary(t *testing.T) {
	t.Chdir(t.TempDir())
	fleet := []string{"run", "chat-8b", "--set", "router=round-robin", "--set", "pools.serve.replicas=7", "--set",
		"workload.arrivals.rate=60", "--set", "workload.requests=4000", "--json"}
	status, separate, errOut := try(fleet...)
	require.Equal(t, exitOK, status, errOut)
	status, _, errOut = try(append(fleet, "--out", "out")...)
	require.Equal(t, exitOK, status, errOut)
	together, err := os.ReadFile("out/summary.json")
	require.NoError(t, err)
	assert.Equal(t, string(together), separate)
}
