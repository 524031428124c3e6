package configs

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/schedulers"
)

// checkArguments refuses what the engine of the pool has no argument for, in its own words.
func (p *Pool) checkArguments(c *checker, path string, e *catalog.EngineSpec) {
	p.checkVersion(c, path, e)
	p.checkTokens(c, path, e)
	p.checkOrder(c, path, e)
	p.checkPreemption(c, path, e)
	p.checkMemory(c, path)
	p.checkPages(c, path, e)
	p.checkLaunch(c, path)
	p.checkLoRA(c, path)
}

// checkVersion refuses releases whose rules the engine does not know.
func (p *Pool) checkVersion(c *checker, path string, e *catalog.EngineSpec) {
	if names := e.VersionNames(); len(names) > 0 && !slices.Contains(names, string(p.Version)) {
		c.fail(path+".version", "the rules of release %s are not known; expected one of %s", p.Version,
			strict.Quoted(names))
	}
}

// checkTokens refuses steps that are too short. Absent tokens follow the longest sequence, which is known with the
// model.
func (p *Pool) checkTokens(c *checker, path string, e *catalog.EngineSpec) {
	tokens := path + ".max_num_batched_tokens"
	switch {
	case e.Scheduler == catalog.SchedulerSGLang && p.MaxNumBatchedTokens == -1:
	case e.Scheduler == catalog.SchedulerSGLang && (p.MaxNumBatchedTokens < 1 || p.MaxNumBatchedTokens > 1<<30):
		c.fail(tokens, "%d is out of range; expected a whole number from 1 to %d, or -1 for prompts that run whole",
			p.MaxNumBatchedTokens, 1<<30)
	case p.MaxNumBatchedTokens == 0 && !c.origins.given(tokens) && followsLength(e, p):
	default:
		c.count(tokens, int64(p.MaxNumBatchedTokens), 1<<30)
		if p.MaxNumBatchedTokens < p.MaxNumSeqs && e.Scheduler != catalog.SchedulerSGLang {
			c.fail(tokens, "%d is below %s, %d; a step must hold a token of each sequence", p.MaxNumBatchedTokens,
				c.origins.name(path+".max_num_seqs"), p.MaxNumSeqs)
		}
	}
}

// checkOrder refuses orders that the engine has no queue for, and those that lack what they go by.
func (p *Pool) checkOrder(c *checker, path string, e *catalog.EngineSpec) {
	order := path + ".queue_order"
	c.oneOf(order, p.QueueOrder, e.Orders())
	if contains(schedulers.CacheOrderNames(), p.QueueOrder) && !p.EnablePrefixCaching {
		c.fail(order, "%q goes by the prefix cache; expected another order, or %s true", p.QueueOrder,
			c.origins.name(path+".enable_prefix_caching"))
	}
	if p.RetractionPolicy == catalog.RetractPriority && p.QueueOrder != catalog.OrderPriority {
		c.fail(path+".retraction_policy", "%q needs %s %s; it is %s", p.RetractionPolicy, c.origins.name(order),
			catalog.OrderPriority, p.QueueOrder)
	}
	for _, of := range []struct {
		key, order, example string
		value               float64
		above, high         float64
	}{
		{"aging_s", catalog.OrderAging, "10", p.AgingS, clockS, 1e6},
		{"prediction_cv", catalog.OrderPredicted, "0.5", p.PredictionCV, 0, 100},
	} {
		at := path + "." + of.key
		switch needed := p.QueueOrder == of.order; {
		case needed && !c.origins.given(at):
			c.fail(at, "missing beside %s %s; expected a number such as %s", c.origins.name(order), of.order, of.example)
		case needed:
			c.above(at, of.value, of.above, of.high)
		case c.origins.given(at):
			c.fail(at, "%g has no effect with %s %s; accepted: null, or %s", of.value, c.origins.name(order), p.QueueOrder,
				of.order)
		}
	}
}

// clockS is as short a time as the clock tells, in seconds.
const clockS = 1e-12

// checkPreemption refuses swapping to nowhere, and beside a prefix cache: who would own a swapped block that others
// share is not modelled.
func (p *Pool) checkPreemption(c *checker, path string, e *catalog.EngineSpec) {
	space := path + ".swap_space"
	c.within(space, p.SwapSpace, 0, 1<<20)
	if p.PreemptionMode == catalog.PreemptSwap && p.SwapSpace == 0 {
		c.fail(space, "0 leaves no room to swap to; expected GiB above 0, or %s recompute",
			c.origins.name(path+".preemption_mode"))
	}
	if p.PreemptionMode == catalog.PreemptSwap && p.EnablePrefixCaching {
		c.fail(path+".preemption_mode", "%q is not modelled with a prefix cache; accepted: %q, or %s false",
			catalog.PreemptSwap, catalog.PreemptRecompute,
			c.origins.name(path+".enable_prefix_caching"))
	}
}

// checkMemory refuses shares and sizes out of range.
func (p *Pool) checkMemory(c *checker, path string) {
	if p.Watermark == 1 {
		c.fail(path+".watermark", "1 leaves no block to admit anybody to; expected a share from 0 to below 1")
	}
	p.checkTiers(c, path)
	if p.KVOffloadingSize > 0 && !p.EnablePrefixCaching {
		c.fail(path+".kv_offloading_size", "%g keeps cached prefixes, of which there are none; accepted: null, or %s true",
			p.KVOffloadingSize,
			c.origins.name(path+".enable_prefix_caching"))
	}
}

// checkPages refuses chunks that hold no page: SGLang divides prompts at pages, and a long one would never be read.
func (p *Pool) checkPages(c *checker, path string, e *catalog.EngineSpec) {
	if e.Scheduler != catalog.SchedulerSGLang || p.MaxNumBatchedTokens < 0 || p.MaxNumBatchedTokens >= p.BlockSize {
		return
	}
	chunk, page := path+".max_num_batched_tokens", path+".block_size"
	if c.origins.given(chunk) {
		c.fail(chunk, "%d is below %s, %d; a chunk is of whole pages: expected at least %d, or -1 for prompts that run whole",
			p.MaxNumBatchedTokens, c.origins.name(page), p.BlockSize, p.BlockSize)
		return
	}
	c.fail(page, "%d is above %s, %d; a chunk is of whole pages: expected at most %d, or %s -1 for prompts that run whole",
		p.BlockSize, c.origins.name(chunk), p.MaxNumBatchedTokens, p.MaxNumBatchedTokens, c.origins.name(chunk))
}

// checkLaunch refuses kernels that are unknown and graphs of no size.
func (p *Pool) checkLaunch(c *checker, path string) {
	sizes := path + ".cudagraph_capture_sizes"
	for _, n := range p.CUDAGraphCaptureSizes {
		c.count(sizes, int64(n), 1<<16)
	}
	if len(p.CUDAGraphCaptureSizes) == 0 && c.origins.given(sizes) {
		c.fail(sizes, "is empty; expected rows such as [1, 2, 4, 8], null for the engine's own, or %s for none",
			fmt.Sprintf("%s: true", c.origins.name(path+".enforce_eager")))
	}
}

// checkRanks bounds the tokens of a step over all data-parallel ranks, which are counted in 32 bits.
func (p *Pool) checkRanks(c *checker, path string) {
	for _, of := range []struct {
		key    string
		tokens int
	}{{"max_num_batched_tokens", p.MaxNumBatchedTokens}, {"max_prefill_tokens", p.MaxPrefillTokens}} {
		if tokens := int64(p.DataParallel) * int64(of.tokens); tokens > 1<<30 {
			c.fail(path+".data_parallel", "%d ranks of %s, %d, are %d tokens in a step; expected at most %d",
				p.DataParallel, c.origins.name(path+"."+of.key), of.tokens, tokens, 1<<30)
		}
	}
}
