package metrics

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// gapsOf returns a recorder of 1,000 gaps of 12 ms, of which so many are 40 ms, for their steps had prefill in them.
func gapsOf(mixed uint64, rules ...Rule) *Recorder {
	m := &Recorder{Rules: rules, Recorded: 1}
	m.ITL.Add(12*sim.Millisecond, 1000-mixed)
	m.ITL.Add(40*sim.Millisecond, mixed)
	m.Stalls[Mixed].Add(40*sim.Millisecond, mixed)
	return m
}

// TestAPercentileOnACliffIsNamed: one gap in a hundred with prefill more, and the verdict is another.
func TestAPercentileOnACliffIsNamed(t *testing.T) {
	limited := rule(RuleITL, 95, 25*sim.Millisecond)
	for mixed, met := range map[uint64]bool{45: true, 50: true, 55: false} {
		v := gapsOf(mixed, limited).Verdicts()[0]
		assert.Equal(t, met, v.Met, mixed)
		assert.InDelta(t, 94, v.Cliff.Below, 1e-9)
		assert.InDelta(t, 96, v.Cliff.Above, 1e-9)
		assert.InEpsilon(t, 0.012, v.Cliff.BelowS, 1e-3)
		assert.InEpsilon(t, 0.040, v.Cliff.AboveS, 1e-3)
		assert.InDelta(t, float64(mixed)/1000, v.Cliff.Beyond, 1e-12)
		assert.InDelta(t, float64(mixed)/1000, v.Cliff.Prefill, 1e-12)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"cliff":{"below_percentile":94,`)
	}
	for name, m := range map[string]*Recorder{
		"as few have prefill that a fifth more changes nothing":  gapsOf(30, limited),
		"as many have prefill that a fifth less changes nothing": gapsOf(70, limited),
		"both are within the limit":                              gapsOf(50, rule(RuleITL, 95, 50*sim.Millisecond)),
		"both are beyond the limit":                              gapsOf(50, rule(RuleITL, 95, 10*sim.Millisecond)),
		"another percentile":                                     gapsOf(50, rule(RuleITL, 50, 25*sim.Millisecond)),
		"a mean":                                                 gapsOf(50, rule(RuleITL, Mean, 25*sim.Millisecond)),
		"a maximum":                                              gapsOf(50, rule(RuleITL, Max, 25*sim.Millisecond)),
		"no gaps":                                                {Rules: Rules{limited}, Recorded: 1},
	} {
		assert.Zero(t, m.Verdicts()[0].Cliff, name)
	}
}

// TestAGentleSlopeIsNoCliff, although the limit is right where the percentile is.
func TestAGentleSlopeIsNoCliff(t *testing.T) {
	m := &Recorder{Rules: Rules{rule(RuleITL, 95, 25*sim.Millisecond)}, Recorded: 1}
	for i := range 1000 {
		m.ITL.One(sim.Seconds(0.025 * math.Exp(float64(i-950)/200)))
	}
	assert.Zero(t, m.Verdicts()[0].Cliff)
}

// TestARuleOnChunksSaysHowManyTokensTheyHave, and one on tokens that come one by one does not.
func TestARuleOnChunksSaysHowManyTokensTheyHave(t *testing.T) {
	m := gapsOf(50, rule(RuleITL, 95, 25*sim.Millisecond), rule(RuleTPOT, 95, 25*sim.Millisecond))
	assert.Zero(t, m.Verdicts()[0].TokensPerChunk)
	m.ITL.Add(0, 2000)
	m.burst = 2000
	assert.InDelta(t, 3, m.Verdicts()[0].TokensPerChunk, 1e-12)
	assert.Zero(t, m.Verdicts()[1].TokensPerChunk)
	assert.InDelta(t, 0.05, m.Verdicts()[0].Cliff.Prefill, 1e-12)
}
