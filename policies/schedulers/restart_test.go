package schedulers_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// failsAt fails the first instance at an instant. Its requests are retried.
type failsAt sim.Time

// Control implements sim.Controller.
func (at failsAt) Control(now sim.Time, c *sim.Cluster) sim.Time {
	if now < sim.Time(at) {
		return sim.Time(at)
	}
	c.Fail(c.Pool(0).Replica(0), true)
	return sim.Forever
}

// TestWhatIsLongerThanAStepWhenItIsRetriedRunsAlone: a prompt as long as a step may be has emitted a token when its
// instance fails, in its second step. On another it is computed again with that token, in a step that is longer.
func TestWhatIsLongerThanAStepWhenItIsRetriedRunsAlone(t *testing.T) {
	for _, p := range []sim.Scheduler{
		&schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 8},
		&schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, Unchunked: true},
	} {
		pool, model := testcluster.NewPool(2, routers.LeastLoaded{}), &steps{}
		pool.Scheduler, pool.Model = p, model
		c, log := testcluster.New(func(c *sim.Config) { c.Controller = failsAt(testcluster.At(1) + sim.Time(sim.Second)/2) },
			[]sim.Request{{Prompt: 8, Output: 8}}, pool)
		c.Run()
		assert.Equal(t, []string{"p1:8", "d1", "p1:9", "6 × d1"}, model.all, "%T", p)
		assert.Equal(t, 1, log.Count(sim.Completed))
	}
}

// TestAStaticBatchHasRoomForWhatARetryLacks: a request of 8 tokens has emitted one of 8 when its instance fails. On the
// other it waits for the batch there, and then has 9 tokens to compute and 7 to emit, as the one behind it: both are a
// batch in 8 blocks of 4 tokens, 4 for a row, and not in 7.
func TestAStaticBatchHasRoomForWhatARetryLacks(t *testing.T) {
	for blocks, want := range map[int64][]string{8: {"p2:18", "6 × d2"}, 7: {"p1:9", "6 × d1", "p1:9", "6 × d1"}} {
		pool, model := testcluster.NewPool(2, routers.LeastLoaded{}), &steps{}
		pool.Scheduler, pool.Model = &schedulers.Static{MaxBatchSize: 2, MaxNumBatchedTokens: 100}, model
		pool.KVBlocks, pool.MaxModelLen = blocks, 16
		c, log := testcluster.New(func(c *sim.Config) { c.Controller = failsAt(testcluster.At(1) + sim.Time(sim.Second)/2) },
			[]sim.Request{{Prompt: 8, Output: 8}, {Prompt: 8, Output: 8},
				{Prompt: 9, Output: 7, Arrival: testcluster.At(2)}}, pool)
		c.Run()
		assert.Equal(t, slices.Concat([]string{"2 × p1:8", "8 × d1"}, want), model.all, "%d blocks", blocks)
		assert.Equal(t, 3, log.Count(sim.Completed))
	}
}
