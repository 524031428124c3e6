package fleet_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// sizesOf returns how many of a pool's instances are up or starting whenever an autoscaler has acted, until an instant.
func sizesOf(
	t *testing.T, a fleet.AutoscaleArguments, size int, until sim.Time, requests []sim.Request,
) (sizes []int) {
	p := testcluster.NewPool(size, routers.LeastLoaded{})
	p.SizeMax, p.FirstTokenDue = a.Max, 3*sim.Second/2
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Controller, c.Until = guarded{t, testcluster.Must(fleet.NewAutoscale(a, a.Max)), &sizes}, until
	}, requests, p)
	c.Run()
	return sizes
}

// sizeAfter returns that number after 10 s, when the autoscaler first acts on its load of n equal requests, which is
// there from the beginning and ends much later.
func sizeAfter(t *testing.T, a fleet.AutoscaleArguments, size, n int, prompt int32) int {
	requests := testcluster.Together(n, 0)
	for i := range requests {
		requests[i].Prompt, requests[i].Output = prompt, 100
	}
	sizes := sizesOf(t, a, size, testcluster.At(15), requests)
	require.Len(t, sizes, 2)
	return sizes[1]
}

// TestSignalsAskForWhatTheirTargetSays, with the target met exactly and exceeded by one request. An instance runs 8.
func TestSignalsAskForWhatTheirTargetSays(t *testing.T) {
	for _, c := range []struct {
		on      string
		target  float64
		size, n int
		want    int
	}{
		{"queue", 4, 1, 12, 1}, {"queue", 4, 1, 13, 2}, {"queue", 4, 1, 17, 3}, {"queue", 4, 2, 24, 2},
		{"queue", 4, 2, 25, 3}, {"requests", 8, 1, 16, 2}, {"requests", 8, 1, 17, 3}, {"requests", 8, 3, 8, 1},
		{"requests", 8, 1, 60, 6},
		// Those that wait have no first token yet; all that came were in time.
		{"ttft", 0, 1, 8, 1}, {"ttft", .5, 1, 16, 1},
	} {
		a := scaling(c.on, c.target)
		assert.Equal(t, c.want, sizeAfter(t, a, c.size, c.n, 8), "%+v", c)
	}
}

// TestOneFewerNeedsRoomForTheCache: four requests in two instances. After 10 steps a prompt of 88 has 25 blocks of 4
// tokens, and the other instance has room for 100 of 200 with a share of a half; a prompt of 92 has 26.
func TestOneFewerNeedsRoomForTheCache(t *testing.T) {
	for _, on := range []string{"queue", "ttft"} {
		a := scaling(on, .5)
		assert.Equal(t, 1, sizeAfter(t, a, 2, 4, 88), on)
		assert.Equal(t, 2, sizeAfter(t, a, 2, 4, 92), on)
		a.Low = 0
		assert.Equal(t, 2, sizeAfter(t, a, 2, 1, 1), on)
	}
}

// TestTheOverdueShareOfInstancesIsAdded: four instances run 32 requests at once, and what comes in the first wave is
// in time. With 4 tokens each, two of three waves are overdue after 10 s, so that 4·2/3, rounded up, are added. With 5
// tokens each, one of two waves is, which is the share that may be.
func TestTheOverdueShareOfInstancesIsAdded(t *testing.T) {
	for output, want := range map[int32]int{4: 7, 5: 4} {
		requests := testcluster.Together(128, 0)
		for i := range requests {
			requests[i].Output = output
		}
		a := scaling("ttft", .5)
		a.Max = 9
		assert.Equal(t, []int{4, want}, sizesOf(t, a, 4, testcluster.At(15), requests), "%d tokens", output)
	}
}

// TestWithoutAFirstTokenAllThatWaitAreOverdue: of 17 requests one waits for the others to end, which have come in time.
// After 20 s as many instances are added as there are, and no more while these are starting.
func TestWithoutAFirstTokenAllThatWaitAreOverdue(t *testing.T) {
	requests := testcluster.Together(17, 0)
	for i := range requests {
		requests[i].Output = 100
	}
	assert.Equal(t, []int{2, 2, 4, 4}, sizesOf(t, scaling("ttft", .5), 2, testcluster.At(35), requests))
}

// TestPlacesBelowTheFirstDoNotFail, and the others fail when they would if all did.
func TestPlacesBelowTheFirstDoNotFail(t *testing.T) {
	when := func(first int) (down []string) {
		c, _ := testcluster.New(func(c *sim.Config) {
			c.Until = testcluster.At(500)
			c.Controller = diary{testcluster.Must(fleet.NewRandomFailures(fleet.RandomFailureArguments{
				MTBF: 200 * sim.Second, MTTR: 1, Retry: true, First: first, Seed: 1})), &down}
		}, testcluster.Poisson(600, 1, 8, 8), testcluster.NewPool(6, routers.LeastLoaded{}))
		c.Run()
		return down
	}
	all, some := when(0), when(4)
	var want []string
	for _, one := range all {
		if one[0] >= '4' {
			want = append(want, one)
		}
	}
	require.NotEmpty(t, want)
	assert.Less(t, len(want), len(all))
	assert.Equal(t, want, some)
}

// TestWhatDrainsOrStartsFailsToo: the request of an instance that drains fails with it, and a cold start begins again
// when it fails.
func TestWhatDrainsOrStartsFailsToo(t *testing.T) {
	drains := testcluster.Must(fleet.NewDrains([]fleet.Drain{{Instance: 1, At: testcluster.At(10), Down: -1}}, []int{2}))
	failure := func(instance int, at int64, down sim.Duration) *fleet.Failures {
		one := fleet.Failure{Instance: instance, At: testcluster.At(at), Down: down}
		return testcluster.Must(fleet.NewFailures([]fleet.Failure{one}, []int{2}))
	}
	requests := []sim.Request{{Prompt: 8, Output: 60}, {Prompt: 8, Output: 60}}
	c, e := testcluster.New(func(c *sim.Config) {
		c.Controller = fleet.NewControllers(drains, failure(1, 20, -1))
	}, requests, testcluster.NewPool(2, routers.LeastLoaded{}))
	c.Run()
	assert.Equal(t, map[int32]sim.Outcome{0: sim.Completed, 1: sim.Failed}, e.Outcome)

	p := testcluster.NewPool(2, routers.LeastLoaded{})
	p.ColdStart = 10 * sim.Second
	var up []string
	c, _ = testcluster.New(func(c *sim.Config) {
		c.Controller = fleet.NewControllers(failure(1, 30, 5*sim.Second), failure(1, 40, 20*sim.Second))
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			if size := fmt.Sprint(c.Pool(0).Len()); len(up) == 0 || up[len(up)-1][:1] != size {
				up = append(up, size+" "+now.String())
			}
			return now.Add(sim.Second)
		}
	}, testcluster.Poisson(100, 1, 8, 8), p)
	c.Run()
	require.Len(t, up, 3, "%v", up)
	assert.Equal(t, "2 0s", up[0])
	assert.Contains(t, []string{"1 30s", "1 31s"}, up[1])
	assert.Contains(t, []string{"2 1m10s", "2 1m11s"}, up[2], "20 s after the second failure, and a cold start")
}

// TestADrainWithoutTimeDownIsReplacedAtOnce, and one without a replacement never.
func TestADrainWithoutTimeDownIsReplacedAtOnce(t *testing.T) {
	for down, want := range map[sim.Duration]int{-1: 1, 0: 2} {
		d := testcluster.Must(fleet.NewDrains([]fleet.Drain{{At: testcluster.At(5), Down: down}}, []int{2}))
		config := func(c *sim.Config) { c.Controller = d }
		c, e := testcluster.New(config, testcluster.Poisson(50, 1, 8, 8), testcluster.NewPool(2, routers.LeastLoaded{}))
		c.Run()
		assert.Equal(t, 50, e.Count(sim.Completed))
		assert.Equal(t, want, c.Pool(0).Len(), down)
	}
}

// TestAnActivatorActsAmongOthers: a pool that went down to no instance starts one for the next request, as if the
// autoscaler were the only controller.
func TestAnActivatorActsAmongOthers(t *testing.T) {
	wait := func(others ...sim.Controller) sim.Duration {
		a := scaling("requests", 8)
		a.Min, a.Max = 0, 1
		p := testcluster.NewPool(1, routers.LeastLoaded{})
		p.ColdStart = 10 * sim.Second
		c, e := testcluster.New(func(c *sim.Config) {
			c.Controller = fleet.NewControllers(append(others, testcluster.Must(fleet.NewAutoscale(a, 1)))...)
		}, []sim.Request{{Prompt: 8, Output: 2}, {Prompt: 8, Output: 2, Arrival: testcluster.At(503)}}, p)
		c.Run()
		return e.Wait[1]
	}
	var log []string
	assert.Equal(t, 31*sim.Second, wait())
	assert.Equal(t, 31*sim.Second, wait(every{"a", 7 * sim.Second, testcluster.At(900), &log}))
}
