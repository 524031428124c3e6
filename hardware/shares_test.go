package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// TestABatchIsDealtOutSequenceBySequence: to ranks and microbatches that are not scheduled. The busiest share has whole
// sequences with all of their drafts, and experts have the tokens of all ranks of a microbatch.
func TestABatchIsDealtOutSequenceBySequence(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, stages := range []int{1, 2, 5} {
			d := deployment(t, "deepseek-v3", "h200-sxm", 1)
			d.GPU.NICBps = d.GPU.BandwidthBps
			d.Parallel.Data, d.Parallel.Pipeline = ranks, stages
			r := hardware.NewRoofline(d, 4096)
			for n := 1; n <= 16; n++ {
				for each := 1; each <= 4; each++ {
					share, microbatch := make([]int, ranks*stages), make([]int, stages)
					for i := range n {
						share[i%len(share)] += each
						microbatch[i%stages] += each
					}
					want := []float64{float64(share[0]), float64(microbatch[0]), float64(share[0]), float64(share[0] / each)}
					got := r.Busiest(&sim.Shape{Decodes: n, DecodeTokens: int64(n * each), Outputs: n * each})
					require.InDeltaSlice(t, want, got, 1e-9, "%d ranks, %d stages, %d of %d tokens", ranks, stages, n, each)
				}
			}
		}
	}
}
