package fleet_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// upBy returns which of n instances are up half a second after each second, if what is listed happens to them: at each
// second, what has been repaired first takes the first free place, then instances fail, and then those are back whose
// repair takes no time.
func upBy(list []fleet.Failure, n, seconds int) (all [][]bool) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b fleet.Failure) int { return cmp.Compare(a.At, b.At) })
	up, back := slices.Repeat([]bool{true}, n), map[sim.Time]int{}
	for second := range seconds {
		now := testcluster.At(int64(second))
		repaired := func() {
			for ; back[now] > 0; back[now]-- {
				if i := slices.Index(up, false); i >= 0 {
					up[i] = true
				}
			}
		}
		repaired()
		for _, f := range list {
			if f.At == now && up[f.Instance] {
				up[f.Instance] = false
				if f.Down >= 0 {
					back[now.Add(f.Down)]++
				}
			}
		}
		repaired()
		all = append(all, slices.Clone(up))
	}
	return all
}

// TestListedFailuresAreThoseOfANaiveTwin: many failures of few instances in little time, of which some meet instances
// that are down, some are repaired at once and some never.
func TestListedFailuresAreThoseOfANaiveTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 3))
	const seconds = 20
	for range 200 {
		n := 1 + r.IntN(4)
		var list []fleet.Failure
		for range 1 + r.IntN(12) {
			list = append(list, fleet.Failure{Instance: r.IntN(n), At: testcluster.At(r.Int64N(seconds)),
				Down: sim.Second * sim.Duration(r.Int64N(7)-1), Retry: r.IntN(2) == 0})
		}
		var got [][]bool
		c, _ := testcluster.New(func(c *sim.Config) {
			c.Controller, c.Until = testcluster.Must(fleet.NewFailures(list, []int{n})), testcluster.At(seconds)
			c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
				if now > 0 {
					var up []bool
					for i := range n {
						up = append(up, c.Pool(0).Replica(i).Live())
					}
					got = append(got, up)
					return now.Add(sim.Second)
				}
				return now.Add(sim.Second / 2)
			}
		}, testcluster.Poisson(100, 2, 8, 8), testcluster.NewPool(n, routers.LeastLoaded{}))
		c.Run()
		require.Equal(t, upBy(list, n, seconds), got, "%+v", list)
	}
}
