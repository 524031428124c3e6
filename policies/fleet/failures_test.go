package fleet_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// diary is a controller that logs when another takes which instance of the first pool down.
type diary struct {
	sim.Controller
	down *[]string
}

func (d diary) Control(now sim.Time, c *sim.Cluster) sim.Time {
	p := c.Pool(0)
	was := make([]bool, p.Replicas())
	for i := range was {
		was[i] = p.Replica(i).Live()
	}
	next := d.Controller.Control(now, c)
	for i := range was {
		if was[i] && !p.Replica(i).Live() {
			*d.down = append(*d.down, fmt.Sprint(i, " ", now))
		}
	}
	return next
}

// TestListedFailures happen at their instants, in order of time. An instance that is down does not fail again, and
// comes back after its time down.
func TestListedFailures(t *testing.T) {
	var down []string
	up := map[int64]int{}
	f := testcluster.Must(fleet.NewFailures([]fleet.Failure{
		{Instance: 1, At: testcluster.At(30), Down: 20 * sim.Second, Retry: true},
		{Instance: 0, At: testcluster.At(10), Down: 5 * sim.Second},
		{Instance: 1, At: testcluster.At(40), Down: 0}, {Instance: 1, At: testcluster.At(70), Down: -1, Retry: true},
	}, []int{2}))
	p := testcluster.NewPool(2, routers.LeastLoaded{})
	p.ColdStart = 3 * sim.Second
	c, e := testcluster.New(func(c *sim.Config) {
		c.Controller = diary{f, &down}
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			up[int64(now)/int64(sim.Second)] = c.Pool(0).Len()
			return now.Add(sim.Second)
		}
	}, testcluster.Various(100, 1), p)
	c.Run()
	assert.Equal(t, []string{"0 10s", "1 30s", "1 1m10s"}, down)
	for second, want := range map[int64]int{9: 2, 11: 1, 17: 1, 19: 2, 31: 1, 52: 1, 54: 2, 71: 1, 100: 1} {
		assert.Equal(t, want, up[second], "at %d s", second)
	}
	assert.Positive(t, e.Count(sim.Failed), "the requests of the failure without a retry")
	assert.Equal(t, 100, e.Count(sim.Failed)+e.Count(sim.Completed))
	assert.Positive(t, c.Totals().Restarted)
}

// TestRandomFailuresHaveTheirAvailability: MTBF/(MTBF+MTTR), which is 0.8, over 20 instances and 20,000 s, about 3,200
// failures: within five standard errors, for alternating exponentials √(2·0.8·0.2·100·25/125/(20·20,000)) = 0.004. The
// run ends when the load does, not with the last failure.
func TestRandomFailuresHaveTheirAvailability(t *testing.T) {
	live, n := 0, 0
	p := testcluster.NewPool(20, routers.NewRandom(1))
	c, e := testcluster.New(func(c *sim.Config) {
		a := fleet.RandomFailureArguments{MTBF: 100 * sim.Second, MTTR: 25 * sim.Second, Retry: true, Seed: 3}
		c.Controller = testcluster.Must(fleet.NewRandomFailures(a))
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			live, n = live+c.Pool(0).Len(), n+20
			return now.Add(2 * sim.Second)
		}
	}, testcluster.Poisson(2000, .1, 8, 8), p)
	c.Run()
	assert.Equal(t, 2000, e.Count(sim.Completed))
	assert.InDelta(t, .8, float64(live)/float64(n), .02)
	assert.InDelta(t, 20_000, c.Now().Seconds(), 2500)
	all := 20 * c.Now().Seconds()
	assert.InDelta(t, .8*all, c.PoolTotals(0).UpS, .02*all, "what is being replaced is not paid for")
}

// TestAPoolFailsBesideOthers: what fails and is replaced are instances of that pool, wherever it stands in the list.
// The other stays whole.
func TestAPoolFailsBesideOthers(t *testing.T) {
	live, n := 0, 0
	c, _ := testcluster.New(func(c *sim.Config) {
		a := fleet.RandomFailureArguments{Pool: 1, MTBF: 100 * sim.Second, MTTR: 25 * sim.Second, Retry: true, Seed: 3}
		c.Controller, c.Until = testcluster.Must(fleet.NewRandomFailures(a)), testcluster.At(4000)
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			assert.Equal(t, 3, c.Pool(0).Len())
			live, n = live+c.Pool(1).Len(), n+20
			return now.Add(2 * sim.Second)
		}
	}, testcluster.Poisson(500, .1, 8, 8), testcluster.NewPool(3, routers.NewRandom(1)),
		testcluster.NewPool(20, routers.NewRandom(1)))
	c.Run()
	assert.InDelta(t, .8, float64(live)/float64(n), .045, "five standard errors of 4,000 s")
}

// TestFailuresDependOnNothingElse: neither on the load nor on the outcome of requests, nor on how many instances come
// after.
func TestFailuresDependOnNothingElse(t *testing.T) {
	when := func(size int, rate float64, retry bool, seed uint64) (down []string) {
		c, _ := testcluster.New(func(c *sim.Config) {
			c.Until = testcluster.At(500)
			c.Controller = diary{testcluster.Must(fleet.NewRandomFailures(
				fleet.RandomFailureArguments{MTBF: 400 * sim.Second, MTTR: 1, Retry: retry, Seed: seed})), &down}
		}, testcluster.Poisson(int(600*rate), rate, 8, 8), testcluster.NewPool(size, routers.LeastLoaded{}))
		c.Run()
		return down
	}
	one := when(10, 1, true, 1)
	assert.InDelta(t, 12.5, len(one), 5*math.Sqrt(12.5))
	assert.Equal(t, one, when(10, .2, false, 1))
	assert.NotEqual(t, one, when(10, 1, true, 2))
	more := when(20, 1, true, 1)
	assert.Subset(t, more, one)
	assert.Greater(t, len(more), len(one))
	many := when(100, 1, true, 1)
	assert.InDelta(t, 125, len(many), 5*math.Sqrt(125), "of instances that all are up at first")
}

// TestDrainsLeaveTheLast: the last instance waits for another, and a drained instance comes back after its time down.
func TestDrainsLeaveTheLast(t *testing.T) {
	var down []string
	d := testcluster.Must(fleet.NewDrains([]fleet.Drain{
		{Instance: 0, At: testcluster.At(10), Down: 50 * sim.Second}, {Instance: 1, At: testcluster.At(12), Down: -1},
	}, []int{2}))
	config := func(c *sim.Config) { c.Controller = diary{guarded{t, d, nil}, &down} }
	c, e := testcluster.New(config, testcluster.Poisson(150, 1, 8, 8), testcluster.NewPool(2, routers.LeastLoaded{}))
	c.Run()
	assert.Equal(t, 150, e.Count(sim.Completed), "none is lost")
	require.Len(t, down, 2)
	assert.Equal(t, "0 10s", down[0])
	assert.Contains(t, []string{"1 1m2s", "1 1m7s", "1 1m12s"}, down[1], "50 s after the other ended")
	assert.Equal(t, 1, c.Pool(0).Len())
}

// TestFleetsKeepTheirRequests: under any mix of failures, drains and scaling every request ends once, and again the
// same.
func TestFleetsKeepTheirRequests(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seconds := func(label string, most int) sim.Duration {
			return sim.Duration(rapid.IntRange(1, most).Draw(r, label)) * sim.Second
		}
		retry := rapid.Bool().Draw(r, "retry")
		random := fleet.RandomFailureArguments{
			MTBF: 20 * seconds("mtbf", 20), MTTR: seconds("mttr", 60), Retry: retry, Seed: 1,
		}
		a := scaling("requests", 4)
		a.Max, a.Interval = 4, seconds("interval", 20)
		instance := rapid.IntRange(0, 3)
		fail := fleet.Failure{
			Instance: instance.Draw(r, "failing"), At: sim.Time(seconds("at", 90)), Down: seconds("down", 50), Retry: retry,
		}
		drain := fleet.Drain{
			Instance: instance.Draw(r, "draining"), At: sim.Time(seconds("when", 90)), Down: seconds("for", 50),
		}
		router := rapid.SampledFrom(routers.Names()).Draw(r, "router")
		staleness := seconds("staleness", 20) - sim.Second
		run := func() string {
			routing := routers.DefaultArguments()
			routing.Staleness = staleness
			p := testcluster.NewPool(2, testcluster.Must(routers.New(router, routing)))
			p.SizeMax, p.ColdStart = 4, sim.Second
			var sizes []int
			c, e := testcluster.New(func(c *sim.Config) {
				c.Controller = fleet.NewControllers(
					testcluster.Must(fleet.NewRandomFailures(random)),
					testcluster.Must(fleet.NewFailures([]fleet.Failure{fail}, []int{4})),
					guarded{t, testcluster.Must(fleet.NewDrains([]fleet.Drain{drain}, []int{4})), &sizes},
					guarded{t, testcluster.Must(fleet.NewAutoscale(a, 4)), &sizes})
			}, testcluster.Poisson(120, 1, 20, 8), p)
			c.Run()
			require.Len(r, e.Outcome, 120)
			require.Equal(r, 120, e.Count(sim.Completed)+e.Count(sim.Failed))
			require.True(r, !retry || e.Count(sim.Failed) == 0)
			require.Less(r, c.Now().Seconds(), 5000.0)
			return fmt.Sprint(sizes, c.Now(), e.Wait, e.Outcome)
		}
		require.Equal(r, run(), run())
	})
}

// TestFailuresRefuseWhatMakesNoSense, with the value.
func TestFailuresRefuseWhatMakesNoSense(t *testing.T) {
	for want, f := range map[string]fleet.Failure{
		"failures[0]: pool is 2":     {Pool: 2},
		"failures[0]: replica is 3":  {Instance: 3},
		"failures[0]: replica is -1": {Instance: -1},
		"failures[0]: at_s is -1":    {At: -testcluster.At(1)},
	} {
		_, err := fleet.NewFailures([]fleet.Failure{f}, []int{3, 3})
		assert.ErrorContains(t, err, want)
	}
	_, err := fleet.NewDrains([]fleet.Drain{{}, {Pool: -1}}, []int{3, 3})
	assert.ErrorContains(t, err, "drain[1]: pool is -1")
	for want, a := range map[string]fleet.RandomFailureArguments{
		"mtbf_s is 0, must":  {},
		"mttr_s is -1, must": {MTBF: sim.Second, MTTR: -sim.Second},
	} {
		_, err = fleet.NewRandomFailures(a)
		assert.ErrorContains(t, err, want)
	}
	list := []fleet.Failure{{At: testcluster.At(2)}, {At: testcluster.At(1)}}
	before := slices.Clone(list)
	_, err = fleet.NewFailures(list, []int{1})
	require.NoError(t, err)
	assert.Equal(t, before, list, "the caller's list does not change")
}
