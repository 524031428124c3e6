package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func TestTheTableReadsAsItsGolden(t *testing.T) {
	const file = "testdata/what-does-a-run-print.txt"
	s := summary()
	var b strings.Builder
	require.NoError(t, Table(&b, s, CaptionOf(s, "llama-3.1-70b"), Options{}))
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

func TestColourComesOnlyWhenAsked(t *testing.T) {
	var plain, coloured strings.Builder
	require.NoError(t, Table(&plain, summary(), text.Caption{}, Options{}))
	require.NoError(t, Table(&coloured, summary(), text.Caption{}, Options{Colour: true}))
	assert.NotContains(t, plain.String(), "\x1b")
	assert.Contains(t, coloured.String(), "\x1b[1m")
}

func TestARunWithoutTokensHasDashes(t *testing.T) {
	nan := math.NaN()
	none := metrics.Quantiles{Mean: nan, P50: nan, P90: nan, P95: nan, P99: nan, P999: nan, Max: nan}
	s := &metrics.Summary{Latency: metrics.Latency{TTFT: none, ITL: none, ITLChunk: none, TPOT: none, E2E: none,
		Queue: none}}
	var b strings.Builder
	require.NoError(t, Table(&b, s, text.Caption{}, Options{}))
	assert.NotContains(t, b.String(), "NaN")
	assert.Contains(t, b.String(), "–")
	assert.Empty(t, BoundSentence(s))
}

// TestPoolsThatChangeAreReportedOnAverage: of a pool that had 3 replicas at the end, on two GPUs each, the caption
// counts the GPUs of the 4.3 that it had in the mean; and a pool that makes no tokens has no batch of them.
func TestPoolsThatChangeAreReportedOnAverage(t *testing.T) {
	s := summary()
	s.Pools = []metrics.PoolResult{{Name: "prefill", GPU: "h100-sxm", GPUs: 4, Replicas: 2},
		{Name: "decode", GPU: "h100-sxm", GPUs: 6, Replicas: 3, ReplicasMean: 4.3, GPUsMean: 8.6, BatchMean: 7}}
	var b bytes.Buffer
	require.NoError(t, Table(&b, s, CaptionOf(s, "llama-3.1-70b"), Options{}))
	require.Contains(t, b.String(), " · 12.6 × h100-sxm in the mean · ")
	require.Contains(t, b.String(), "in 3 replicas at the end, 4.30 in the mean: busy 0 % of the time, "+
		"mean batch 7.00, peak KV")
	require.Contains(t, b.String(), "in 2 replicas: busy 0 % of the time, peak KV")
}
