package fleet_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// idler is a controller that may only drain idle instances of the first pool.
type idler struct {
	t *testing.T
	sim.Controller
}

func (i idler) Control(now sim.Time, c *sim.Cluster) sim.Time {
	next := i.Controller.Control(now, c)
	for j := range c.Pool(0).Replicas() {
		if in := c.Pool(0).Replica(j); in.Draining() {
			assert.Zero(i.t, in.Load())
		}
	}
	return next
}

// disaggregated runs requests through a prefill pool and a decode pool of these sizes, each with places for three
// instances, and returns the sizes that they had in turn.
func disaggregated(
	t *testing.T, size [2]int, budget int32, requests []sim.Request,
) (sizes [][2]int, e *testcluster.Log) {
	prefill := testcluster.NewPool(size[0], routers.LeastLoaded{})
	decode := testcluster.NewPool(size[1], routers.LeastLoaded{})
	prefill.SizeMax, decode.SizeMax, decode.MaxNumSeqs = 3, 3, 8
	prefill.Scheduler = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: budget}
	s := testcluster.Must(fleet.NewRoleSwitch(fleet.RoleSwitchArguments{
		Prefill: 0, Decode: 1, Interval: 10 * sim.Second, Delay: 5 * sim.Second, Queue: 2, High: .9, Low: .5}))
	c, e := testcluster.New(func(c *sim.Config) {
		c.Routes = []sim.Route{{{Pool: 0, Tokens: 1, Cache: true}, {Pool: 1}}}
		c.Controller = guarded{t, idler{t, s}, nil}
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			if two := [2]int{c.Pool(0).Len(), c.Pool(1).Len()}; len(sizes) == 0 || sizes[len(sizes)-1] != two {
				sizes = append(sizes, two)
			}
			return now.Add(sim.Second)
		}
	}, requests, prefill, decode)
	c.Run()
	return sizes, e
}

// TestRolesFollowTheLoad: long prompts need a third prefill instance, long outputs a third decode
// instance. One of each always stays.
func TestRolesFollowTheLoad(t *testing.T) {
	sizes, e := disaggregated(t, [2]int{2, 2}, 32, testcluster.Poisson(200, .5, 190, 2))
	assert.Equal(t, 200, e.Count(sim.Completed))
	require.GreaterOrEqual(t, len(sizes), 3)
	assert.Equal(t, [][2]int{{2, 2}, {2, 1}, {3, 1}}, sizes[:3])
	sizes, e = disaggregated(t, [2]int{2, 2}, 1024, testcluster.Poisson(300, .5, 4, 60))
	assert.Equal(t, 300, e.Count(sim.Completed))
	require.GreaterOrEqual(t, len(sizes), 3)
	assert.Equal(t, [][2]int{{2, 2}, {1, 2}, {1, 3}}, sizes[:3])
	sizes, e = disaggregated(t, [2]int{2, 2}, 1024, testcluster.Poisson(100, .1, 4, 10))
	assert.Equal(t, 100, e.Count(sim.Completed))
	assert.Equal(t, [][2]int{{2, 2}}, sizes, "no pool starves")
	sizes, e = disaggregated(t, [2]int{1, 1}, 32, testcluster.Poisson(100, 5, 190, 2))
	assert.Equal(t, 100, e.Count(sim.Completed))
	assert.Equal(t, [][2]int{{1, 1}}, sizes, "the last instance stays, although the other pool starves")
	sizes, e = disaggregated(t, [2]int{3, 1}, 1024, testcluster.Poisson(300, 4, 4, 30))
	assert.Equal(t, 300, e.Count(sim.Completed))
	assert.Contains(t, sizes, [2]int{2, 2}, "when one of three prefill instances is idle")
	// Both prefill instances are mostly busy, and no request waits there.
	_, e = disaggregated(t, [2]int{2, 1}, 32, testcluster.Poisson(200, .3, 190, 100))
	assert.Equal(t, 200, e.Count(sim.Completed))
}

// TestOneInstanceMovesAtATime: while one drains or starts in its new role, for longer than the controller's interval,
// no other moves.
func TestOneInstanceMovesAtATime(t *testing.T) {
	prefill, decode := testcluster.NewPool(4, routers.LeastLoaded{}), testcluster.NewPool(1, routers.LeastLoaded{})
	prefill.SizeMax, decode.SizeMax, decode.MaxNumSeqs = 5, 5, 8
	moves, still := 0, 0
	c, e := testcluster.New(func(c *sim.Config) {
		c.Routes = []sim.Route{{{Pool: 0, Tokens: 1, Cache: true}, {Pool: 1}}}
		c.Controller = testcluster.Must(fleet.NewRoleSwitch(fleet.RoleSwitchArguments{
			Prefill: 0, Decode: 1, Interval: 10 * sim.Second, Delay: 25 * sim.Second, Queue: 2, High: .9, Low: .5}))
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			p, d := c.PoolState(0, now), c.PoolState(1, now)
			moving := p.Starting + p.Draining + d.Starting + d.Draining
			assert.LessOrEqual(t, moving, 1, "at %v", now)
			moves, still = moves+moving, still+1-moving
			return now.Add(sim.Second)
		}
	}, testcluster.Poisson(300, 4, 4, 60), prefill, decode)
	c.Run()
	assert.Equal(t, 300, e.Count(sim.Completed))
	assert.Greater(t, moves, 40, "seconds of two moves")
	assert.Positive(t, still)
}

// TestRoleSwitchRefusesWhatMakesNoSense, with the value.
func TestRoleSwitchRefusesWhatMakesNoSense(t *testing.T) {
	for want, change := range map[string]func(*fleet.RoleSwitchArguments){
		"both pool 1":      func(a *fleet.RoleSwitchArguments) { a.Prefill = 1 },
		"interval_s is 0":  func(a *fleet.RoleSwitchArguments) { a.Interval = 0 },
		"delay_s is -1":    func(a *fleet.RoleSwitchArguments) { a.Delay = -sim.Second },
		"queue is NaN":     func(a *fleet.RoleSwitchArguments) { a.Queue = math.NaN() },
		"high 0.2, must":   func(a *fleet.RoleSwitchArguments) { a.High = .2 },
		"low is -1 and hi": func(a *fleet.RoleSwitchArguments) { a.Low = -1 },
	} {
		a := fleet.RoleSwitchArguments{Prefill: 0, Decode: 1, Interval: sim.Second, Queue: 1, Low: .5, High: .9}
		change(&a)
		_, err := fleet.NewRoleSwitch(a)
		assert.ErrorContains(t, err, want)
	}
}
