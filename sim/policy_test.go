package sim_test

import (
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// drawPolicy draws one of the policies with arguments that often bind. The requests may be as long as sc says.
func drawPolicy(t *rapid.T, sc *scenario, prompt int32) {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	maxNumSeqs := one("max_num_seqs", 1, 2, 4, 16, 64, 256)
	if sc.crowded {
		maxNumSeqs = max(4, maxNumSeqs)
	}
	wide := max(maxNumSeqs, one("max_num_batched_tokens", 64, 256, 2048, 8192),
		one("longest prompt", 1, prompt, prompt, sc.maxLen))
	switch rapid.SampledFrom([]string{"continuous", "continuous", "reserving", "prefill-first", "prefill-first", "sglang",
		"sglang", "static"}).Draw(t, "policy") {
	case "continuous":
		sc.policy = &schedulers.Continuous{
			MaxNumSeqs: int(maxNumSeqs), MaxNumBatchedTokens: max(maxNumSeqs,
				one("max_num_batched_tokens", 4, 8, 16, 64, 256, 2048, 8192)),
			LongPrefillTokenThreshold: one("threshold", 0, 0, 3, 32, 100),
			SchedulerReserveFullISL:   rapid.Bool().Draw(t, "full_isl"),
			SingleExempt:              sc.maxLen%2 == 0, MaxModelLen: sc.maxLen,
			WatermarkBlocks: drawWatermark(t, sc), Victim: drawVictim(t), StopsAtSelf: sc.blocks%2 == 0,
			LoadsReserve: sc.blocks%3 > 0,
		}
	case "reserving":
		p := &schedulers.Continuous{
			MaxNumSeqs: int(maxNumSeqs), MaxNumBatchedTokens: wide,
			LongPrefillTokenThreshold: one("threshold", 0, 0, 32), WatermarkBlocks: drawWatermark(t, sc), Victim: drawVictim(t),
			Reserve: rapid.SampledFrom([]schedulers.Reserve{schedulers.AsComputed, schedulers.WholePrompt,
				schedulers.MaxOutput, schedulers.MaxModelLen}).Draw(t, "reserve"),
			MaxModelLen: sc.maxLen, NoEvict: rapid.Bool().Draw(t, "no_evict"), Unchunked: rapid.Bool().Draw(t, "unchunked"),
		}
		if p.Unchunked {
			sc.promptMax, p.BatchWaitIters = p.MaxNumBatchedTokens, int(one("batch_wait_timeout_iters", 0, 1, 3, 20))
		}
		sc.policy, sc.anonymous = p, p.Reserve == schedulers.MaxOutput || p.Reserve == schedulers.MaxModelLen
	case "prefill-first":
		p := &schedulers.PrefillFirst{
			MaxNumSeqs: int(maxNumSeqs), MaxNumBatchedTokens: wide,
			WatermarkBlocks: drawWatermark(t, sc), PrefillBelow: int(one("prefill_below", 0, 0, 0, 1, 3, 20)),
			Preempt: rapid.SampledFrom([]sim.Preemption{sim.Recompute, sim.Swap, sim.Swap}).Draw(t, "preempt"),
			Victim:  drawVictim(t),
		}
		sc.promptMax = p.MaxNumBatchedTokens
		if p.Preempt == sim.Swap {
			sc.swapBlocks = rapid.SampledFrom([]int64{0, sc.blocks / 4, sc.blocks, 10 * sc.blocks}).Draw(t, "swap_blocks")
			sc.anonymous = true
		}
		sc.policy = p
	case "sglang":
		drawSGLang(t, sc, int(maxNumSeqs))
	case "static":
		sc.policy = &schedulers.Static{MaxBatchSize: int(maxNumSeqs),
			MaxNumBatchedTokens: max(maxNumSeqs, one("max_num_batched_tokens", 4, 64, 256, 2048, 8192))}
		sc.anonymous = true
	}
	if rapid.IntRange(0, 9).Draw(t, "prompt_max") == 0 {
		sc.promptMax = min(max(1, sc.promptMax), one("longest prompt", 1, 30, 1000))
	}
	if p, ok := sc.policy.(*schedulers.SGLang); !ok || p.Order == schedulers.FCFS {
		sc.order = drawOrder(t)
	}
}

func drawSGLang(t *rapid.T, sc *scenario, maxNumSeqs int) {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	p := &schedulers.SGLang{
		MaxRunningRequests: maxNumSeqs, MaxPrefillTokens: one("max_prefill_tokens", 8, 64, 256, 2048, 16384),
		ChunkedPrefillSize: one("chunked_prefill_size", 0, 4, 16, 64, 256, 2048),
		EnableMixedChunk:   rapid.Bool().Draw(t, "mixed"),
		InitNewTokenRatio:  schedulers.Ratio(rapid.SampledFrom([]float64{0, .1, .7, 1}).Draw(t, "init_ratio")),
		ClipMaxNewTokens:   one("clip", 1, 30, 4096),
		RetractDecodeSteps: one("retract_steps", 1, 5, 20),
		Order: rapid.SampledFrom([]schedulers.CacheOrder{schedulers.FCFS, schedulers.LPM,
			schedulers.DFSWeight}).Draw(t, "schedule_policy"),
	}
	p.MinNewTokenRatio = p.InitNewTokenRatio / int64(one("min_ratio", 1, 5, 1000))
	p.NewTokenRatioDecay = (p.InitNewTokenRatio - p.MinNewTokenRatio) / int64(one("decay_steps", 1, 7, 600))
	p.IgnoreEOS = p.RetractDecodeSteps == 5 // as good as a draw
	p.ByPriority = sc.blocks%2 == 0         // as good as a draw
	if p.ChunkedPrefillSize > 0 {
		p.ChunkedPrefillSize = max(p.ChunkedPrefillSize, sc.blockSize)
	}
	sc.policy = p
}

// drawSpeculation draws drafts in a third of the cases: none, few, more than fit, by batch size; accepted never, always
// and between.
func drawSpeculation(t *rapid.T, sc *scenario) {
	if _, ok := sc.policy.(*schedulers.Static); ok || rapid.IntRange(0, 2).Draw(t, "speculation") > 0 {
		return
	}
	drafts := rapid.Int32Range(0, 7)
	s := &sim.Speculation{Tokens: drafts.Draw(t, "num_speculative_tokens"), Uncapped: sc.blocks%3 == 0 && !noEvict(sc)}
	if rapid.IntRange(0, 2).Draw(t, "adaptive") == 0 {
		upTo := 0
		for range rapid.IntRange(1, 3).Draw(t, "rows") {
			upTo += rapid.SampledFrom([]int{1, 2, 5, 20}).Draw(t, "decodes")
			s.Adaptive = append(s.Adaptive, sim.DraftRow{Decodes: upTo, Tokens: drafts.Draw(t, "drafts")})
		}
	}
	rate := rapid.SampledFrom([]float64{0, .3, .6, .9, 1})
	if p, ok := sc.policy.(*schedulers.Continuous); ok && !p.NoEvict {
		even := sc.maxLen%2 == 0 // as good as a draw, like the others
		s.LookAhead = []int32{0, s.Tokens, 9}[sc.blocks%3]
		s.DelayedLookAhead, s.DelayedNames = even, even
		s.Fills = s.Adaptive == nil && (sc.maxLen+sc.blockSize)%5 > 1
		p.DraftSlots = min(int32(sc.blocks/3%3), p.MaxNumBatchedTokens-1) / 2
		if p.Unchunked { // a longer prompt would wait forever
			sc.promptMax = min(sc.promptMax, p.MaxNumBatchedTokens-p.DraftSlots)
		}
	}
	s.Acceptance = random{rapid.Uint64().Draw(t, "acceptance seed"), rapid.SliceOfN(rate, 1, 3).Draw(t, "rates")}
	sc.speculation = s
}

func noEvict(sc *scenario) bool {
	p, ok := sc.policy.(*schedulers.Continuous)
	return ok && p.NoEvict
}

func drawWatermark(t *rapid.T, sc *scenario) int64 {
	return rapid.SampledFrom([]int64{0, 0, 1, sc.blocks / 100, sc.blocks / 5}).Draw(t, "watermark")
}

func drawVictim(t *rapid.T) schedulers.Victim {
	return rapid.SampledFrom([]schedulers.Victim{schedulers.LastAdmitted, schedulers.LastInOrder}).Draw(t, "victim")
}

// shuffled is an order with ties that no user would want.
type shuffled struct{}

func (shuffled) Key(r *sim.Request) int64 { return int64(uint32(r.ID)*2654435761) % 7 }

func drawOrder(t *rapid.T) sim.Order {
	return rapid.SampledFrom([]sim.Order{
		nil, nil, nil, shuffled{}, schedulers.Priority{}, schedulers.ShortestJob{}, schedulers.Aging{Step: sim.Second},
		schedulers.EarliestDeadline{TTFT: []sim.Duration{0, sim.Second, 10 * sim.Second}},
	}).Draw(t, "order")
}

// freshPolicy returns a copy of the scenario's policy, for one may keep what it has seen.
func (sc *scenario) freshPolicy() sim.Scheduler {
	switch p := sc.policy.(type) {
	case *schedulers.Continuous:
		fresh := *p
		return &fresh
	case *schedulers.PrefillFirst:
		fresh := *p
		return &fresh
	case *schedulers.SGLang:
		fresh := *p
		return &fresh
	case *schedulers.Static:
		fresh := *p
		return &fresh
	}
	return sc.policy
}
