package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// every is a controller that logs when it is called, at even spacing up to an instant.
type every struct {
	name string
	each sim.Duration
	to   sim.Time
	log  *[]string
}

func (e every) Control(now sim.Time, _ *sim.Cluster) sim.Time {
	*e.log = append(*e.log, e.name+" "+now.String())
	if now >= e.to {
		return sim.Forever
	}
	return now.Add(e.each)
}

// TestControllersActInTheirOwnTime, in order at one instant.
func TestControllersActInTheirOwnTime(t *testing.T) {
	var log []string
	end := testcluster.At(6)
	both := fleet.NewControllers(every{"a", 3 * sim.Second, end, &log}, every{"b", 2 * sim.Second, end, &log})
	config := func(c *sim.Config) { c.Controller = both }
	c, _ := testcluster.New(config, testcluster.Together(1, 0), testcluster.NewPool(1, routers.LeastLoaded{}))
	c.Run()
	assert.Equal(t, []string{"a 0s", "b 0s", "b 2s", "a 3s", "b 4s", "a 6s", "b 6s"}, log)
	assert.Nil(t, fleet.NewControllers())
	one := every{log: &log}
	assert.Equal(t, sim.Controller(one), fleet.NewControllers(one))
}

// guarded is a controller that must leave at least one instance that takes requests in each pool that has one.
type guarded struct {
	t *testing.T
	sim.Controller
	seen *[]int // instances of the first pool that take requests or are starting, after it has acted
}

// wakeful is a guarded Activator, which may take the last instance of a pool.
type wakeful struct{ guarded }

func (w wakeful) Control(now sim.Time, c *sim.Cluster) sim.Time {
	next := w.Controller.Control(now, c)
	w.note(now, c)
	return next
}

func (w wakeful) Activate(now sim.Time, p *sim.Pool, c *sim.Cluster) {
	w.Controller.(sim.Activator).Activate(now, p, c)
}

func (g guarded) Control(now sim.Time, c *sim.Cluster) sim.Time {
	var before [4]int
	for i := range c.Pools() {
		before[i] = c.Pool(i).Len()
	}
	next := g.Controller.Control(now, c)
	for i := range c.Pools() {
		assert.True(g.t, before[i] == 0 || c.Pool(i).Len() > 0, "pool %d lost its last instance at %v", i, now)
	}
	g.note(now, c)
	return next
}

func (g guarded) note(now sim.Time, c *sim.Cluster) {
	if g.seen != nil {
		o := c.PoolState(0, now)
		*g.seen = append(*g.seen, o.Live+o.Starting)
	}
}
