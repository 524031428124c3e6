package main

import (
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// Pull is a prefill pool before the engine of a case: each prompt has an instance of its own, which takes PrefillNS
// for it. The engine pulls its cache, which takes LatencyNS and, of the bandwidth that all share, TokenNS per token.
type Pull struct {
	PrefillNS int64 `json:"prefill_ns"`
	LatencyNS int64 `json:"latency_ns"`
	TokenNS   int64 `json:"token_ns"`
}

// Transfer is when the cache of a request went through its states, ns.
type Transfer struct {
	Pending     int64 `json:"pending"`     // its prompt was complete
	Allocated   int64 `json:"allocated"`   // the engine had blocks for it
	Transferred int64 `json:"transferred"` // it had arrived
	Resumed     int64 `json:"resumed"`     // it was admitted to the batch
}

// behind puts a prefill pool before the engine, which is the only pool of cfg so far.
func (h *Pull) behind(cfg *sim.Config, c *Case) {
	engine := cfg.Pools[0]
	engine.RecomputeLastToken, engine.ConnectorLoads, engine.MaxNumSeqs = true, true, c.MaxNumSeqs
	engine.DefersFrees = c.Version != "0.22"
	prefill := &sim.PoolSpec{
		Name: "prefill", Size: len(c.Requests), KVBlocks: c.NumGPUBlocks, BlockSize: c.BlockSize,
		MaxModelLen: c.MaxModelLen, Router: &routers.RoundRobin{},
		Scheduler: &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: c.MaxModelLen, MaxModelLen: c.MaxModelLen},
		Model:     linear{sim.Duration(h.PrefillNS) * sim.Nanosecond, 0},
	}
	cfg.Pools = append(cfg.Pools, prefill)
	link := sim.Link{Latency: sim.Duration(h.LatencyNS) * sim.Nanosecond, Token: sim.Duration(h.TokenNS) * sim.Nanosecond}
	cfg.Routes = []sim.Route{{{Pool: 1, Cache: true, Link: link}, {Pool: 0}}}
}

// transferOf returns the times of the KV transfer of r.
func transferOf(r *sim.Request) Transfer {
	ns := func(t sim.Time) int64 { return int64(t) / int64(sim.Nanosecond) }
	return Transfer{ns(r.PendingTransfer), ns(r.Allocated), ns(r.Transferred), ns(r.Resumed)}
}

// Send is a decode pool behind the engine of a case, which computes prompts alone: each cache is pulled by an instance
// of its own, which takes LatencyNS.
type Send struct {
	LatencyNS int64 `json:"latency_ns"`
}

// before puts a decode pool behind the engine, which is the only pool of cfg so far.
func (h *Send) before(cfg *sim.Config, c *Case) {
	decode := &sim.PoolSpec{
		Name: "decode", Size: len(c.Requests), KVBlocks: c.NumGPUBlocks, BlockSize: c.BlockSize,
		MaxModelLen: c.MaxModelLen, Router: &routers.RoundRobin{}, RecomputeLastToken: true, ConnectorLoads: true,
		MaxNumSeqs: 1,
		Scheduler:  &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 1, MaxModelLen: c.MaxModelLen},
		Model:      linear{1000 * sim.Nanosecond, 0},
	}
	cfg.Pools = append(cfg.Pools, decode)
	link := sim.Link{Latency: sim.Duration(h.LatencyNS) * sim.Nanosecond}
	cfg.Routes = []sim.Route{{{Pool: 0, Cache: true, Link: link}, {Pool: 1}}}
}
