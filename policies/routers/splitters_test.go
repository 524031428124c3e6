package routers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// TestNamesMakeSplitters: every name makes a splitter and says what it does. The error of any other has the list.
func TestNamesMakeSplitters(t *testing.T) {
	remote := routers.ByPrompt{Remote: 1}
	a := routers.SplitterArguments{Entries: []int{0, 1}, Weights: []float64{1, 2}, Classes: []int{1}, Prompt: remote}
	for _, name := range routers.SplitterNames() {
		s, err := routers.NewSplitter(name, a)
		require.NoError(t, err)
		assert.NotNil(t, s)
		assert.NotEmpty(t, routers.SplitterDoes(name))
		_, err = routers.NewSplitter(name, routers.SplitterArguments{Weights: []float64{1}, Prompt: remote})
		assert.Error(t, err, name)
	}
	_, err := routers.NewSplitter("half", a)
	assert.EqualError(t, err, `policies: splitter "half" not found; valid names: least-loaded, share, class, prompt`)
	for _, weights := range [][]float64{{-1, 2}, {0, 0}} {
		a.Weights = weights
		_, err = routers.NewSplitter("share", a)
		assert.ErrorContains(t, err, "share")
	}
}

// TestSharesAreTheirShares: of 20,000 requests a quarter, within five standard deviations of 61; and each request's
// route is its own.
func TestSharesAreTheirShares(t *testing.T) {
	s := testcluster.Must(routers.NewShares([]float64{1, 0, 3}, 2))
	n := [3]int{}
	for id := range int32(20_000) {
		route := s.Split(0, &sim.Request{ID: id}, nil)
		n[route]++
		assert.Equal(t, route, s.Split(7, &sim.Request{ID: id, Prompt: 3}, nil))
	}
	assert.InDelta(t, 5000, n[0], 5*61)
	assert.Zero(t, n[1])
}

// TestClassesHaveRoutes, and later ones that of the last.
func TestClassesHaveRoutes(t *testing.T) {
	s := routers.ByClass{2, 0}
	for class, want := range []int{2, 0, 0} {
		assert.Equal(t, want, s.Split(0, &sim.Request{Class: uint8(class)}, nil))
	}
}

// TestShortPromptsStayLocal: what the prefix cache of some instance of the local pool has does not count.
func TestShortPromptsStayLocal(t *testing.T) {
	tree := new(sim.Contents)
	other, node := tree.Add(0, 96), tree.Add(0, 96)
	p := testcluster.NewPool(3, new(routers.RoundRobin))
	p.PrefixCaching = true
	s := routers.ByPrompt{LocalBelow: 50, Pool: 0, Local: 1, Remote: 0}
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Contents = tree
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			known := 0
			if now > 0 {
				known = 1
			}
			assert.Equal(t, 1, s.Split(now, &sim.Request{Prompt: 49}, c))
			assert.Equal(t, 0, s.Split(now, &sim.Request{Prompt: 50}, c))
			assert.Equal(t, known, s.Split(now, &sim.Request{Prompt: 145, Content: node}, c))
			assert.Equal(t, 0, s.Split(now, &sim.Request{Prompt: 146, Content: node}, c))
			assert.Equal(t, known, s.Split(now, &sim.Request{Prompt: 145, Content: other}, c))
			assert.Equal(t, known, s.Split(now, &sim.Request{Prompt: 50, Content: node}, c))
			return now.Add(5 * sim.Second)
		}
	}, []sim.Request{{Prompt: 100, Output: 20, Content: other}, {Prompt: 100, Output: 20, Content: node}}, p)
	c.Run()
}

// TestTheLessLoadedRoute: by requests per instance, the first of equals, and never a route whose pool has no instance
// that takes requests while the other has one.
func TestTheLessLoadedRoute(t *testing.T) {
	routed, split := [2][]int32{}, routers.LeastLoadedRoute{0, 1}
	small, large := testcluster.NewPool(1, new(routers.RoundRobin)), testcluster.NewPool(3, new(routers.RoundRobin))
	c, e := testcluster.New(func(c *sim.Config) {
		c.Routes = []sim.Route{{{Pool: 0}}, {{Pool: 1}}}
		c.Splitter = splitting(func(now sim.Time, r *sim.Request, c *sim.Cluster) int {
			route := split.Split(now, r, c)
			routed[route] = append(routed[route], r.ID)
			return route
		})
		failure := fleet.Failure{At: testcluster.At(50), Down: -1}
		c.Controller = testcluster.Must(fleet.NewFailures([]fleet.Failure{failure}, []int{1, 3}))
	}, append(testcluster.Together(8, 0), testcluster.Together(2, testcluster.At(60))...), small, large)
	c.Run()
	assert.Equal(t, [2][]int32{{0, 4}, {1, 2, 3, 5, 6, 7, 8, 9}}, routed)
	assert.Equal(t, 10, e.Count(sim.Completed))
	assert.Equal(t, 1, routers.LeastLoadedRoute{0, 1}.Split(0, nil, c))
	assert.Equal(t, 0, routers.LeastLoadedRoute{1, 0}.Split(0, nil, c))
	c.Drain(c.Pool(1).Instance(0))
	c.Drain(c.Pool(1).Instance(0))
	c.Drain(c.Pool(1).Instance(0))
	assert.Zero(t, split.Split(0, nil, c), "the first, if neither takes requests")
}

type splitting func(now sim.Time, r *sim.Request, c *sim.Cluster) int

func (s splitting) Split(now sim.Time, r *sim.Request, c *sim.Cluster) int { return s(now, r, c) }

// TestAPoolOfOneInstanceIsARoute, whichever route is asked about first.
func TestAPoolOfOneInstanceIsARoute(t *testing.T) {
	busy := func(p *sim.PoolSpec) *sim.PoolSpec { p.Name = "busy"; return p }
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Routes, c.Until = []sim.Route{{{Pool: 1}}}, testcluster.At(3)
	}, testcluster.Together(4, 0), testcluster.NewPool(1, routers.LeastLoaded{}),
		busy(testcluster.NewPool(2, routers.LeastLoaded{})))
	c.Run()
	assert.Equal(t, 0, routers.LeastLoadedRoute{0, 1}.Split(0, nil, c), "it has no request")
	assert.Equal(t, 1, routers.LeastLoadedRoute{1, 0}.Split(0, nil, c))
}

// TestLoadsOfRoutesAreSharesOfTheirInstances: one request of two instances is less than one of one, and than two of
// three.
func TestLoadsOfRoutesAreSharesOfTheirInstances(t *testing.T) {
	named := func(name string, size int) *sim.PoolSpec {
		p := testcluster.NewPool(size, routers.LeastLoaded{})
		p.Name = name
		return p
	}
	routes := []int{0, 1, 2, 2}
	c, _ := testcluster.New(func(c *sim.Config) {
		c.Routes, c.Until = []sim.Route{{{Pool: 0}}, {{Pool: 1}}, {{Pool: 2}}}, testcluster.At(3)
		c.Splitter = splitting(func(_ sim.Time, r *sim.Request, _ *sim.Cluster) int { return routes[r.ID] })
	}, testcluster.Together(4, 0), named("one", 1), named("two", 2), named("three", 3))
	c.Run()
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}} {
		route := routers.LeastLoadedRoute(order).Split(0, nil, c)
		assert.Equal(t, 1, order[route], "%v", order)
	}
	assert.Equal(t, 0, routers.LeastLoadedRoute{2, 0}.Split(0, nil, c))
}

// TestARequestThatWasSentCountsOnce where loads are stale: with two requests in one of two instances, the other gets
// three more before both have as many and it is the first of equals.
func TestARequestThatWasSentCountsOnce(t *testing.T) {
	router := testcluster.Watch(routers.NewLeastLoaded(100 * sim.Second))
	requests := append(testcluster.Together(4, 0), testcluster.Together(1, testcluster.At(50))...)
	requests[0].Output, requests[2].Output = 1, 1
	requests = append(requests, testcluster.Together(5, testcluster.At(200))...)
	requests[1].Output, requests[3].Output, requests[4].Output = 300, 300, 1
	c, _ := testcluster.New(nil, requests, testcluster.NewPool(2, router))
	c.Run()
	var to []int32
	for i := range int32(5) {
		to = append(to, router.To[5+i])
	}
	assert.Equal(t, []int32{0, 0, 0, 1, 0}, to)
}
