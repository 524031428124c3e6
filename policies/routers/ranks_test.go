package routers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// ranksOf returns to which of three ranks requests with such arrivals go, each with so many tokens to emit.
func ranksOf(t *testing.T, name string, output int32, arrivals ...sim.Duration) []int32 {
	return ranksOfSessions(t, name, output, make([]int32, len(arrivals)), arrivals...)
}

// ranksOfSessions does so for requests of sessions; 0: of none.
func ranksOfSessions(t *testing.T, name string, output int32, sessions []int32, arrivals ...sim.Duration) []int32 {
	pool := testcluster.NewPool(1, routers.LeastLoaded{})
	balancer, err := routers.NewBalancer(name, 1)
	require.NoError(t, err)
	watched := testcluster.Watch(balancer())
	pool.Ranks, pool.Balancer = 3, func() sim.Router { return watched }
	var requests []sim.Request
	for i, at := range arrivals {
		requests = append(requests,
			sim.Request{Prompt: 4, Output: output, Arrival: sim.Time(0).Add(at), Session: sessions[i]})
	}
	c, log := testcluster.New(nil, requests, pool)
	c.Run()
	assert.Equal(t, len(arrivals), log.Count(sim.Completed))
	var to []int32
	for i := range arrivals {
		to = append(to, watched.To[int32(i)]-1) // the replica is 0
	}
	return to
}

// A burst goes to one rank after the other, whatever was known of them. Of equal ranks, the first one that is tried
// goes on by one with every request, so a single client does not always meet the same rank.
func TestVLLMSpreadsABurst(t *testing.T) {
	at := make([]sim.Duration, 7)
	assert.Equal(t, []int32{0, 1, 2, 0, 1, 2, 0}, ranksOf(t, "vllm", 3, at...))
	assert.Equal(t, []int32{0, 1, 2, 0}, ranksOf(t, "vllm", 1, 0, 10*sim.Second, 20*sim.Second, 30*sim.Second))
}

// TestBalancersOfSGLang: one after the other, or the fewest requests, the first of equals.
func TestBalancersOfSGLang(t *testing.T) {
	at := []sim.Duration{0, 10 * sim.Second, 20 * sim.Second, 30 * sim.Second}
	assert.Equal(t, []int32{0, 1, 2, 0}, ranksOf(t, "round_robin", 1, at...))
	assert.Equal(t, []int32{0, 0, 0, 0}, ranksOf(t, "total_requests", 1, at...))
	assert.Equal(t, []int32{0, 1, 2, 0}, ranksOf(t, "total_tokens", 9, make([]sim.Duration, 4)...))
	for _, name := range routers.BalancerNames() {
		assert.NotEmpty(t, routers.BalancerDoes(name))
	}
}

// TestASessionStaysWithItsRank: its later requests go where its first one went, to the rank with the fewest requests,
// whatever else came meanwhile. Requests of no session go to the fewest.
func TestASessionStaysWithItsRank(t *testing.T) {
	const s = sim.Second
	assert.Equal(t, []int32{0, 1, 2, 1, 0, 0, 0}, ranksOfSessions(t, "session_affinity", 1,
		[]int32{7, 8, 9, 8, 7, 0, 10}, 0, 0, 0, 10*s, 20*s, 30*s, 40*s))
	assert.Equal(t, []int32{0, 0, 0, 1, 2},
		ranksOfSessions(t, "session_affinity", 9, []int32{7, 7, 7, 8, 9}, make([]sim.Duration, 5)...))
}

// TestARoomIsTheSameOnBothSides: a request goes to one rank of as many in either pool, whatever else is there, and all
// ranks get about as many.
func TestARoomIsTheSameOnBothSides(t *testing.T) {
	prefill, decode, other := routers.NewBootstrapRoom(3), routers.NewBootstrapRoom(3), routers.NewBootstrapRoom(4)
	c, _ := testcluster.New(nil, nil, testcluster.NewPool(8, prefill))
	of := c.Pool(0)
	counts, same := make([]int, 8), 0
	for i := range int32(8000) {
		r := sim.Request{ID: i}
		to := prefill.Route(0, &r, of).ID
		r.Stage++
		assert.Equal(t, to, decode.Route(0, &r, of).ID)
		counts[to]++
		if other.Route(0, &r, of).ID == to {
			same++
		}
	}
	for rank, n := range counts {
		assert.InDelta(t, 1000, n, 150, "rank %d: five standard deviations", rank)
	}
	assert.InDelta(t, 1000, same, 150, "of another seed, as often as by chance")
}
