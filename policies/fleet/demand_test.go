package fleet

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// observed is a pool in which so many requests run, wait and come, in so many blocks of its instances.
func observed(running, waiting, coming, blocks int64, live, starting int) *sim.Observation {
	return &sim.Observation{Running: running, Waiting: waiting, Transferring: coming, KVUsed: blocks, Live: live,
		Starting: starting}
}

// TestWhatASignalAsksFor: of a pool whose instances have 100 blocks each, at a target and beside it.
func TestWhatASignalAsksFor(t *testing.T) {
	pool := &sim.Pool{PoolSpec: sim.PoolSpec{KVBlocks: 100}}
	for _, c := range []struct {
		on     string
		target float64
		state  *sim.Observation
		want   int
	}{
		{"requests", 4, observed(5, 2, 1, 0, 1, 0), 2}, // 8 requests: those on their way count, too
		{"requests", 4, observed(5, 3, 1, 0, 1, 0), 3},
		{"requests", 4, observed(0, 0, 0, 0, 1, 0), 0},
		{"requests", 1e-9, observed(1e6, 0, 0, 0, 1, 0), 1<<31 - 1},
		{"kv", 0.5, observed(1, 0, 0, 150, 2, 0), 3},
		{"kv", 0.5, observed(1, 0, 0, 151, 2, 0), 4},
		{"queue", 4, observed(9, 8, 0, 0, 2, 0), 2}, // no more than the target
		{"queue", 4, observed(9, 9, 0, 0, 2, 0), 3},
		{"queue", 4, observed(9, 12, 0, 0, 2, 1), 3}, // one that starts counts
		{"queue", 4, observed(9, 13, 0, 0, 2, 1), 4},
		{"queue", 4, observed(9, 0, 0, 60, 3, 0), 2}, // two others have 200 blocks, of which 30 % may be in use
		{"queue", 4, observed(9, 0, 0, 61, 3, 0), 3},
		{"queue", 4, observed(9, 1, 0, 60, 3, 0), 3},
		{"queue", 4, observed(9, 0, 0, 60, 2, 1), 3},
		{"ttft", 0.5, observed(0, 1, 0, 0, 2, 0), 4}, // none came in time, since none came
		{"ttft", 0.5, observed(0, 1, 0, 0, 2, 1), 3}, // some are on their way
		{"ttft", 0.5, observed(0, 0, 0, 30, 2, 0), 1},
		{"ttft", 0.5, observed(0, 0, 0, 31, 2, 0), 2},
	} {
		s := &Autoscale{a: AutoscaleArguments{On: c.on, Target: c.target, Low: 0.3}}
		assert.Equal(t, c.want, s.want(0, pool, c.state), "%s %g: %+v", c.on, c.target, *c.state)
	}
}

// TestASizeHoldsFromItsRowOn, and before the first row there is what there was.
func TestASizeHoldsFromItsRowOn(t *testing.T) {
	s := &Autoscale{a: AutoscaleArguments{On: "schedule", Schedule: []ScheduledSize{{10, 3}, {20, 5}}, Interval: 7}}
	for at, want := range map[sim.Time]int{0: 2, 9: 2, 10: 3, 19: 3, 20: 5, 99: 5} {
		assert.Equal(t, want, s.want(at, nil, observed(0, 0, 0, 0, 1, 1)), at)
	}
	for at, want := range map[sim.Time]sim.Time{0: 7, 3: 10, 5: 10, 10: 17, 13: 20, 15: 20, 20: 27} {
		assert.Equal(t, want, s.next(at), at)
	}
}

// TestTheLargestDemandOfAWhileCounts: that of the last 10 s, with both ends.
func TestTheLargestDemandOfAWhileCounts(t *testing.T) {
	s := &Autoscale{a: AutoscaleArguments{Stabilisation: 10}}
	for _, c := range []struct {
		at         sim.Time
		want, most int
	}{{0, 4, 4}, {5, 2, 4}, {10, 1, 4}, {11, 1, 2}, {15, 1, 2}, {16, 1, 1}, {17, 6, 6}} {
		assert.Equal(t, c.most, s.remember(demand{c.at, c.want}), "%+v", c)
	}
}

// TestAPoolMayHaveNoneOnlyWithoutRequests: wherever they are.
func TestAPoolMayHaveNoneOnlyWithoutRequests(t *testing.T) {
	s := &Autoscale{}
	for state, want := range map[*sim.Observation]int{
		observed(0, 0, 0, 5, 1, 1): 0, observed(1, 0, 0, 0, 0, 0): 1, observed(0, 1, 0, 0, 0, 0): 1,
		observed(0, 0, 1, 0, 0, 0): 1,
	} {
		assert.Equal(t, want, s.least(state), "%+v", *state)
		assert.Equal(t, 3, (&Autoscale{a: AutoscaleArguments{Min: 3}}).least(state))
	}
}

// TestAPoolStarvesOrHasRoomByItsLimits: with two requests that wait for each of three instances, and with a fifth of
// the 200 blocks of two in use.
func TestAPoolStarvesOrHasRoomByItsLimits(t *testing.T) {
	s := &RoleSwitch{RoleSwitchArguments{Queue: 2, Low: 0.2}}
	pool := &sim.Pool{PoolSpec: sim.PoolSpec{KVBlocks: 100}}
	assert.False(t, s.crowded(observed(9, 6, 0, 0, 3, 0)))
	assert.True(t, s.crowded(observed(9, 7, 0, 0, 3, 0)))
	assert.False(t, (&RoleSwitch{}).crowded(observed(9, 0, 0, 0, 3, 0)), "no request waits")
	assert.True(t, (&RoleSwitch{}).crowded(observed(9, 1, 0, 0, 3, 0)))
	assert.True(t, s.roomy(observed(9, 0, 0, 40, 3, 0), pool))
	assert.False(t, s.roomy(observed(9, 0, 0, 41, 3, 0), pool))
	assert.False(t, s.roomy(observed(9, 1, 0, 0, 3, 0), pool))
}

// TestOneOverdueTokenKeepsThePoolAsItIs: too few were overdue for more instances, and one is enough for no fewer.
func TestOneOverdueTokenKeepsThePoolAsItIs(t *testing.T) {
	pool := &sim.Pool{PoolSpec: sim.PoolSpec{KVBlocks: 100}}
	for overdue, want := range map[int64]int{0: 1, 1: 2, 5: 2, 6: 4} {
		s := &Autoscale{a: AutoscaleArguments{On: "ttft", Target: 0.5, Low: 0.3}, seen: firstTokens{-10, -overdue}}
		assert.Equal(t, want, s.want(0, pool, observed(0, 0, 0, 0, 2, 0)), "%d of 10", overdue)
	}
}

// TestWhatADrainCostsLeast: the instance with the fewest requests, and the last one only where there may be none.
func TestWhatADrainCostsLeast(t *testing.T) {
	for _, size := range []int{1, 2} {
		c, _ := testcluster.New(func(c *sim.Config) { c.Until = testcluster.At(3) },
			[]sim.Request{{Prompt: 10, Output: 50}}, testcluster.NewPool(size, routers.LeastLoaded{}))
		c.Run()
		for least, want := range map[int][]*sim.Instance{
			0: {c.Pool(0).Instance(0), c.Pool(0).Instance(size - 1)}, 1: {nil, c.Pool(0).Instance(size - 1)},
		} {
			s := &Autoscale{a: AutoscaleArguments{Min: least}}
			assert.Same(t, want[size-1], s.drainable(c.Pool(0)), "%d instances, at least %d", size, least)
		}
	}
}

// TestADecodePoolIsFullAboveItsLimit: with exactly that share of its blocks in use nothing moves.
func TestADecodePoolIsFullAboveItsLimit(t *testing.T) {
	for _, above := range []bool{false, true} {
		prefill, decode := testcluster.NewPool(2, routers.LeastLoaded{}), testcluster.NewPool(1, routers.LeastLoaded{})
		prefill.SizeMax, decode.SizeMax, decode.MaxNumSeqs = 3, 3, 8
		c, _ := testcluster.New(func(c *sim.Config) {
			c.Until, c.Routes = testcluster.At(5), []sim.Route{{{Pool: 0, Tokens: 1, Cache: true}, {Pool: 1}}}
		}, []sim.Request{{Prompt: 79, Output: 50}}, prefill, decode)
		c.Run()
		state := c.PoolState(1, c.Now())
		high := float64(state.KVUsed) / float64(state.KVTotal)
		require.Positive(t, high)
		require.Equal(t, float64(state.KVUsed), high*float64(state.KVTotal))
		if above {
			high = math.Nextafter(high, 0)
		}
		s := &RoleSwitch{RoleSwitchArguments{Decode: 1, Interval: sim.Second, Queue: 2, High: high}}
		s.Control(c.Now(), c)
		want := 2
		if above {
			want = 1
		}
		assert.Equal(t, want, c.Pool(0).Len())
	}
}
