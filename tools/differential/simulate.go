package main

import (
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// Simulate runs a case on decodesim: step by step, to observe what is composed, and then with runs of steps.
func Simulate(c *Case) (*Result, error) {
	single, steps, err := c.run(true)
	if err != nil {
		return nil, err
	}
	runs, _, err := c.run(false)
	if err != nil {
		return nil, err
	}
	return &Result{Steps: steps, Tokens: single.tokens, Runs: runs.tokens, Cached: single.cached,
		Transfers: single.transfers}, nil
}

func (c *Case) run(stepwise bool) (*diary, []Step, error) {
	inner := c.scheduler()
	w := &watched{Continuous: inner, of: map[int32]*composed{}}
	pool := c.pool()
	pool.Scheduler = inner
	tree := &sim.Contents{}
	for _, n := range c.Contents {
		tree.Add(n[0], n[1])
	}
	d := &diary{tokens: map[int32][]int64{}, cached: map[int32]int32{}}
	cfg := sim.Config{Source: &queries{list: c.Requests}, Sink: d, Pools: []*sim.PoolSpec{pool}, Contents: tree,
		TraceEvery: 1}
	if c.Pull != nil {
		c.Pull.behind(&cfg, c)
		d.transfers = map[int32]Transfer{}
	}
	if c.Send != nil {
		c.Send.before(&cfg, c)
		d.sends = true
	}
	if stepwise {
		pool.Scheduler, d.watched, cfg.MaxRun = w, w, 1
	}
	cl, err := sim.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	cl.Run()
	return d, w.all(), nil
}

// scheduler returns vLLM's scheduler with the arguments of the case.
func (c *Case) scheduler() *schedulers.Continuous {
	yes := func(b *bool) bool { return b == nil || *b }
	p := &schedulers.Continuous{
		MaxNumSeqs: c.MaxNumSeqs, MaxNumBatchedTokens: c.MaxNumBatchedTokens, LongPrefillTokenThreshold: c.Threshold,
		SchedulerReserveFullISL: yes(c.FullISL), Unchunked: !yes(c.Chunked), MaxModelLen: c.MaxModelLen,
		WatermarkBlocks: int64(c.Watermark * float64(c.NumGPUBlocks)),
	}
	if c.Priority {
		p.Victim = schedulers.LastInOrder
	}
	p.SingleExempt, p.StopsAtSelf, p.LoadsReserve = c.Version != "0.22", c.Version == "0.22", c.Version != "0.22"
	switch {
	case c.SpecMethod != "draft_model":
	case c.Version == "0.22":
		p.MaxNumBatchedTokens -= int32(c.MaxNumSeqs)
	default:
		p.DraftSlots = 1
	}
	return p
}

func (c *Case) pool() *sim.PoolSpec {
	p := &sim.PoolSpec{
		Name: "vllm", Size: 1, KVBlocks: c.NumGPUBlocks - 1, BlockSize: c.BlockSize, MaxModelLen: c.MaxModelLen,
		PrefixCaching: c.PrefixCaching, AsyncScheduling: c.Async, Stages: c.Stages, Router: &routers.RoundRobin{},
		Model: linear{sim.Duration(c.StepNS) * sim.Nanosecond, sim.Duration(c.TokenNS) * sim.Nanosecond},
	}
	if c.Async {
		p.BatchQueue = 2
	}
	if c.Ranks > 1 {
		p.Ranks, p.Balancer = c.Ranks, func() sim.Router { return &routers.RoundRobin{} }
	}
	if c.WindowGroups > 0 {
		p.Passing = sim.Passing{Blocks: c.WindowGroups, Window: c.Window, TokensMax: c.MaxNumBatchedTokens}
		if batches := c.batches(); c.Version != "0.22" && batches > 1 {
			p.Passing.TokensMax, p.Passing.Lags = batches*c.MaxNumBatchedTokens, true
		}
	}
	if c.Priority {
		p.Order = schedulers.Priority{}
	}
	p.FillsQueue = c.Version != "0.22"
	p.UnnamedFirst = c.Version != "0.22"
	if c.Spec > 0 {
		p.Speculation = &sim.Speculation{Tokens: c.Spec, Acceptance: alike{c.Spec}, Uncapped: true,
			DelayedLookAhead: c.Version == "0.22", DelayedNames: c.Version == "0.22", Fills: c.Version != "0.22"}
		if c.SpecMethod != "ngram" {
			p.Speculation.LookAhead = c.Spec
		}
		if c.SpecMethod == "eagle" && c.Version == "0.22" {
			p.Drafter.DropsLast = true
		} else if c.SpecMethod == "eagle" {
			p.Drafter.Ahead = 1
		}
	}
	return p
}

// batches returns how many steps vLLM may have under way (VllmConfig.max_concurrent_batches, 0.33).
func (c *Case) batches() int32 {
	n := int32(max(1, len(c.Stages)))
	if c.Async {
		n++
	}
	return n
}

// linear prices a step by its tokens, of several ranks by those of the rank that has most.
type linear struct{ step, token sim.Duration }

// Price implements sim.StepModel.
func (l linear) Price(ranks []sim.Shape, g *sim.Segment) {
	var most int64
	for i := range ranks {
		most = max(most, ranks[i].DecodeTokens+ranks[i].PrefillTokens)
	}
	*g = sim.Segment{First: l.step + l.token*sim.Duration(most), Steps: 1 << 30}
	g.Part[sim.Overhead] = sim.Affine{A: g.First}
}

// queries yields the requests of a case.
type queries struct {
	list []Query
	n    int
}

// Next implements sim.Source.
func (s *queries) Next(r *sim.Request) bool {
	if s.n == len(s.list) {
		return false
	}
	q := &s.list[s.n]
	s.n++
	*r = sim.Request{ID: q.ID, Arrival: sim.Time(q.Arrival) * sim.Time(sim.Nanosecond), Prompt: q.Prompt,
		Output: q.Output, MaxOutput: q.MaxOutput, Content: q.Content, Priority: q.Priority, OutputContent: q.Answer}
	return true
}

// alike accepts as many drafts as the other side does: by a hash that both can compute.
type alike struct{ drafts int32 }

// Verify implements sim.Acceptance.
func (a alike) Verify(batch []sim.Draft) {
	for i := range batch {
		d := &batch[i]
		x := uint32(uint64(d.Request)*2654435761 + uint64(d.Position)*40503 + 12345)
		x ^= x >> 15
		x *= 2246822519
		x ^= x >> 13
		d.Accepted = min(int32(x%uint32(a.drafts+1)), d.Drafts)
	}
}
