package small

import (
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// Config returns the scenario for the simulator. What is not drawn follows from what is, as in the tests of sim.
func (s *Scenario) Config(sink sim.Sink) sim.Config {
	all := list(s.Requests)
	c := sim.Config{Source: &all, Sink: sink, Contents: s.Tree}
	for i := range s.Pools {
		c.Pools = append(c.Pools, s.Pools[i].spec())
	}
	if len(s.Pools) > 1 {
		c.Routes = []sim.Route{{s.Hop(), {Pool: 1}}}
	}
	return c
}

// Hop returns the stage in the first pool.
func (s *Scenario) Hop() sim.Stage {
	return sim.Stage{Cache: true, Tokens: s.Tokens, Push: s.Push, Link: s.Link}
}

func (p *Pool) spec() *sim.PoolSpec {
	spec := &sim.PoolSpec{
		Name: "small", Size: 1, KVBlocks: p.Blocks, BlockSize: BlockSize, MaxModelLen: p.MaxLen,
		AsyncScheduling: p.Ahead, PrefixCaching: p.Caches, RadixCache: p.Radix, ConnectorLoads: p.Loads,
		RecomputeLastToken: p.Recomputes, Speculation: p.Speculation, Model: price{p.Step, p.Token},
		Scheduler: p.Scheduler, Router: routers.LeastLoaded{}, FillsQueue: p.Blocks%2 == 0, UnnamedFirst: p.Blocks%2 == 0,
		DefersFrees: p.Loads && p.Blocks/2%2 == 0, MaxNumSeqs: p.Seqs(),
	}
	spec.SwapBlocks = p.Host
	if p.ByPriority {
		spec.Order = schedulers.Priority{}
	}
	if p.Ahead && p.Seqs() == 0 && p.Blocks%3 == 0 {
		spec.RecvInterval = []int{2, 3, 10, 30}[p.Blocks/3%4]
	}
	if _, ok := p.Scheduler.(*schedulers.SGLang); ok && p.Seqs() > 0 {
		if r := Reserved(p.Blocks, p.Speculation == nil && !p.Caches); r.Restores || !p.queues() {
			spec.Reserved = r
		}
		spec.SwapBlocks = HostBlocks(p.Blocks, spec.Reserved, p.queues())
	}
	if p.queues() {
		spec.BatchQueue = 2
	}
	if _, ok := p.Scheduler.(*schedulers.Continuous); ok && p.Speculation != nil {
		spec.Drafter = sim.Drafter{DropsLast: p.MaxLen%3 == 0, Ahead: p.MaxLen % 3 % 2}
	}
	return spec
}

// Reserved returns what an SGLang pool of so many blocks leaves free that caches come to, and whether it restores what
// it retracts, if it can; as good as a draw.
func Reserved(blocks int64, canRestore bool) sim.Reserved {
	if blocks%4 == 0 {
		return sim.Reserved{}
	}
	return sim.Reserved{
		Tokens: []int32{1, 16, 200}[blocks%3], Most: []int32{1, 20, 4096}[blocks/3%3], Slots: int(blocks / 9 % 3),
		Restores: blocks%4 > 1 && canRestore,
	}
}

// HostBlocks returns how many blocks of host memory there are for what is restored; with queued batches, enough, or too
// few for most of it.
func HostBlocks(blocks int64, r sim.Reserved, queues bool) int64 {
	switch {
	case !r.Restores:
		return 0
	case queues && blocks%5 == 0:
		return blocks / 3
	case queues:
		return 1 << 40
	}
	return blocks * (1 + blocks%5)
}

// Seqs returns how many requests a pool that receives them has room for at once; 0: it has no such limit.
func (p *Pool) Seqs() int {
	switch s := p.Scheduler.(type) {
	case *schedulers.Continuous:
		if p.Receives {
			return s.MaxNumSeqs
		}
	case *schedulers.SGLang:
		if p.Receives {
			return s.MaxRunningRequests
		}
	}
	return 0
}

// queues reports whether steps wait behind the one under way.
func (p *Pool) queues() bool {
	if _, ok := p.Scheduler.(*schedulers.SGLang); ok {
		return p.Ahead && p.Speculation == nil && (p.Radix || !p.Caches) && (p.MaxLen+BlockSize)%4 > 0
	}
	c, ok := p.Scheduler.(*schedulers.Continuous)
	return p.Ahead && (p.MaxLen+BlockSize)%3 > 0 && !(ok && c.NoEvict)
}

// price is a step model: a step, and each token that it computes.
type price struct{ step, token sim.Duration }

// Price implements sim.StepModel.
func (p price) Price(ranks []sim.Shape, g *sim.Segment) {
	tokens := ranks[0].DecodeTokens + ranks[0].PrefillTokens
	*g = sim.Segment{First: p.step + p.token*sim.Duration(tokens), Steps: 1 << 30}
}

// list is a source of requests.
type list []sim.Request

// Next implements sim.Source.
func (l *list) Next(r *sim.Request) bool {
	if len(*l) == 0 {
		return false
	}
	*r, *l = (*l)[0], (*l)[1:]
	return true
}
