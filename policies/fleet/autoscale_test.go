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

// scaling returns the arguments of an autoscaler by a signal.
func scaling(on string, target float64) fleet.AutoscaleArguments {
	return fleet.AutoscaleArguments{
		On: on, Target: target, Low: .5, Min: 1, Max: 6, Interval: 10 * sim.Second, Provision: 20 * sim.Second,
	}
}

// step is a load of one request a second, of four from 1000 s to 2000 s, and of one again.
func step() []sim.Request {
	var requests []sim.Request
	for _, part := range []struct{ from, to, each int64 }{{0, 1000, 1000}, {1000, 2000, 250}, {2000, 3000, 1000}} {
		for ms := part.from * 1000; ms < part.to*1000; ms += part.each {
			at := sim.Time(sim.Duration(ms) * sim.Millisecond)
			requests = append(requests, sim.Request{Prompt: 10, Output: 6, Arrival: at})
		}
	}
	return requests
}

// scaled runs the load step in a pool that a makes larger and smaller, and returns its sizes every interval.
func scaled(t *testing.T, a fleet.AutoscaleArguments) (sizes []int, e *testcluster.Log, c *sim.Cluster) {
	p := testcluster.NewPool(1, routers.LeastLoaded{})
	p.SizeMax, p.ColdStart, p.FirstTokenDue = 6, 10*sim.Second, 5*sim.Second
	c, e = testcluster.New(func(c *sim.Config) {
		c.Controller = guarded{t, testcluster.Must(fleet.NewAutoscale(a, 6)), &sizes}
	}, step(), p)
	c.Run()
	return sizes, e, c
}

// TestAutoscaleFollowsALoadStep: up and down, by each signal. One instance runs 8 requests of 6 s, 4/3 a second; three
// are needed for four, and one for the rest.
func TestAutoscaleFollowsALoadStep(t *testing.T) {
	for _, a := range []fleet.AutoscaleArguments{
		scaling("queue", 4), scaling("requests", 8), scaling("kv", .12), scaling("ttft", .1),
	} {
		t.Run(a.On, func(t *testing.T) {
			sizes, e, _ := scaled(t, a)
			assert.Equal(t, 6000, e.Count(sim.Completed))
			assert.LessOrEqual(t, slices.Max(sizes[20:100]), 2, "before")
			assert.GreaterOrEqual(t, slices.Min(sizes[150:200]), 3, "during")
			assert.LessOrEqual(t, slices.Max(sizes[250:]), 2, "after")
			overdue := 0
			for id := int32(3000); id < 5000; id++ {
				if e.Wait[id] > 10*sim.Second {
					overdue++
				}
			}
			assert.Zero(t, overdue, "it has caught up")
		})
	}
}

// TestOverdueTokensAreNotCountedTwice: while instances are starting, overdue tokens ask for no more of them.
func TestOverdueTokensAreNotCountedTwice(t *testing.T) {
	a := scaling("ttft", .1)
	a.Provision = 95 * sim.Second
	sizes, _, _ := scaled(t, a)
	grew := -20
	for i := 1; i < len(sizes); i++ {
		if sizes[i] > sizes[i-1] {
			assert.GreaterOrEqual(t, i-grew, 10, "intervals of 10 s")
			grew = i
		}
	}
	assert.Positive(t, grew)
}

// TestStabilisationKeepsInstances: after the step they stay for that time.
func TestStabilisationKeepsInstances(t *testing.T) {
	a := scaling("requests", 8)
	hasty, _, _ := scaled(t, a)
	a.Stabilisation = 300 * sim.Second
	patient, _, _ := scaled(t, a)
	assert.Less(t, slices.Max(hasty[210:]), 3)
	assert.GreaterOrEqual(t, slices.Min(patient[205:229]), 3)
	assert.Less(t, slices.Max(patient[240:]), 3)
}

// TestAScheduleIsFollowed: rows count from their instant on, between intervals too, and within the limits.
func TestAScheduleIsFollowed(t *testing.T) {
	a := scaling("schedule", 0)
	a.Interval, a.Max, a.Provision = 1000*sim.Second, 5, 0
	a.Schedule = []fleet.ScheduledSize{
		{At: testcluster.At(100), Replicas: 3},
		{At: testcluster.At(1500), Replicas: 9}, {At: testcluster.At(2500), Replicas: 2},
	}
	sizes, _, c := scaled(t, a)
	assert.Equal(t, []int{1, 3, 3, 5, 2}, sizes)
	assert.InDelta(t, 100+3*1400+5*1000+2*(c.Now().Seconds()-2500), c.PoolTotals(0).UpS, 30, "and what drained")
}

// TestStabilisationStartsNothing: what was wanted a while ago keeps instances, but does not replace one that fails when
// as many are left as are wanted now.
func TestStabilisationStartsNothing(t *testing.T) {
	a := scaling("schedule", 0)
	a.Stabilisation, a.Provision = 10_000*sim.Second, 0
	a.Schedule = []fleet.ScheduledSize{{At: 0, Replicas: 4}, {At: testcluster.At(100), Replicas: 3}}
	p := testcluster.NewPool(4, routers.LeastLoaded{})
	p.SizeMax = 6
	var sizes []int
	failures := []fleet.Failure{{Instance: 0, At: testcluster.At(155), Down: -1, Retry: true}}
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Until = testcluster.At(300)
		c.Controller = guarded{t, fleet.NewControllers(testcluster.Must(fleet.NewFailures(failures, []int{6})),
			testcluster.Must(fleet.NewAutoscale(a, 6))), &sizes}
	}, step()[:400], p)
	c.Run()
	failed := slices.Index(sizes, 3)
	require.Greater(t, failed, 10, "for all are kept until then")
	for i, n := range sizes {
		want := 4
		if i >= failed {
			want = 3
		}
		assert.Equal(t, want, n)
	}
	require.Greater(t, len(sizes), failed+10)
}

// TestAutoscaleReplacesWhatFailed, even if no instance is left, and requests at the gate enter.
func TestAutoscaleReplacesWhatFailed(t *testing.T) {
	p := testcluster.NewPool(2, routers.LeastLoaded{})
	p.SizeMax = 4
	a := scaling("requests", 8)
	a.Min, a.Max = 2, 4
	failures := []fleet.Failure{
		{Instance: 0, At: testcluster.At(95), Down: -1, Retry: true},
		{Instance: 1, At: testcluster.At(95), Down: -1, Retry: true},
	}
	c, e := testcluster.New(func(c *sim.Config) {
		c.Controller = fleet.NewControllers(
			testcluster.Must(fleet.NewFailures(failures, []int{4})),
			testcluster.Must(fleet.NewAutoscale(a, 4)))
	}, step()[:200], p)
	c.Run()
	assert.Equal(t, 200, e.Count(sim.Completed))
	assert.GreaterOrEqual(t, c.Pool(0).Len(), 2)
}

// TestAutoscaleStaysWithinItsLimits: whatever the load and the arguments, sizes stay within them, the last instance
// stays, every request ends, and a second run is the same.
func TestAutoscaleStaysWithinItsLimits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		on := rapid.SampledFrom(fleet.AutoscaleSignals()[:4]).Draw(r, "on")
		a := scaling(on, rapid.SampledFrom([]float64{.01, .3, .9}).Draw(r, "target"))
		a.Min = rapid.IntRange(0, 3).Draw(r, "min")
		a.Max = max(1, a.Min+rapid.IntRange(0, 3).Draw(r, "more"))
		a.Stabilisation = sim.Duration(rapid.IntRange(0, 50).Draw(r, "stabilisation")) * sim.Second
		a.Provision = sim.Duration(rapid.IntRange(0, 30).Draw(r, "provision")) * sim.Second
		rate := rapid.SampledFrom([]float64{.1, 1, 10}).Draw(r, "rate")
		run := func() string {
			var sizes []int
			p := testcluster.NewPool(max(1, a.Min), routers.LeastLoaded{})
			p.SizeMax, p.FirstTokenDue = 6, 3*sim.Second
			c, e := testcluster.New(func(c *sim.Config) {
				c.Controller = wakeful{guarded{t, testcluster.Must(fleet.NewAutoscale(a, 6)), &sizes}}
			}, testcluster.Various(150, rate), p)
			c.Run()
			require.Equal(r, 150, e.Count(sim.Completed))
			require.LessOrEqual(r, slices.Max(sizes), a.Max)
			require.GreaterOrEqual(r, slices.Min(sizes), a.Min)
			return fmt.Sprint(sizes, c.Now(), e.Wait)
		}
		require.Equal(r, run(), run())
	})
}

// TestAutoscaleGoesToNoInstanceAndBack: 100 s without a request after the last one ended the instance goes, nothing is
// paid for then, and the next request waits for provision and cold start, from its arrival on and not from the next
// observation. One that comes meanwhile waits for the same instance, and the one behind it finds that up.
func TestAutoscaleGoesToNoInstanceAndBack(t *testing.T) {
	for _, a := range []fleet.AutoscaleArguments{
		scaling("queue", 4), scaling("requests", 8), scaling("kv", .12), scaling("ttft", .1), scaling("schedule", 0),
	} {
		t.Run(a.On, func(t *testing.T) {
			a.Min, a.Stabilisation = 0, 100*sim.Second // and no first token is overdue for the cold start
			a.Schedule = []fleet.ScheduledSize{{At: 0, Replicas: 1}, {At: testcluster.At(50), Replicas: 0}}
			if a.On != "schedule" {
				a.Schedule = nil
			}
			p := testcluster.NewPool(1, routers.LeastLoaded{})
			p.SizeMax, p.ColdStart, p.FirstTokenDue = 6, 10*sim.Second, 40*sim.Second
			var sizes []int
			c, e := testcluster.New(func(c *sim.Config) {
				c.Controller = wakeful{guarded{t, testcluster.Must(fleet.NewAutoscale(a, 6)), &sizes}}
			}, []sim.Request{{Prompt: 10, Output: 6}, {Prompt: 10, Output: 6, Arrival: testcluster.At(38)},
				{Prompt: 10, Output: 6, Arrival: testcluster.At(503)}, {Prompt: 10, Output: 6, Arrival: testcluster.At(504)},
				{Prompt: 10, Output: 6, Arrival: testcluster.At(600)}}, p)
			c.Run()
			assert.Equal(t, 5, e.Count(sim.Completed))
			assert.Equal(t, []sim.Duration{sim.Second, sim.Second, 31 * sim.Second, 30 * sim.Second, sim.Second},
				[]sim.Duration{e.Wait[0], e.Wait[1], e.Wait[2], e.Wait[3], e.Wait[4]})
			// The request of 38 s ends at 44 s; the observation at 40 s is the last that has seen one.
			assert.Equal(t, []int{1, 0}, sizes[14:16], "140 s and 150 s")
			assert.InDelta(t, 150+(c.Now().Seconds()-503), c.PoolTotals(0).UpS, 1e-9)
		})
	}
}

// TestAutoscaleRefusesWhatMakesNoSense, with the value.
func TestAutoscaleRefusesWhatMakesNoSense(t *testing.T) {
	for want, change := range map[string]func(*fleet.AutoscaleArguments){
		"min_replicas is -1":    func(a *fleet.AutoscaleArguments) { a.Min = -1 },
		"replicas_max 7":        func(a *fleet.AutoscaleArguments) { a.Max = 7 },
		"interval_s is 0":       func(a *fleet.AutoscaleArguments) { a.Interval = 0 },
		"provision_s is -1":     func(a *fleet.AutoscaleArguments) { a.Provision = -sim.Second },
		"low is 1.5":            func(a *fleet.AutoscaleArguments) { a.Low = 1.5 },
		"target is NaN":         func(a *fleet.AutoscaleArguments) { a.Target = math.NaN() },
		"target is 1.5":         func(a *fleet.AutoscaleArguments) { a.On, a.Target = "kv", 1.5 },
		"target is 1, must":     func(a *fleet.AutoscaleArguments) { a.On, a.Target = "ttft", 1 },
		`on is "load", must be`: func(a *fleet.AutoscaleArguments) { a.On = "load" },
		"the schedule has no":   func(a *fleet.AutoscaleArguments) { a.On = "schedule" },
		"row 1 of the schedule is": func(a *fleet.AutoscaleArguments) {
			a.On, a.Schedule = "schedule", []fleet.ScheduledSize{{At: 5, Replicas: 1}, {At: 5, Replicas: 2}}
		},
	} {
		a := scaling("queue", 1)
		change(&a)
		_, err := fleet.NewAutoscale(a, 6)
		assert.ErrorContains(t, err, want)
	}
}

// TestAutoscaleBeginsWithThePoolAsItIs: until Stabilisation has passed nothing drains, because the load is not known
// yet.
func TestAutoscaleBeginsWithThePoolAsItIs(t *testing.T) {
	a := scaling("queue", 4)
	a.Stabilisation = 100 * sim.Second
	var sizes []int
	p := testcluster.NewPool(3, routers.LeastLoaded{})
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Controller = guarded{t, testcluster.Must(fleet.NewAutoscale(a, 6)), &sizes}
	}, []sim.Request{{Prompt: 10, Output: 6}, {Prompt: 10, Output: 6, Arrival: sim.Time(300 * sim.Second)}}, p)
	c.Run()
	assert.Equal(t, 3, slices.Min(sizes[:10]))
	assert.Equal(t, 2, sizes[12])
	assert.Equal(t, 1, sizes[28])
}
