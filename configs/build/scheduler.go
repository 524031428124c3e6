package build

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// newScheduler returns what the pool's engine runs its steps by on a replica, or on each of its data-parallel ranks.
func newScheduler(s *configs.Scenario, p *configs.Pool, r *Replica) (sim.Scheduler, error) {
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return nil, s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
	}
	rules := engine.RulesOf(p.Version)
	var made interface {
		sim.Scheduler
		Validate() error
	}
	tokens, slots := int32(r.MaxNumBatchedTokens), int32(0)
	if slices.Contains(rules.DraftSlots, s.Speculation.Method) {
		slots = 1
	}
	if seqs := int32(p.MaxNumSeqs); rules.DraftSlotsReserved && slots > 0 {
		if tokens < 2*seqs {
			return nil, s.Errorf(s.PoolPath(p, "max_num_batched_tokens"), "%d; a draft model takes a token of it for each of "+
				"max_num_seqs, and a step must hold one more; expected at least %d", tokens, 2*seqs)
		}
		tokens, slots = tokens-seqs, 0
	}
	if err := refuseWaits(s, p); err != nil {
		return nil, err
	}
	switch engine.Scheduler {
	case catalog.SchedulerContinuous:
		made = &schedulers.Continuous{
			MaxNumSeqs: p.MaxNumSeqs, MaxNumBatchedTokens: tokens,
			LongPrefillTokenThreshold: int32(chunkMax(p)),
			SchedulerReserveFullISL:   p.SchedulerReserveFullISL, Unchunked: !p.EnableChunkedPrefill, Reserve: reserveOf(p),
			MaxModelLen: r.MaxModelLen,
			NoEvict:     p.CapacitySchedulerPolicy == catalog.NoEvict, WatermarkBlocks: watermarkBlocks(p, r),
			Victim: victimOf(p), SingleExempt: rules.SingleExempt, StopsAtSelf: rules.StopsAtSelf, DraftSlots: slots,
			BatchWaitIters: p.BatchWaitTimeoutIters, LoadsReserve: rules.LoadsReserve,
		}
	case catalog.SchedulerPrefillFirst:
		made = &schedulers.PrefillFirst{
			MaxNumSeqs: p.MaxNumSeqs, MaxNumBatchedTokens: tokens, WatermarkBlocks: watermarkBlocks(p, r),
			PrefillBelow: p.PrefillBelow,
			Preempt:      preemptionOf(p), Victim: victimOf(p),
		}
	case catalog.SchedulerSGLang:
		made = newSGLang(s, p, &engine, max(0, tokens))
	case catalog.SchedulerStatic:
		made = &schedulers.Static{MaxBatchSize: p.MaxNumSeqs, MaxNumBatchedTokens: tokens}
	default:
		return nil, s.Errorf(s.PoolPath(p, "engine"), "its scheduler %q is unknown; valid values: %s", engine.Scheduler,
			strict.Quoted(schedulers.Names()))
	}
	if err := made.Validate(); err != nil {
		return nil, s.Errorf(s.PoolPath(p, ""), "%s", strict.Message(err))
	}
	return made, nil
}

// refuseWaits refuses prompts that wait for others where TensorRT-LLM does something that is not modelled: chunks wait
// too.
func refuseWaits(s *configs.Scenario, p *configs.Pool) error {
	if n := p.BatchWaitTimeoutIters; n > 0 && p.EnableChunkedPrefill {
		return s.Errorf(s.PoolPath(p, "batch_wait_timeout_iters"), "%d with prompts in chunks is not modelled; accepted: 0, "+
			"or enable_chunked_prefill: false", n)
	}
	return nil
}

// chunkMax returns the longest chunk of one prompt in a step; 0: no limit.
func chunkMax(p *configs.Pool) int {
	if !p.EnableChunkedPrefill {
		return 0
	}
	return p.LongPrefillTokenThreshold
}

// newBalancer returns what makes the balancers of a pool's replicas, which pick the rank of a request; nil: replicas
// have one rank. SGLang's default is round_robin, but for pools of role prefill follow_bootstrap_room (0.5.23,
// sglang/srt/arg_groups/serving_hook.py, handle_load_balance_method); TensorRT-LLM gives a request to the rank with the
// fewest (unverified).
func newBalancer(s *configs.Scenario, p *configs.Pool) (func() sim.Router, error) {
	if p.DataParallel == 1 {
		if p.LoadBalanceMethod != "" {
			return nil, s.Errorf(s.PoolPath(p, "load_balance_method"), "%q has no ranks to choose from; "+
				"accepted: null, or data_parallel above 1", p.LoadBalanceMethod)
		}
		return nil, nil
	}
	name := p.LoadBalanceMethod
	switch {
	case name != "":
	case p.Engine == "sglang" && p.Role == configs.RolePrefill:
		name = "follow_bootstrap_room"
	case p.Engine == "sglang":
		name = "round_robin"
	case p.Engine == "tensorrt-llm":
		name = "total_requests"
	default:
		name = "vllm"
	}
	e, err := catalog.Engine(p.Engine)
	if err != nil {
		return nil, err
	}
	if name == "vllm" && e.RulesOf(p.Version).RanksByWaiting {
		return func() sim.Router { return &routers.VLLMRanks{ByWaiting: true} }, nil
	}
	balancer, err := routers.NewBalancer(name, s.Seed)
	if err != nil {
		return nil, s.Errorf(s.PoolPath(p, "load_balance_method"), "%s", strict.Message(err))
	}
	return balancer, nil
}

func reserveOf(p *configs.Pool) schedulers.Reserve {
	switch p.Reserve {
	case catalog.ReservePrompt:
		return schedulers.WholePrompt
	case catalog.ReserveMaxTokens:
		return schedulers.MaxOutput
	case catalog.ReserveMaxModelLen:
		return schedulers.MaxModelLen
	}
	return schedulers.AsComputed
}

// victimOf returns who is preempted: without an order of the queue, who comes last in it is who was admitted last.
func victimOf(p *configs.Pool) schedulers.Victim {
	if p.PreemptionVictim == catalog.VictimLastInOrder && p.QueueOrder != catalog.OrderFCFS {
		return schedulers.LastInOrder
	}
	return schedulers.LastAdmitted
}

func preemptionOf(p *configs.Pool) sim.Preemption {
	if p.PreemptionMode == catalog.PreemptSwap {
		return sim.Swap
	}
	return sim.Recompute
}

// watermarkBlocks returns how many blocks of a replica's rank admission leaves free: a share of all, those that the
// engine keeps back among them.
func watermarkBlocks(p *configs.Pool, r *Replica) int64 {
	return int64(p.Watermark * float64(r.CacheBlocks/int64(p.DataParallel)))
}

// newSGLang returns SGLang's scheduler. Its ratio of new tokens is an integer: what accumulates must not depend on the
// order of additions.
//
//	init = min(1, 0.7 · schedule_conservativeness), min = min_factor · init, decay = (init − min) / decay_steps per step
//
// With several ranks schedule_conservativeness counts less.
func newSGLang(s *configs.Scenario, p *configs.Pool, e *catalog.EngineSpec, chunk int32) *schedulers.SGLang {
	n, conservativeness := &e.NewTokens, p.ScheduleConservativeness
	if less := e.Special.RanksConservativeness; p.DataParallel > 1 && less > 0 {
		conservativeness *= less
	}
	init := schedulers.Ratio(min(1, n.Init*conservativeness))
	least := int64(math.Round(n.MinFactor * float64(init)))
	return &schedulers.SGLang{
		MaxRunningRequests: p.MaxNumSeqs, MaxPrefillTokens: int32(p.MaxPrefillTokens),
		ChunkedPrefillSize: chunk,
		EnableMixedChunk:   p.EnableMixedChunk, InitNewTokenRatio: init, MinNewTokenRatio: least,
		NewTokenRatioDecay: (init - least) / n.DecaySteps,
		ClipMaxNewTokens:   n.ClipMax, RetractDecodeSteps: n.RetractDecodeSteps,
		ByPriority:       p.RetractionPolicy == catalog.RetractPriority,
		Preemption:       p.QueueOrder == catalog.OrderPriority && !p.DisablePriorityPreemption && p.Prefills(),
		PreemptionMargin: int32(p.PreemptionThreshold),
		IgnoreEOS:        exact(&s.Workload), Order: schedulers.CacheOrderNamed(p.QueueOrder),
	}
}

// exact reports whether clients ask for exactly the tokens that they get, as benchmarks do with ignore_eos.
func exact(w *configs.Workload) bool {
	return w.MaxTokens == 0 && !slices.ContainsFunc(w.Classes, func(c configs.Class) bool { return c.MaxTokens > 0 })
}

// newOrder returns the order of the pool's queue; nil: first come, first served. An order by the prefix cache is the
// scheduler's own.
func newOrder(s *configs.Scenario, p *configs.Pool, r *Replica) (sim.Order, error) {
	if slices.Contains(schedulers.CacheOrderNames(), p.QueueOrder) {
		return nil, nil
	}
	ttft := ttftLimits(s)
	if undated := allZero(ttft); undated && (p.QueueOrder == "earliest-deadline" || p.QueueOrder == "least-laxity") {
		return nil, s.Errorf(s.PoolPath(p, "queue_order"),
			"%q goes by the time to the first token, and nobody asks for any; expected slo.ttft_ms, "+
				"or that of a class", p.QueueOrder)
	}
	order, err := schedulers.NewOrder(p.QueueOrder, schedulers.OrderArguments{
		Seed: s.Seed, Aging: sim.Seconds(p.AgingS), PredictionCV: p.PredictionCV, TTFT: ttft,
		PrefillPerToken: r.prefillPerToken(),
	})
	if err != nil {
		return nil, s.Errorf(s.PoolPath(p, "queue_order"), "%s", strict.Message(err))
	}
	return order, nil
}

func allZero(spans []sim.Duration) bool {
	for _, d := range spans {
		if d != 0 {
			return false
		}
	}
	return true
}

// prefillPerToken returns how long a prompt takes to read, by token: that of a prompt of 1024 tokens in a step of its
// own.
func (r *Replica) prefillPerToken() sim.Duration {
	const tokens = 1024
	var g sim.Segment
	r.Model.Price([]sim.Shape{{Prefills: 1, PrefillTokens: tokens, PrefillPairs: tokens * (tokens + 1) / 2,
		PrefillCtx: tokens, PrefillLongest: tokens, Outputs: 1}}, &g)
	return g.First / tokens
}
