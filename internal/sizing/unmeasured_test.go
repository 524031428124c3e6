package sizing

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestWhatNoRequestCanTellIsNeitherMetNorMissed: a rule that was not measured is a dash, not a miss.
func TestWhatNoRequestCanTellIsNeitherMetNorMissed(t *testing.T) {
	unknown := metrics.Verdict{Rule: "ttft p95 <= 1s", Value: math.NaN(), Limit: 1, Unmeasured: "no request arrived"}
	missed := metrics.Verdict{Rule: "itl p95 <= 50ms", Value: 0.07, Limit: 0.05, Margin: -0.4}
	r := &Row{SLO: []metrics.Verdict{unknown, missed}}
	assert.Equal(t, []string{text.Dash, "✗ 70.0 ms"}, r.values([]string{unknown.Rule, missed.Rule}))
	assert.Equal(t, 1, worst(r.SLO))
	assert.Equal(t, -1, worst(r.SLO[:1]))
	assert.Equal(t, `"itl p95 <= 50ms" (70.0 ms)`, brokenWords(r.SLO))
	assert.True(t, unmet(unknown), "nor is a load sustained that nothing says is")
	said := replayWords(&Sizing{Replay: &Replay{SLO: r.SLO}})
	assert.Contains(t, said, "ttft p95 <= 1s not measured, for no request arrived")
	assert.Contains(t, said, "itl p95 <= 50ms BROKEN with 70.0 ms")
}

// TestOutputsOfOneTokenHaveNoTPOT: what no request has is a dash, and no row of zeros.
func TestOutputsOfOneTokenHaveNoTPOT(t *testing.T) {
	f := Finalist{TTFTS: Percentile{P50: 0.02, P90: 0.02, P95: 0.02, P99: 0.03}}
	assert.Equal(t, text.Dash, f.speed())
	assert.Equal(t, text.Dash, f.TPOTS.duration(f.TPOTS.P50))
	assert.Equal(t, text.Dash, f.TPOTS.cell(f.TPOTS.P50, "best.tpot_s.p50").Text)
	assert.Equal(t, "20.0 ms", f.TTFTS.duration(f.TTFTS.P50))
	written, err := json.Marshal(&f)
	require.NoError(t, err)
	assert.Contains(t, string(written), `"tpot_s":{"p50":null,"p90":null,"p95":null,"p99":null,"at_attainment":null}`)
	assert.Contains(t, string(written), `"ttft_s":{"p50":0.02,"p90":0.02,"p95":0.02,"p99":0.03,"at_attainment":0}`)
	assert.NotContains(t, string(written), "user_tokens_per_s", "of a median that there is not")
}
