package hardware_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// TestSwappingIsPaidByTheBlock: copies over the host link precede the step: they lengthen it by bytes / bandwidth each,
// count as communication, leave the bound alone and are paid once.
func TestSwappingIsPaidByTheBlock(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Swap = hardware.Swap{BlockBytes: 2 << 20, LinkBps: 64e9}
	r := hardware.NewRoofline(d, 8)
	batch := sim.Shape{Decodes: 4, DecodeTokens: 4, DecodeCtx: 4000, Outputs: 4}
	var plain, copied sim.Segment
	r.Price([]sim.Shape{batch}, &plain)
	batch.SwapBlocks = 300
	r.Price([]sim.Shape{batch}, &copied)
	span := 300 * sim.Duration(math.Ceil(float64(2<<20)/64e9*1e12))
	want := plain
	want.First += span
	want.Part[sim.Communication].A += span
	want.Steps = 1
	assert.Equal(t, want, copied)
	assert.Greater(t, plain.Steps, 1)
}

// TestRanksSwapAtOnce: four data-parallel ranks copy a quarter each.
func TestRanksSwapAtOnce(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 8)
	d.Swap = hardware.Swap{BlockBytes: 4e6, LinkBps: 1e9}
	copies := func(ranks int) sim.Duration {
		d.Parallel.Data = ranks
		r := hardware.NewRoofline(d, 8)
		batch := sim.Shape{Decodes: 4, DecodeTokens: 4, DecodeCtx: 4000, Outputs: 4}
		var plain, copied sim.Segment
		r.Price([]sim.Shape{batch}, &plain)
		batch.SwapBlocks = 100
		r.Price([]sim.Shape{batch}, &copied)
		return copied.First - plain.First
	}
	assert.Equal(t, 400*sim.Millisecond, copies(1))
	assert.Equal(t, 100*sim.Millisecond, copies(4))
}

func TestNothingIsSwappedOverNoLink(t *testing.T) {
	r := hardware.NewRoofline(deployment(t, "llama-3.1-8b", "h100-sxm", 1), 8)
	require.Panics(t, func() {
		r.Price([]sim.Shape{{Decodes: 1, DecodeTokens: 1, DecodeCtx: 10, Outputs: 1, SwapBlocks: 1}}, new(sim.Segment))
	})
}
