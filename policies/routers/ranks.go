package routers

import (
	"github.com/decodesim/decodesim/policies/internal/named"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// balancers is what picks the data-parallel rank of a request within a replica.
func balancers() named.List[uint64, func() sim.Router] {
	of := func(router func() sim.Router) func(uint64) (func() sim.Router, error) {
		return func(uint64) (func() sim.Router, error) { return router, nil }
	}
	return named.List[uint64, func() sim.Router]{
		{Name: "vllm", Does: "the rank with the least load that vLLM's client knows of, the later ones of equals in turn",
			New: of(func() sim.Router { return new(VLLMRanks) })},
		{Name: "round_robin", Does: "one rank after the other",
			New: of(func() sim.Router { return new(RoundRobin) })},
		{Name: "total_requests", Does: "the rank with the fewest requests",
			New: of(func() sim.Router { return LeastLoaded{} })},
		{Name: "total_tokens", Does: "the rank with the fewest prompt tokens",
			New: of(func() sim.Router { return NewLeast(PromptTokens, 0) })},
		{Name: "follow_bootstrap_room", Does: "any rank, by a number that the router in front draws for the request",
			New: func(seed uint64) (func() sim.Router, error) {
				return func() sim.Router { return NewBootstrapRoom(seed) }, nil
			}},
		{Name: "session_affinity", Does: "the rank that had the session before, else that with the fewest requests, as " +
			"routers that name a rank in X-data-parallel-rank can",
			New: of(func() sim.Router { return NewSessionAffinity(0) })},
	}
}

// BalancerNames returns the names of all balancers.
func BalancerNames() []string { return balancers().Names() }

// BalancerDoes returns in a few words what the balancer called name does.
func BalancerDoes(name string) string { return balancers().Does(name) }

// NewBalancer returns what makes the balancer called name in the run with a seed; each replica needs one of its own.
func NewBalancer(name string, seed uint64) (func() sim.Router, error) {
	return balancers().New("load_balance_method", name, seed)
}

// statsEvery is how long at least vLLM's coordinator waits before it tells clients the loads of ranks again (vLLM
// 0.33.0, vllm/v1/engine/coordinator.py, min_stats_update_interval_ms).
const statsEvery = 100 * sim.Millisecond

// VLLMRanks picks the rank as vLLM's client does, where there is one API server (vLLM 0.33.0,
// vllm/v1/engine/core_client.py, DPLBAsyncMPClient.get_core_engine_for_request). The least score counts, of
//
//	max(requests of the client, waiting + running) + waiting · 6 · max(0, usage − ½)
//
// and of equal ones the first after a rank that goes on by one with each request. The client knows its own requests
// exactly. Waiting and running requests, and the usage of the KV cache, are those of the latest statistics, at least
// 100 ms apart; a request that it has sent since counts as waiting. Here the statistics are taken when the first
// request comes after that time. ByWaiting is the score of vLLM 0.22, 4 · waiting + running, of equal ones the first.
type VLLMRanks struct {
	ByWaiting bool

	start            int
	taken            sim.Time // when the statistics were
	waiting, running []int64
	pressure         []int64 // 3 · max(0, 2·used − all) blocks
}

var _ sim.Router = (*VLLMRanks)(nil)

// Route implements sim.Router.
func (v *VLLMRanks) Route(now sim.Time, _ *sim.Request, pool *sim.Pool) *sim.Instance {
	n := pool.Len()
	if len(v.waiting) != n || now >= v.taken.Add(statsEvery) {
		v.observe(now, pool)
	}
	best, least := 0, int64(-1)
	for i := range n {
		k := (v.start + i) % n
		// Everything times the blocks of a cache, so that scores are integers.
		score := max(int64(pool.Outstanding()[k]), v.waiting[k]+v.running[k])*pool.KVBlocks + v.waiting[k]*v.pressure[k]
		if v.ByWaiting {
			score = 4*v.waiting[k] + v.running[k]
		}
		if least < 0 || score < least {
			best, least = k, score
		}
	}
	v.waiting[best]++
	if !v.ByWaiting {
		v.start = (v.start + 1) % n
	}
	return pool.Instance(best)
}

// observe takes statistics.
func (v *VLLMRanks) observe(now sim.Time, pool *sim.Pool) {
	v.taken = now
	v.waiting, v.running, v.pressure = v.waiting[:0], v.running[:0], v.pressure[:0]
	for i := range pool.Len() {
		in := pool.Instance(i)
		v.waiting, v.running = append(v.waiting, int64(in.Queued())), append(v.running, int64(in.Running()))
		v.pressure = append(v.pressure, 3*max(0, 2*in.BlocksUsedAt(now)-pool.KVBlocks))
	}
}

// BootstrapRoom picks the rank as SGLang does where prompts and outputs have pools of their own: by the number of the
// room in which both sides meet, modulo the ranks (sglang 0.5.23, srt/managers/data_parallel_controller.py,
// follow_bootstrap_room_scheduler). The router in front draws it for each request, so any rank is as likely as another,
// however busy it is, and pools of as many ranks serve a request on the same one.
type BootstrapRoom struct{ draws *rng.Keyed }

var _ sim.Router = (*BootstrapRoom)(nil)

// NewBootstrapRoom returns the balancer with the rooms of a seed.
func NewBootstrapRoom(seed uint64) *BootstrapRoom {
	return &BootstrapRoom{rng.NewKeyed(seed, "policies.bootstrap-room")}
}

// Route implements sim.Router.
func (b *BootstrapRoom) Route(_ sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	return pool.Instance(b.draws.At(uint64(r.ID), 0).IntN(pool.Len()))
}
