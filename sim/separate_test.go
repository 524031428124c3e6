package sim_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

type inTurn struct{ routers.RoundRobin }

func (*inTurn) Blind() {}

// atOnce calls do(0) … do(n−1), each in a goroutine of its own.
func atOnce(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// TestInstancesApartAreInstancesTogether: what a router does that looks at no instance is the same, token by token, if
// each instance is simulated alone, one after the other or several at the same time, however far requests are read
// ahead; and so are the queues that requests meet.
func TestInstancesApartAreInstancesTogether(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		sc.clients, sc.sessions, sc.size = 0, 0, max(2, sc.size)
		until := rapid.SampledFrom([]sim.Time{0, 0, sim.Time(sim.Second)}).Draw(t, "until")
		var runs [4]*journal
		var ends [4]*sim.Cluster
		var waiting [4][]int
		for i := range runs {
			runs[i] = newJournal()
			c := sc.config(runs[i])
			c.Pools[0].Router, c.Until, c.Unordered = new(inTurn), until, i > 0
			if i >= 2 {
				c.Cores, c.Each = rapid.IntRange(2, 4).Draw(t, "cores"), atOnce
			}
			var err error
			ends[i], err = sim.New(c)
			require.NoError(t, err)
			if i == 1 || i == 3 {
				sim.SetWindow(ends[i], rapid.SampledFrom([]int{1, 2, 7, 30}).Draw(t, "window"))
			}
			ends[i].ObserveArrivals(
				func(n int64) int64 { return n + 1 + n%5 },
				func(c *sim.Cluster, n int64) { waiting[i] = append(waiting[i], int(n), queued(c)) },
			)
			ends[i].Run()
		}
		if len(waiting[0]) > 0 {
			require.Equal(t, 1, waiting[0][0], "the first is observed")
		}
		for i := 1; i < len(runs); i++ {
			require.Equal(t, runs[0].tokens, runs[i].tokens)
			require.Equal(t, runs[0].ended, runs[i].ended)
			require.Equal(t, runs[0].end, runs[i].end)
			require.Equal(t, runs[0].gaps, runs[i].gaps)
			equalHists(t, &runs[0].ITL, &runs[i].ITL, "ITL")
			require.Equal(t, waiting[0], waiting[i])
			require.Equal(t, ends[0].Totals(), ends[i].Totals())
			require.Equal(t, ends[0].PoolTotals(0), ends[i].PoolTotals(0))
			require.Equal(t, ends[0].State(ends[0].Now()), ends[i].State(ends[i].Now()))
		}
		cover["requests"] += len(runs[0].tokens)
		cover["observed"] += len(waiting[0]) / 2
		cover["cut"] += int(runs[0].Outcomes[sim.Unfinished])
	})
	wantCovered(t, drawn, cover, map[string]int{"requests": 3000, "cut": 300, "observed": 1000})
}

// queued returns how many requests wait in the queues of c.
func queued(c *sim.Cluster) (n int) {
	for i := range c.Pool(0).Replicas() {
		n += c.Pool(0).Replica(i).Queued()
	}
	return n
}

// TestAnInstanceApartServesItsOwnRequests: of two or five that come 4 ms apart, the two replicas have every second one
// each, whether they are simulated together, one after the other or at once, and up to a horizon within the outputs.
func TestAnInstanceApartServesItsOwnRequests(t *testing.T) {
	for i, until := range []sim.Time{0, sim.Time(promptTime + 6*stepTime), 0, sim.Time(promptTime + 6*stepTime)} {
		n := []int32{5, 5, 2, 2}[i]
		var runs [3]*journal
		for i := range runs {
			sc := two()
			for id := range n {
				sc.requests = append(sc.requests, sim.Request{ID: id, Prompt: 10, Output: 9, Traced: true,
					Arrival: sim.Time(id) * sim.Time(4*sim.Millisecond)})
			}
			runs[i] = newJournal()
			c := sc.config(runs[i])
			c.Pools[0].Router, c.Until, c.Unordered = new(inTurn), until, i > 0
			if i == 2 {
				c.Cores, c.Each = 2, atOnce
			}
			cl := run(t, c)
			require.EqualValues(t, n, cl.Totals().Arrived)
			require.Equal(t, sim.Time(promptTime), runs[i].tokens[0][0])
			require.Equal(t, sim.Time(4*sim.Millisecond).Add(promptTime), runs[i].tokens[1][0])
		}
		require.Equal(t, runs[0].tokens, runs[1].tokens)
		require.Equal(t, runs[0].tokens, runs[2].tokens)
	}
}

// TestTheClockEndsForInstancesApart: a run that would outlast the clock says so, and one that ends itself, or that a
// horizon ends, does not, together or apart.
func TestTheClockEndsForInstancesApart(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		for _, c := range []struct {
			requests int32
			until    sim.Time
			want     bool
		}{{4, 0, true}, {2, 0, false}, {4, sim.Time(sim.Second), false}} {
			sc := two()
			sc.policy = &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 512}
			sc.model, sc.blocks, sc.maxLen = prices{overhead: 3600 * sim.Second}, 1000, 4000
			for id := range c.requests {
				sc.requests = append(sc.requests, sim.Request{ID: id, Prompt: 1, Output: 1200})
			}
			config := sc.config(newJournal())
			config.Pools[0].Router, config.Until, config.Unordered = new(inTurn), c.until, unordered
			cl := run(t, config)
			require.Equal(t, unordered, sim.Separated(cl))
			require.Equal(t, c.want, cl.Overran(), "%d requests, until %v, apart %v", c.requests, c.until, unordered)
		}
	}
}

// admitsAll is an admission that lets all in.
type admitsAll struct{}

func (admitsAll) Admit(sim.Time, *sim.Request, *sim.Cluster) bool { return true }

// TestOnlyInstancesThatShareNothingAreSeparated: two behind a router that does not look are, and not where another part
// of the run may see or change them. The tokens are the same either way.
func TestOnlyInstancesThatShareNothingAreSeparated(t *testing.T) {
	observe := func(*sim.Cluster, sim.Time) sim.Time { return sim.Forever }
	for name, change := range map[string]func(c *sim.Config){
		"":               func(*sim.Config) {},
		"in order":       func(c *sim.Config) { c.Unordered = false },
		"one":            func(c *sim.Config) { c.Pools[0].Size = 1 },
		"a router":       func(c *sim.Config) { c.Pools[0].Router = routers.LeastLoaded{} },
		"ranks":          func(c *sim.Config) { c.Pools[0].Ranks, c.Pools[0].Balancer = 2, (&scenario{}).balancer },
		"an observer":    func(c *sim.Config) { c.Observe = observe },
		"an admission":   func(c *sim.Config) { c.Admission = admitsAll{} },
		"a controller":   func(c *sim.Config) { c.Controller = &outages{every: sim.Second} },
		"more instances": func(c *sim.Config) { c.Pools[0].SizeMax = 3 },
		"two stages":     func(c *sim.Config) { c.Routes = []sim.Route{{{}, {}}} },
		"two routes":     func(c *sim.Config) { c.Routes = []sim.Route{{{}}, {{}}} },
		"another pool": func(c *sim.Config) {
			other := *c.Pools[0]
			other.Name, other.Router = "other", new(inTurn)
			c.Pools = append(c.Pools, &other)
		},
	} {
		sc := two(sim.Request{Prompt: 10, Output: 9}, sim.Request{Prompt: 10, Output: 9})
		j := newJournal()
		c := sc.config(j)
		c.Pools[0].Router, c.Unordered = new(inTurn), true
		change(&c)
		require.Equal(t, name == "", sim.Separated(run(t, c)), name)
		require.Len(t, j.tokens, 2)
		for _, tokens := range j.tokens {
			require.Len(t, tokens, 9, name)
		}
	}
}
