package routers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// TestNamesMakeRouters: every name in the list makes a router and says what it does. The error of any other name has
// the list.
func TestNamesMakeRouters(t *testing.T) {
	for _, name := range routers.Names() {
		r, err := routers.New(name, routers.DefaultArguments())
		require.NoError(t, err)
		assert.NotNil(t, r, name)
		assert.NotEmpty(t, routers.Does(name))
	}
	_, err := routers.New("fastest", routers.DefaultArguments())
	assert.EqualError(t, err, `policies: router "fastest" not found; valid names: `+strings.Join(routers.Names(), ", "))
}

// TestRoundRobinAndRandomObserveNoInstance, and all other routers do.
func TestRoundRobinAndRandomObserveNoInstance(t *testing.T) {
	var blind []string
	for _, name := range routers.Names() {
		if _, ok := testcluster.Must(routers.New(name, routers.DefaultArguments())).(sim.Blind); ok {
			blind = append(blind, name)
		}
	}
	assert.Equal(t, []string{"round-robin", "random"}, blind)
}

// TestRoutersRefuseWhatMakesNoSense, with the value.
func TestRoutersRefuseWhatMakesNoSense(t *testing.T) {
	for want, change := range map[string]func(*routers.Arguments){
		"staleness_s is -1":                       func(a *routers.Arguments) { a.Staleness = -sim.Second },
		"routing weights are all 0":               func(a *routers.Arguments) { a.Weights = routers.Weights{} },
		"routing weight kv is -2, must be from 0": func(a *routers.Arguments) { a.Weights.KV = -2 },
	} {
		a := routers.DefaultArguments()
		change(&a)
		_, err := routers.New("weighted", a)
		assert.ErrorContains(t, err, want)
	}
	a := routers.DefaultArguments()
	a.Prefix.MatchMin = 101
	_, err := routers.New("prefix-aware", a)
	assert.ErrorContains(t, err, "101 %")
	a = routers.DefaultArguments()
	a.Weights = routers.Weights{Queue: 1, KV: 1}
	_, err = routers.New("kv-aware", a)
	assert.ErrorContains(t, err, "tokens and prefix are 0 and 0")
}

// TestRoundRobinGoesOnWhenInstancesGo: it takes the next in order of ID, whichever are drained, and the first after the
// last.
func TestRoundRobinGoesOnWhenInstancesGo(t *testing.T) {
	two, four := testcluster.NewPool(2, new(routers.RoundRobin)), testcluster.NewPool(4, new(routers.RoundRobin))
	c, _ := testcluster.New(nil, nil, two, four)
	p := c.Pool(1)
	next := func() int32 { return p.Router.Route(0, &sim.Request{}, p).ID - 2 }
	assert.Equal(t, []int32{0, 1}, []int32{next(), next()})
	c.Drain(p.Replica(2))
	assert.Equal(t, []int32{3, 0, 1, 3}, []int32{next(), next(), next(), next()})
	assert.Equal(t, int32(0), next())
	c.Drain(p.Replica(0))
	assert.Equal(t, []int32{1, 3}, []int32{next(), next()})
	c.Drain(p.Replica(3))
	assert.Equal(t, []int32{1, 1}, []int32{next(), next()})
}

// TestFewestRequestsFirst: the third request goes to the instance whose request has ended.
func TestFewestRequestsFirst(t *testing.T) {
	w := testcluster.Watch(routers.LeastLoaded{})
	c, _ := testcluster.New(nil, []sim.Request{
		{Prompt: 1, Output: 30}, {Prompt: 1, Output: 2}, {Prompt: 1, Output: 1, Arrival: testcluster.At(5)},
	}, testcluster.NewPool(2, w))
	c.Run()
	assert.Equal(t, map[int32]int32{0: 0, 1: 1, 2: 1}, w.To)
}

// checked is a router that must do the same as a scan of the instances by a measure.
type checked struct {
	sim.Router
	t    *testing.T
	load func(in *sim.Instance, now sim.Time) int64
}

func (c checked) Route(now sim.Time, r *sim.Request, p *sim.Pool) *sim.Instance {
	best := p.Instance(0)
	for i := range p.Len() {
		if in := p.Instance(i); c.load(in, now) < c.load(best, now) {
			best = in
		}
	}
	in := c.Router.Route(now, r, p)
	require.Equal(c.t, best.ID, in.ID, "at %v", now)
	return in
}

// TestTheLeastLoadIsTheLeast: by each measure, in pools of sizes that do and do not divide by four, routers do what an
// obvious scan does; and so does a weighted one with a single weight.
func TestTheLeastLoadIsTheLeast(t *testing.T) {
	requests := func(in *sim.Instance, _ sim.Time) int64 { return int64(in.Load()) }
	tokens := func(in *sim.Instance, _ sim.Time) int64 { return in.PromptTokens() }
	blocks := func(in *sim.Instance, now sim.Time) int64 { return in.BlocksUsedAt(now) }
	weighted := func(w routers.Weights) sim.Router { return testcluster.Must(routers.NewWeighted(w, 0)) }
	for _, size := range []int{1, 3, 8, 13} {
		for i, one := range []checked{
			{routers.LeastLoaded{}, t, requests}, {routers.NewLeast(routers.Requests, 0), t, requests},
			{routers.NewLeast(routers.PromptTokens, 0), t, tokens}, {routers.NewLeast(routers.KVBlocks, 0), t, blocks},
			{weighted(routers.Weights{Queue: 2}), t, requests}, {weighted(routers.Weights{Tokens: 2}), t, tokens},
			{weighted(routers.Weights{KV: 2}), t, blocks},
			{testcluster.Must(routers.NewKVAware(routers.Weights{Tokens: 1}, 0)), t, tokens},
		} {
			c, e := testcluster.New(nil, testcluster.Various(400, float64(size)/8), testcluster.NewPool(size, one))
			c.Run()
			require.Equal(t, 400, e.Count(sim.Completed), "router %d, size %d", i, size)
		}
	}
}

// TestStaleLoads: what the router sent since its snapshot counts, what ended since does not.
func TestStaleLoads(t *testing.T) {
	for _, name := range []string{
		"least-loaded", "least-tokens", "least-kv", "session-affinity", "prefix-aware", "kv-aware", "weighted",
	} {
		a := routers.DefaultArguments()
		a.Staleness = 10 * sim.Second
		w := testcluster.Watch(testcluster.Must(routers.New(name, a)))
		requests := []sim.Request{
			{Prompt: 8, Output: 1, Arrival: 0}, {Prompt: 8, Output: 90, Arrival: 0},
			// Request 0 has ended, but the router does not know it.
			{Prompt: 8, Output: 90, Arrival: testcluster.At(5)}, {Prompt: 8, Output: 1, Arrival: testcluster.At(6)},
			// The snapshot is renewed: one request each.
			{Prompt: 8, Output: 1, Arrival: testcluster.At(11)}, {Prompt: 8, Output: 1, Arrival: testcluster.At(11)},
		}
		c, _ := testcluster.New(nil, requests, testcluster.NewPool(2, w))
		c.Run()
		for _, pair := range [][2]int32{{0, 1}, {2, 3}, {4, 5}} {
			assert.NotEqual(t, w.To[pair[0]], w.To[pair[1]], "%s: %v", name, w.To)
		}
	}
}

// TestStaleLoadsLookStale: between snapshots the router holds to what it saw although things have changed.
func TestStaleLoadsLookStale(t *testing.T) {
	for staleness, want := range map[sim.Duration]int32{0: 0, 4 * sim.Second: 1} {
		w := testcluster.Watch(routers.NewLeast(routers.Requests, staleness))
		c, _ := testcluster.New(nil, []sim.Request{
			{Prompt: 8, Output: 1}, {Prompt: 8, Output: 50}, {Prompt: 8, Output: 1}, // two on the first, for a second
			{Prompt: 8, Output: 1, Arrival: testcluster.At(3)},
		}, testcluster.NewPool(2, w))
		c.Run()
		assert.Equal(t, want, w.To[3], "staleness %v", staleness)
	}
}

// TestASnapshotIsOfTheInstancesThatTakeRequests: of three, the first is down when a request goes to the second, and the
// third when another comes. There are two either way, of which the first has nothing to do by then.
func TestASnapshotIsOfTheInstancesThatTakeRequests(t *testing.T) {
	router := testcluster.Watch(routers.NewLeast(routers.Requests, 1000*sim.Second))
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Controller = testcluster.Must(fleet.NewFailures([]fleet.Failure{
			{Instance: 0, At: testcluster.At(1), Down: 29 * sim.Second}, {Instance: 2, At: testcluster.At(35), Down: -1},
		}, []int{3}))
	}, []sim.Request{{Prompt: 8, Output: 90, Arrival: testcluster.At(5)},
		{Prompt: 8, Output: 1, Arrival: testcluster.At(40)}}, testcluster.NewPool(3, router))
	c.Run()
	assert.Equal(t, map[int32]int32{0: 1, 1: 0}, router.To)
}

// TestRoutersAllocateNothing: in steady state, with fresh and with stale loads.
func TestRoutersAllocateNothing(t *testing.T) {
	for _, name := range routers.Names() {
		for _, staleness := range []sim.Duration{0, sim.Second} {
			p, route := routeIn(t, name, 16, staleness)
			for range 32 {
				route()
			}
			assert.Zero(t, testing.AllocsPerRun(200, route), "%s, %v, %d instances", name, staleness, p.Len())
		}
	}
}

// routeIn returns a pool in which each instance has something to do, and what routes another request there.
func routeIn(t testing.TB, name string, size int, staleness sim.Duration) (*sim.Pool, func()) {
	a := routers.DefaultArguments()
	a.Staleness, a.Contents = staleness, new(sim.Contents)
	node := a.Contents.Add(0, 64)
	router := testcluster.Must(routers.New(name, a))
	spec := testcluster.NewPool(size, router)
	spec.PrefixCaching = true
	until := func(c *sim.Config) { c.Contents, c.Until = a.Contents, testcluster.At(20) }
	c, _ := testcluster.New(until, testcluster.Various(4*size, float64(size)), spec)
	c.Run()
	p := c.Pool(0)
	r, now := sim.Request{Prompt: 70, Output: 3, Content: node, Session: 1}, c.Now()
	return p, func() {
		r.ID++
		now = now.Add(sim.Millisecond)
		router.Route(now, &r, p)
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, name := range routers.Names() {
		for _, staleness := range []sim.Duration{0, sim.Second} {
			b.Run(fmt.Sprintf("%s/%v", name, staleness), func(b *testing.B) {
				_, route := routeIn(b, name, 256, staleness)
				b.ReportAllocs()
				for b.Loop() {
					route()
				}
			})
		}
	}
}

// TestWhatARouterHasSentCountsUntilItLooksAgain: requests come one by one, each after the one before has ended. A
// router that looks sees two idle instances each time and takes the first of equals; one that looked before the first
// request counts what it has sent since, and so sends requests to both in turn.
func TestWhatARouterHasSentCountsUntilItLooksAgain(t *testing.T) {
	const n = 20
	for name, with := range map[string]func(staleness sim.Duration) sim.Router{
		"least":        func(s sim.Duration) sim.Router { return routers.NewLeast(routers.Requests, s) },
		"tokens":       func(s sim.Duration) sim.Router { return routers.NewLeast(routers.PromptTokens, s) },
		"power of two": func(s sim.Duration) sim.Router { return routers.NewPowerOfTwo(1, s) },
		"weighted": func(s sim.Duration) sim.Router {
			return testcluster.Must(routers.NewWeighted(routers.Weights{Queue: 1}, s))
		},
		"weighted by tokens": func(s sim.Duration) sim.Router {
			return testcluster.Must(routers.NewWeighted(routers.Weights{Tokens: 1}, s))
		},
	} {
		for _, staleness := range []sim.Duration{0, 10_000 * sim.Second} {
			requests := make([]sim.Request, n)
			for i := range requests {
				requests[i] = sim.Request{Prompt: 8, Output: 2, Arrival: testcluster.At(int64(100 * i))}
			}
			watched := testcluster.Watch(with(staleness))
			c, _ := testcluster.New(nil, requests, testcluster.NewPool(2, watched))
			c.Run()
			for i := int32(0); i < n; i += 2 {
				if staleness > 0 {
					assert.NotEqual(t, watched.To[i], watched.To[i+1], "%s, request %d", name, i)
				} else if name != "power of two" {
					assert.Equal(t, []int32{0, 0}, []int32{watched.To[i], watched.To[i+1]}, name)
				}
			}
		}
	}
}
