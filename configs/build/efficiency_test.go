package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// A result says where its efficiencies were not measured; what is so by definition needs no measurement.
func TestEfficienciesWithoutMeasurementsAreReported(t *testing.T) {
	inDir(t, chat8b)
	doubts := func(set ...string) []string { return build(t, set...).warnings(1) }
	assert.Equal(t, []string{"the efficiencies prior are priors, not calibrated on h100-sxm"},
		doubts("pools.serve.efficiency=prior"))
	assert.Empty(t, doubts("pools.serve.efficiency=textbook"))
	assert.Empty(t, doubts("pools.serve.engine=textbook"))
	e, err := catalog.Engine("vllm-v1")
	require.NoError(t, err)
	all, err := catalog.EfficienciesOf(e.Efficiency)
	require.NoError(t, err)
	if _, measured := all.For("h100-sxm", "llama-3.1-8b", "bf16"); !measured {
		require.Len(t, doubts(), 1)
		assert.Contains(t, doubts()[0], "efficiencies of engine vllm-v1")
	}
}

// A fit may replace what the steps cost and nothing else.
func TestSetEfficiencyPricesTheRunAnew(t *testing.T) {
	inDir(t, chat8b)
	b, ideal := build(t), build(t, "pools.serve.efficiency=textbook")
	require.NotEqual(t, ideal.Model.Step(8, 100), b.Model.Step(8, 100))
	b.SetEfficiency(ideal.Deployment.Efficiency)
	assert.Equal(t, ideal.Model.Step(8, 100), b.Config.Pools[0].Model.(*hardware.Roofline).Step(8, 100))
	assert.Equal(t, ideal.Config.Ingress, b.Config.Ingress)
}

// TestTokenizersAreThoseOfTheEngine: vLLM has one for each data-parallel rank, SGLang one for a replica. A fit may
// replace what a token takes, and a pool that caches are handed to tokenises nothing.
func TestTokenizersAreThoseOfTheEngine(t *testing.T) {
	inDir(t, chat8b)
	pool := func(set ...string) *sim.PoolSpec { return build(t, set...).Config.Pools[0] }
	assert.Equal(t, 2*sim.Microsecond, pool("pools.serve.efficiency={tokenize_s: 2e-6}").Tokenize)
	assert.Zero(t, pool("pools.serve.efficiency=textbook").Tokenize)
	assert.True(t, pool().RankTokenizers)
	assert.True(t, pool("pools.serve.version=0.22").RankTokenizers)
	assert.False(t, pool("pools.serve.engine=sglang").RankTokenizers)
	b := build(t)
	e := b.Deployment.Efficiency
	e.TokenizeS = 3e-6
	b.SetEfficiency(e)
	assert.Equal(t, 3*sim.Microsecond, b.Config.Pools[0].Tokenize)
}

// What GPUs exchange beyond a host is priced by tables: errors of single hosts are not those of such a replica.
func TestExchangesBeyondAHostAreSaidToBeUnfitted(t *testing.T) {
	inDir(t, chat8b)
	const said = "16 GPUs exchange activations beyond a host"
	notes := func(set ...string) string { return strings.Join(build(t, set...).warnings(1), "\n") }
	assert.Contains(t, notes("model=llama-3.1-70b", "pools.serve.tensor_parallel=16"), said)
	assert.NotContains(t, notes("model=llama-3.1-70b", "pools.serve.tensor_parallel=8"), "beyond a host")
	assert.NotContains(t, notes("model=llama-3.1-70b", "pools.serve.tensor_parallel=16", "pools.serve.engine=textbook"),
		"beyond a host", "an ideal link is as good as its data sheet says")
}
