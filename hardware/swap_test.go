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

// TestCopiesByLayerHideBehindLayers: a step waits for the first layer's part alone as long as copies are shorter than
// it, and for all copies and its last layer if they are longer; in no case for less than either.
func TestCopiesByLayerHideBehindLayers(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	for _, layers := range []int{1, 2, 3, 32} {
		d.Swap = hardware.Swap{BlockBytes: 2 << 20, LinkBps: 64e9, Layers: layers}
		r := hardware.NewRoofline(d, 8)
		batch := sim.Shape{Decodes: 4, DecodeTokens: 4, DecodeCtx: 4000, Outputs: 4}
		var plain sim.Segment
		r.Price([]sim.Shape{batch}, &plain)
		up := func(span sim.Duration) sim.Duration { return sim.Duration(math.Ceil(float64(span) / float64(layers))) }
		for _, blocks := range []int64{1, 50, 51, 52, 5000, 5001, 5002} {
			var copied sim.Segment
			batch.SwapBlocks = blocks
			r.Price([]sim.Shape{batch}, &copied)
			copies := sim.Duration(blocks) * sim.Duration(math.Ceil(float64(2<<20)/64e9*1e12))
			want := max(plain.First+up(copies), copies+up(plain.First))
			assert.Equal(t, want, copied.First, "%d blocks, %d layers", blocks, layers)
			assert.GreaterOrEqual(t, copied.First, max(copies, plain.First))
			parts := sim.Duration(0)
			for _, p := range copied.Part {
				parts += p.A
			}
			assert.Equal(t, copied.First, parts)
		}
	}
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

// TestTheLeastCopyPrecedesItsStep: a picosecond for an adapter, or a block that takes one, beside drafts or not, and no
// equal step follows.
func TestTheLeastCopyPrecedesItsStep(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Swap = hardware.Swap{BlockBytes: 1e-3, LinkBps: 1e9}
	r := hardware.NewRoofline(d, 8)
	for _, drafts := range []int{0, 3} {
		var plain, copied sim.Segment
		batch := r.DraftShape(4, 1000, drafts)
		r.Price([]sim.Shape{batch}, &plain)
		for _, change := range []func(*sim.Shape){
			func(b *sim.Shape) { b.SwapBlocks = 1 }, func(b *sim.Shape) { b.AdapterCopies = sim.Picosecond },
		} {
			changed, want := batch, plain
			change(&changed)
			r.Price([]sim.Shape{changed}, &copied)
			want.First++
			want.Part[sim.Communication].A++
			want.Steps = 1
			assert.Equal(t, want, copied, "%d drafts", drafts)
		}
	}
}

func TestNothingIsSwappedOverNoLink(t *testing.T) {
	r := hardware.NewRoofline(deployment(t, "llama-3.1-8b", "h100-sxm", 1), 8)
	require.Panics(t, func() {
		r.Price([]sim.Shape{{Decodes: 1, DecodeTokens: 1, DecodeCtx: 10, Outputs: 1, SwapBlocks: 1}}, new(sim.Segment))
	})
}

// TestOnlyANetworkLosesSomeOfATransfer: of other links nothing was measured, and they count whole and at once.
func TestOnlyANetworkLosesSomeOfATransfer(t *testing.T) {
	share, latencyS := hardware.TransferAchieves("nic_bps")
	assert.Less(t, share, 1.0)
	assert.Positive(t, latencyS)
	share, latencyS = hardware.TransferAchieves("scale_up_bps")
	assert.Equal(t, []float64{1, 0}, []float64{share, latencyS})
}
