package run

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/memory"
	"github.com/decodesim/decodesim/sim"
)

// TestTheEstimateOfMemory is what is measured, with room for a growing slice and garbage.
func TestTheEstimateOfMemory(t *testing.T) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, c := range []struct {
		name, router string
		all          bool
	}{
		{"replicas that nobody asks for", "least-loaded", false},
		{"replicas whose router has no use for them", "round-robin", false},
		{"replicas that a router asks about their loads", "least-tokens", true},
	} {
		b := built(t, "chat-8b", "pools.serve.replicas=20000", "workload.requests=100", "router="+c.router)
		before := heap()
		cluster, err := sim.New(prepare(b, Options{}).config)
		require.NoError(t, err)
		for i := 0; c.all && i < 20_000; i++ {
			cluster.Pool(0).Replica(i)
		}
		took := heap() - before
		runtime.KeepAlive(cluster)
		assert.InDelta(t, 0.5, took/float64(Need(b, Options{})), 0.3, c.name)
	}

	b := built(t, "chat-8b", "workload.requests=30000", "workload.prompt_tokens.mean=20", "workload.output_tokens.mean=2")
	need := float64(Need(b, Options{}))
	before := heap()
	r, err := Simulate(t.Context(), b, Options{Rows: -1})
	require.NoError(t, err)
	took := heap() - before
	require.Len(t, r.Rows, 30_000)
	assert.InDelta(t, 0.35, took/(float64(Need(b, Options{Rows: -1}))-need), 0.25, "rows")
}

// TestARunThatLeavesNoMemoryEnds: requests come faster than they are served, and each that waits is kept.
func TestARunThatLeavesNoMemoryEnds(t *testing.T) {
	b := built(t, "chat-8b", "workload.requests=1000000000", "workload.arrivals.rate=1e6")
	stopped := false
	_, err := drive(t.Context(), func(scarce func()) func() {
		time.AfterFunc(20*time.Millisecond, scarce)
		return func() { stopped = true }
	}, prepare(b, Options{}).config)
	require.ErrorAs(t, err, new(Failure))
	assert.Regexp(t, `^the memory that there is does not suffice: \d+ of \d+ requests that have arrived are still under way;`,
		err.Error())
	assert.True(t, stopped)
}

func TestARunThatWouldNotFitIsRefused(t *testing.T) {
	if memory.Available() == 0 {
		t.Skip("how much memory there is is not known here")
	}
	b := built(t, "chat-8b", "workload.requests=2000000000", "workload.arrivals.rate=1e6")
	_, err := Simulate(t.Context(), b, Options{Rows: -1})
	require.ErrorContains(t, err, "chat-8b would take about 1600.0 GB of memory, and ")
	require.NotErrorAs(t, err, new(Failure))
}
