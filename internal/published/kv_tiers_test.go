package published

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestAStoreOfTheClusterFindsWhatAnInfiniteCacheFinds on the trace of conversations that came with Mooncake (FAST'25
// release), from eight replicas that know nothing of each other's prompts: almost what their own text says can be
// found, and never more. A smaller store finds less, which is left to the soak.
func TestAStoreOfTheClusterFindsWhatAnInfiniteCacheFinds(t *testing.T) {
	trace := conversations(t)
	most := infiniteHits(t, trace)
	require.InDelta(t, 0.374, most, 0.001)
	before := most
	for _, test := range []struct {
		sizeGiB float64
		least   float64 // share of the prompt tokens
	}{{1e6, most - 0.001}, {2000, 0.25}, {200, 0.08}} {
		p := conversing(t, trace, test.sizeGiB)
		sum := 0.
		for _, tier := range p.KVTiers {
			sum += tier.HitRate
		}
		require.InDelta(t, *p.PrefixHitRate, sum, 1e-12, "the tiers add up to all hits")
		require.LessOrEqual(t, *p.PrefixHitRate, before, "%g GiB", test.sizeGiB)
		require.GreaterOrEqual(t, *p.PrefixHitRate, test.least, "%g GiB", test.sizeGiB)
		before = *p.PrefixHitRate
		if !whole() {
			return
		}
	}
}

// conversing runs the trace on eight replicas with a store of a size.
func conversing(t *testing.T, trace string, sizeGiB float64) *metrics.PoolResult {
	t.Helper()
	scenario := fmt.Sprintf(`{name: conversations, model: llama-3.1-8b, pools: [{name: serve, gpu: h100-sxm, replicas: 8,
  kv_offloading_size: 64, kv_tiers: {cluster: {size_gib: %g, read_bps: 1e12, link: nic-400g}}}],
  workload: {trace: {file: %q}}, output: {attribution: false}}`, sizeGiB, trace)
	s, err := configs.Load("-", configs.Options{Stdin: []byte(scenario)})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	b.Config.TraceEvery = 0
	r, err := run.Simulate(context.Background(), b, run.Options{})
	require.NoError(t, err)
	return &r.Summary.Pools[0]
}

// conversations returns where the trace is, which is not part of this repository.
func conversations(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DECODESIM_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	trace, err := filepath.Abs(filepath.Join(dir, "workloads", "mooncake_fast25_conversation.jsonl.gz"))
	require.NoError(t, err)
	if _, err := os.Stat(trace); err != nil {
		t.Skipf("no %s; set DECODESIM_SHARED to the folder that has it", trace)
	}
	return trace
}

// infiniteHits returns the share of the prompt tokens that earlier prompts of a trace begin with, block by block, in
// blocks of 16 tokens of which the one with the last token is computed.
func infiniteHits(t *testing.T, trace string) float64 {
	t.Helper()
	file, err := os.Open(trace)
	require.NoError(t, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	seen, hits, all := map[int]bool{}, 0, 0
	knownBlocks, blocks := 0, 0
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Tokens int   `json:"input_tokens"`
			Blocks []int `json:"block512_ids"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		known := 0
		for known < len(r.Blocks) && seen[r.Blocks[known]] {
			known++
		}
		for _, id := range r.Blocks {
			seen[id] = true
		}
		hits += min(512*known, r.Tokens-1) / 16 * 16
		all += r.Tokens
		knownBlocks += known
		blocks += len(r.Blocks)
	}
	require.NoError(t, lines.Err())
	require.InDelta(t, 0.3664, float64(knownBlocks)/float64(blocks), 5e-5, "as the statistics of the trace count")
	return float64(hits) / float64(all)
}
