package run

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// TestLatenciesAreThoseOfClientsThatGetChunks: what the whole run says is what single clients receive, token by token,
// where every request is traced; also with drafts that come together.
func TestLatenciesAreThoseOfClientsThatGetChunks(t *testing.T) {
	t.Parallel()
	for scenario, set := range map[string][]string{
		"chat-8b":    {"stream.stream_interval=5", "workload.requests=600"},
		"eagle3-70b": {"stream.stream_interval=3", "workload.requests=300"},
	} {
		b := built(t, scenario, set...)
		require.EqualValues(t, 1, b.Config.TraceEvery, scenario)
		r, err := Simulate(context.Background(), b, Options{})
		require.NoError(t, err)
		clients, whole := r.Summary.Stream, &r.Summary.Latency
		require.EqualValues(t, whole.E2E.N, clients.Requests, scenario)
		assert.Equal(t, clients.ITLChunk, whole.ITLChunk, scenario)
		assert.Equal(t, clients.ITL, whole.ITL, scenario)
		assert.Equal(t, clients.TPOT, whole.TPOT, scenario)
		assert.Equal(t, clients.E2E, whole.E2E, scenario)
		assert.Greater(t, whole.ITL.N, 2*whole.ITLChunk.N, scenario)
		assert.Equal(t, b.Wire().Stream().Interval, r.Summary.Interval, scenario)
	}
}

// TestChunksOfClassesAddUpToThoseOfTheRun.
func TestChunksOfClassesAddUpToThoseOfTheRun(t *testing.T) {
	t.Parallel()
	b := built(t, "two-classes-8b", "stream.stream_interval=4", "workload.requests=900")
	r, err := Simulate(context.Background(), b, Options{})
	require.NoError(t, err)
	require.Greater(t, len(r.Summary.Classes), 1)
	chunks, tokens := int64(0), int64(0)
	for i := range r.Summary.Classes {
		l := &r.Summary.Classes[i].Latency
		chunks, tokens = chunks+l.ITLChunk.N, tokens+l.ITL.N
	}
	assert.Equal(t, r.Summary.Latency.ITLChunk.N, chunks)
	assert.Equal(t, r.Summary.Latency.ITL.N, tokens)
}

// TestAWarmUpLeavesOutTheChunksSentBefore: those of the whole run less those of its beginning.
func TestAWarmUpLeavesOutTheChunksSentBefore(t *testing.T) {
	t.Parallel()
	load := []string{"stream.stream_interval=5", "workload.requests=600"}
	whole, err := Simulate(context.Background(), built(t, "chat-8b", load...), Options{Sample: true})
	require.NoError(t, err)
	rest, err := Simulate(context.Background(), built(t, "chat-8b", append(load, "workload.warmup_s=10")...), Options{})
	require.NoError(t, err)
	var later metrics.Hist
	from := sim.Time(0).Add(10 * sim.Second)
	for _, r := range whole.Sample.Records() {
		later.Merge(gapsFrom(from, r.Chunks))
	}
	require.Less(t, later.N(), whole.Summary.Latency.ITLChunk.N)
	assert.Equal(t, later.Counts(), rest.Recorder.ChunkGaps().Counts())
}

// gapsFrom returns the gaps between chunks of which the second came at an instant or later.
func gapsFrom(from sim.Time, chunks []views.Chunk) *metrics.Hist {
	var h metrics.Hist
	for i := 1; i < len(chunks); i++ {
		if chunks[i].At >= from {
			h.One(chunks[i].At.Sub(chunks[i-1].At))
		}
	}
	return &h
}

// TestWindowsHaveWhatClientsReceive: the chunks of all windows are those of the run, and so are their tokens.
func TestWindowsHaveWhatClientsReceive(t *testing.T) {
	t.Parallel()
	for _, set := range [][]string{nil, {"workload.warmup_s=10"}} {
		b := built(t, "chat-8b", append(set, "stream.stream_interval=5", "workload.requests=600")...)
		r, err := Simulate(context.Background(), b, Options{})
		require.NoError(t, err)
		chunks, tokens := int64(0), int64(0)
		for _, w := range r.Summary.OverTime.Windows {
			tokens += w.ITL.N
			if w.ITLChunk != nil {
				chunks += w.ITLChunk.N
			} else {
				chunks += w.ITL.N
			}
		}
		assert.Equal(t, r.Summary.Latency.ITLChunk.N, chunks)
		assert.Equal(t, r.Summary.Latency.ITL.N, tokens)
	}
}
