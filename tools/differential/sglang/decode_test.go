package sglang

import (
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// decodeSide says what comes to the engine of a case that is a decode worker: the cache of a prompt, with its first
// token, LatencyNS and TokenNS for each of its tokens after there has been room for it.
type decodeSide struct {
	LatencyNS  int64 `json:"latency_ns"`
	TokenNS    int64 `json:"token_ns"`
	Reserved   int32 `json:"reserved"`
	ExtraSlots int   `json:"extra_slots"`
}

// behind puts a prefill pool before the engine, which is the only pool of cfg so far: each prompt has an instance of
// its own.
func (d *decodeSide) behind(cfg *sim.Config, c *testCase) {
	engine := cfg.Pools[0]
	engine.MaxNumSeqs = c.MaxRunningRequests
	engine.Reserved = sim.Reserved{Tokens: d.Reserved, Most: 4096, Slots: d.ExtraSlots, Restores: true}
	engine.SwapBlocks = 1 << 40
	prefill := &sim.PoolSpec{
		Name: "prefill", Size: len(c.Requests), KVBlocks: c.NumPages, BlockSize: c.PageSize, MaxModelLen: c.Context,
		Scheduler: &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: c.Context, MaxModelLen: c.Context},
		Model:     linear{sim.Duration(d.LatencyNS * 1000), sim.Duration(d.TokenNS * 1000)}, Router: &routers.RoundRobin{},
	}
	cfg.Pools = append(cfg.Pools, prefill)
	cfg.Routes = []sim.Route{{{Pool: 1, Cache: true, Push: true, Link: sim.Link{Layers: 1}}, {Pool: 0}}}
}
