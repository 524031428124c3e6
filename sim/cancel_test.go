package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestACancelledRunIsTheBeginningOfTheWhole: a cancelled run has reported what the whole run reports up to then, and no
// more than the event under way.
func TestACancelledRunIsTheBeginningOfTheWhole(t *testing.T) {
	t.Parallel()
	halted, drawn := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		asked := rapid.IntRange(1, 40).Draw(t, "asked")
		whole, part := newJournal(), newJournal()
		run(t, sc.config(whole))
		c := sc.config(part)
		n := 0
		c.Cancelled = func() bool { n++; return n >= asked }
		cl := run(t, c)
		require.Equal(t, n >= asked, cl.Halted())
		require.LessOrEqual(t, len(part.ended), len(whole.ended))
		for id, end := range part.ended {
			require.Equal(t, whole.ended[id], end)
		}
		if cl.Halted() {
			halted++
		}
	})
	wantCovered(t, drawn, map[string]int{"runs cut": halted}, map[string]int{"runs cut": 20})
}

// TestPartsOfACancelledRunStop: instances that are simulated one after the other stop as soon as one of them is
// cancelled.
func TestPartsOfACancelledRunStop(t *testing.T) {
	t.Parallel()
	l := loads[0]
	l.replicas, l.separate = 4, true
	j := newJournal()
	c := l.config(t, 4000, j)
	ended := 0
	c.Cancelled = func() bool { ended++; return ended >= 100 }
	cl := run(t, c)
	require.True(t, cl.Halted())
	require.Less(t, ended, 110)
}

// asking is a router that looks at each instance, as those do that compare loads.
type asking struct {
	sim.Router
	each func(i int)
}

func (a asking) Route(_ sim.Time, _ *sim.Request, p *sim.Pool) *sim.Instance {
	for i := range p.Replicas() {
		a.each(i)
		p.Replica(i)
	}
	return p.Instance(0)
}

// TestACancelledRunBuildsNoMoreInstances: it is left within the event that looks at all of them. A panic over anything
// else stays one.
func TestACancelledRunBuildsNoMoreInstances(t *testing.T) {
	t.Parallel()
	l := loads[0]
	l.replicas = 50_000
	last, cancelled := 0, false
	cluster := func(each func(i int), building ...func(n, of int) bool) *sim.Cluster {
		config := l.config(t, 2, newJournal())
		config.Pools[0].Router = asking{each: each}
		config.Cancelled = func() bool { return cancelled }
		for _, f := range building {
			config.Building = f
		}
		c, err := sim.New(config)
		require.NoError(t, err)
		return c
	}
	c := cluster(func(i int) { last, cancelled = i, i >= 5000 })
	c.Run()
	require.True(t, c.Halted())
	require.Less(t, last, 10_000)
	c.Pool(0).Replica(l.replicas - 1) // a run that is over is not left
	var built []int
	c = cluster(func(int) { cancelled = true }, func(n, of int) bool {
		require.Equal(t, l.replicas, of)
		built = append(built, n)
		return n > 10_000
	})
	c.Run()
	require.True(t, c.Halted(), "what hears how many are built is asked instead")
	require.Equal(t, []int{1 << 12, 2 << 12, 3 << 12}, built)
	cancelled = false
	c = cluster(func(int) {}, func(n, _ int) bool {
		built = append(built, n)
		return false
	})
	c.Run()
	require.False(t, c.Halted())
	require.Equal(t, []int{11 << 12, 12 << 12, l.replicas}, built[len(built)-3:], "and after the last")
	require.PanicsWithValue(t, "a fault", cluster(func(i int) {
		cancelled = i == 7
		if cancelled {
			panic("a fault")
		}
	}).Run)
}
