package build

import (
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// pool makes the i-th pool of the run, with its replica, and writes into the scenario what follows from that.
func (b *Built) pool(i int) (*sim.PoolSpec, error) {
	s, p := b.Scenario, &b.Scenario.Pools[i]
	r, err := ReplicaOf(s, i)
	if err != nil {
		return nil, err
	}
	b.Replicas = append(b.Replicas, r)
	p.MaxModelLen, p.MaxNumBatchedTokens = int(r.MaxModelLen), r.MaxNumBatchedTokens
	ranks := int64(p.DataParallel)
	pool := &sim.PoolSpec{
		Name: p.Name, Size: p.Replicas, SizeMax: p.ReplicasMax, Ranks: p.DataParallel,
		KVBlocks: r.KVBlocks / ranks, BlockSize: int32(p.BlockSize),
		MaxModelLen:    r.MaxModelLen,
		SequenceBlocks: r.Memory.SequenceBlocks, Windowed: r.Memory.Windowed, Passing: r.Memory.Passing,
		Windows: r.Deployment.Windows(), Model: r.Model,
		ColdStart: r.coldStart(p), StartsCold: p.StartsCold, AsyncScheduling: p.AsyncScheduling, PromptMax: r.PromptMax,
		SwapBlocks: r.SwapBlocks / ranks,
		Classes:    len(s.Workload.Classes),
	}
	if p.Enters() {
		pool.Tokenize = sim.Seconds(r.Deployment.Efficiency.TokenizeS)
	}
	if pool.Passing.Blocks > 0 {
		pool.Windowed = sim.Windowed{}
	}
	if schedulesStages(p) {
		d := r.Deployment
		d.Parallel.Microbatch = true
		pool.Stages = d.Stages()
		pool.Model = hardware.NewRoofline(d, min(p.SequencesMax(), tableMax))
	}
	pool.PrefixCaching, err = prefixCaching(s, r, p)
	if err != nil {
		return nil, err
	}
	p.EnablePrefixCaching, pool.OffloadBlocks = pool.PrefixCaching, r.offloadBlocks(p, pool.PrefixCaching)/ranks
	pool.NetworkReserved = uint64(math.Round(float64(p.NetworkReserved * sim.FullPort)))
	if err := r.tiers(s, p, pool); err != nil {
		return nil, err
	}
	pool.Noise, err = b.noisy(i)
	if err != nil {
		return nil, err
	}
	if err := decide(s, p, r, pool); err != nil {
		return nil, err
	}
	return pool, r.loadAside(s, p, pool)
}

// schedulesStages reports whether the microbatches of p's pipeline are scheduled: those of an engine that batches
// continuously are. Other engines, and ranks that are pipelines each, divide every batch evenly.
func schedulesStages(p *configs.Pool) bool {
	engine, err := catalog.Engine(p.Engine)
	return err == nil && engine.Scheduler == catalog.SchedulerContinuous && p.PipelineParallel > 1 && p.DataParallel == 1
}

// schedulesStagesAhead reports whether the asynchronous scheduler of p's engine is modelled where it has a pipeline:
// but for caches that it gets from elsewhere and, where it does not fill its queue, speculation.
func schedulesStagesAhead(p *configs.Pool, pool *sim.PoolSpec) bool {
	return pool.BatchQueue == 2 && p.Role != configs.RoleDecode && (pool.FillsQueue || pool.Speculation == nil)
}

// decide gives a pool the policies that run it; its router comes later, see fleet.
func decide(s *configs.Scenario, p *configs.Pool, r *Replica, pool *sim.PoolSpec) (err error) {
	pool.Scheduler, err = newScheduler(s, p, r)
	if err != nil {
		return err
	}
	pool.Balancer, err = newBalancer(s, p)
	if err != nil {
		return err
	}
	_, sglang := pool.Scheduler.(*schedulers.SGLang)
	pool.RadixCache = sglang && pool.PrefixCaching && pool.OffloadBlocks == 0 && p.Role == configs.RoleServe
	pool.Order, err = newOrder(s, p, r)
	if err != nil {
		return err
	}
	pool.Speculation, err = newSpeculation(s, p)
	if err != nil {
		return err
	}
	if err := setRules(s, p, pool); err != nil {
		return err
	}
	return setReceived(s, p, r, pool)
}

// compared reports whether a pool of SGLang is of a kind whose overlap scheduler has been compared with SGLang's.
func compared(p *configs.Pool, pool *sim.PoolSpec) bool {
	return p.Role == configs.RoleServe && pool.Speculation == nil && pool.OffloadBlocks == 0
}

// setRules gives a pool the rules of the release of its engine.
func setRules(s *configs.Scenario, p *configs.Pool, pool *sim.PoolSpec) error {
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
	}
	pool.AsyncScheduling = pool.AsyncScheduling && !engine.OnlyHidesHost
	rules := engine.RulesOf(p.Version)
	if _, sglang := pool.Scheduler.(*schedulers.SGLang); pool.AsyncScheduling && (!sglang || compared(p, pool)) {
		pool.BatchQueue = rules.BatchQueue
	}
	if n := p.SchedulerRecvInterval; n > 1 {
		if !pool.AsyncScheduling || p.DataParallel > 1 || p.Role != configs.RoleServe {
			return s.Errorf(s.PoolPath(p, "scheduler_recv_interval"),
				"%d is not modelled here; expected 1 or, in a pool of role serve without data_parallel, overlap_schedule", n)
		}
		pool.RecvInterval = n
	}
	pool.UnnamedFirst, pool.FillsQueue = rules.UnnamedFirst, rules.FillsQueue
	pool.RankTokenizers = rules.RankTokenizers
	if len(pool.Stages) > 1 && !schedulesStagesAhead(p, pool) {
		pool.AsyncScheduling, pool.BatchQueue = false, 0
	}
	pool.ConnectorLoads = rules.ConnectorLoads
	if p.Role == configs.RoleDecode {
		pool.DefersFrees = rules.DefersFrees
	}
	if v := pool.Speculation; v != nil {
		v.Uncapped, v.DelayedLookAhead, v.DelayedNames = rules.DraftsUncapped, rules.DelayedLookAhead, rules.DelayedNames
		v.Fills = rules.Fills && v.Adaptive == nil
		if slices.Contains(rules.LookAhead, s.Speculation.Method) {
			v.LookAhead = int32(s.Speculation.DraftsMax())
		}
		local := p.Role == configs.RoleServe && pool.OffloadBlocks == 0
		if local && slices.Contains(rules.HashedAhead, s.Speculation.Method) {
			pool.Drafter.Ahead = 1
		} else {
			pool.Drafter.DropsLast = slices.Contains(rules.DropsLast, s.Speculation.Method)
		}
	}
	return nil
}

// ingress returns how long requests take to the router, beside the tokenizers of instances: of the pools that they may
// come to, the longest.
func (b *Built) ingress() (d sim.Duration) {
	for i, r := range b.Replicas {
		if b.Scenario.Pools[i].Enters() {
			d = max(d, sim.Seconds(r.Deployment.Efficiency.FirstTokenS))
		}
	}
	stream := b.Scenario.Stream.View()
	return d + stream.Up()
}

// tightest returns the pool that takes the shortest sequences, and its index.
func (b *Built) tightest() (least int) {
	for i, r := range b.Replicas {
		if r.MaxModelLen < b.Replicas[least].MaxModelLen {
			least = i
		}
	}
	return least
}

// longest returns how long a sequence may be in every pool, and what the engine of the tightest one rejects.
func (b *Built) longest() (tokens int32, rejected string) {
	i := b.tightest()
	return b.Replicas[i].MaxModelLen, rejectedFor(b.Scenario, &b.Scenario.Pools[i], b.Replicas[i])
}

// gpuNames returns the accelerators of all pools, each once.
func (b *Built) gpuNames() string {
	var names []string
	for i := range b.Scenario.Pools {
		if name := b.Scenario.Pools[i].GPU.Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " + ")
}

// unpriced returns the accelerators that have no price.
func unpriced(replicas []*Replica) (names []string) {
	for _, r := range replicas {
		if gpu := &r.Deployment.GPU; !gpu.Price.Known() && !slices.Contains(names, gpu.Name) {
			names = append(names, gpu.Name)
		}
	}
	return names
}
