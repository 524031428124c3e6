package schedulers_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// burst is requests that come within 10 s of an instant, most of which 12 blocks hold only one after the other.
func burst(r *rand.Rand, at int64) []sim.Request {
	all := make([]sim.Request, 2+r.IntN(8))
	for i := range all {
		all[i] = sim.Request{Prompt: 1 + r.Int32N(20), Output: 1 + r.Int32N(20), Arrival: testcluster.At(at + r.Int64N(10))}
	}
	slices.SortStableFunc(all, func(a, b sim.Request) int { return int(a.Arrival - b.Arrival) })
	return all
}

// TestAnEngineThatWasIdleIsANewOne: whatever it served before, and whatever it came to expect of that, it serves what
// comes an hour later as one does that has served nothing.
func TestAnEngineThatWasIdleIsANewOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		sg := sglang()
		sg.ChunkedPrefillSize, sg.EnableMixedChunk = []int32{0, 8}[r.IntN(2)], r.IntN(2) == 0
		sg.ClipMaxNewTokens, sg.MaxRunningRequests = []int32{1, 4, 4096}[r.IntN(3)], 1+r.IntN(8)
		for _, p := range []sim.Scheduler{
			&schedulers.Static{MaxBatchSize: 1 + r.IntN(4), MaxNumBatchedTokens: 40},
			&schedulers.PrefillFirst{MaxNumSeqs: 1 + r.IntN(8), MaxNumBatchedTokens: 40, WatermarkBlocks: r.Int64N(2)},
			&schedulers.Continuous{MaxNumSeqs: 1 + r.IntN(8), MaxNumBatchedTokens: 8 + r.Int32N(40)},
			sg,
		} {
			first, second := burst(r, 0), burst(r, 3600)
			timesOf := func(requests ...sim.Request) (all []sim.Time, outcomes []sim.Outcome) {
				pool := testcluster.NewPool(1, routers.LeastLoaded{})
				pool.Scheduler, pool.KVBlocks, pool.MaxModelLen = p, 12, 40
				c, log := testcluster.New(nil, requests, pool)
				c.Run()
				for i := range second {
					id := int32(len(requests) - len(second) + i)
					all, outcomes = append(all, log.FirstToken[id]), append(outcomes, log.Outcome[id])
				}
				return all, outcomes
			}
			times, outcomes := timesOf(second...)
			after, outcomesAfter := timesOf(append(slices.Clone(first), second...)...)
			require.Equal(t, times, after, "%T %+v: %v, then %v", p, p, first, second)
			require.Equal(t, outcomes, outcomesAfter)
		}
	}
}
