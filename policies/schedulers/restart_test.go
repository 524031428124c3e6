package schedulers_test

import (
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
