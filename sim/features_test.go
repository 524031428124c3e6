package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/schedulers"
)

// features names what a pool of a scenario has of what few draws have.
func (sc *scenario) features() (all []string) {
	add := func(has bool, name string) {
		if has {
			all = append(all, name)
		}
	}
	kind := "SGLang"
	switch p := sc.policy.(type) {
	case *schedulers.Static:
		kind = "static"
	case *schedulers.PrefillFirst:
		kind = "prefill first"
		add(sc.swapBlocks > 0, "swaps")
		add(p.PrefillBelow > 0, "decodes first")
	case *schedulers.Continuous:
		kind = "continuous"
		add(p.Unchunked, "whole prompts")
		add(p.BatchWaitIters > 0, "prompts that wait for others")
		add(p.NoEvict, "no eviction")
		add(p.Reserve == schedulers.WholePrompt, "reserved prompts")
		add(p.Reserve == schedulers.MaxOutput, "reserved outputs")
		add(p.Reserve == schedulers.MaxModelLen, "reserved sequences")
		add(p.SchedulerReserveFullISL, "room for whole prompts")
		add(p.LongPrefillTokenThreshold > 0, "long prompts")
		add(p.SingleExempt && p.LongPrefillTokenThreshold > 0, "single prompts exempt")
		add(p.StopsAtSelf && sc.crowded, "steps that end where one preempts itself")
		add(p.Victim == schedulers.LastInOrder && sc.order != nil && sc.crowded, "the least urgent preempted")
		add(p.DraftSlots > 0, "tokens of a draft model")
		add(sc.windowed.Blocks > 0 && sc.tree != nil, "windows cached")
	case *schedulers.SGLang:
		add(p.ChunkedPrefillSize > 0 && !p.EnableMixedChunk, "SGLang's chunks")
		add(p.ChunkedPrefillSize > 0 && p.EnableMixedChunk, "decodes that ride along")
		add(p.ByPriority && sc.crowded, "retraction by priority")
		add(p.Order == schedulers.LPM && sc.radix, "the longest prefix first")
		add(p.Order == schedulers.DFSWeight && sc.radix, "the heaviest prefix first")
		add(sc.radix, "a radix tree")
	}
	add(true, kind)
	add(sc.crowded, kind+", crowded")
	add(sc.speculation != nil && sc.speculation.Tokens > 0, kind+", drafts")
	add(sc.queues(), kind+", queued batches")
	add(sc.ahead, kind+", ahead")
	add(sc.tree != nil && !sc.uncached, kind+", cached prefixes")
	add(sc.ranks > 1, kind+", ranks")
	add(len(sc.stages) > 1, kind+", stages")
	add(len(sc.stages) > 1 && sc.ahead && sc.fillsQueue(), kind+", stages ahead")
	add(len(sc.stages) > 1 && sc.ahead && !sc.fillsQueue(), kind+", stages in turn")
	add(sc.adapters.Slots > 0, kind+", adapters")
	add(sc.speculation != nil && sc.speculation.Fills, "filled rows")
	add(sc.offload > 0, "host memory")
	add(len(sc.tiers) > 0, "tiers")
	add(sc.writeBack, "tiers written back to")
	add(sc.passing.Window > 0, "chunks that pass")
	add(sc.windowed.Blocks > 0, "windows with blocks")
	add(sc.order != nil, "an order")
	add(sc.noise != nil, "noise")
	add(sc.coldStart > 0, "cold starts")
	add(sc.reasons, "reasoning")
	add(sc.agentic(), "agents")
	add(sc.sessions > 0 && !sc.agentic(), "sessions")
	add(sc.clients > 0, "clients")
	return all
}

// fleetFeatures names what the fleet of a scenario has of what few draws have.
func (sc *scenario) fleetFeatures() (all []string) {
	add := func(has bool, name string) {
		if has {
			all = append(all, name)
		}
	}
	for i := range sc.pools {
		p := &sc.pools[i]
		c, ok := p.policy.(*schedulers.Continuous)
		ok = ok && p.loads
		add(ok, "loads")
		add(ok && p.queues(), "loads, queued batches")
		add(ok && p.ahead, "loads, ahead")
		add(ok && c.LoadsReserve, "loads that reserve")
		add(ok && p.defers(), "deferred frees")
		add(p.leavesFree().Restores, "restored after a retraction")
		add(ok && p.speculation != nil, "loads, drafts")
		add(ok && c.DraftSlots > 0, "loads, a draft model")
		add(ok && p.ranks > 1, "loads, ranks")
		add(ok && c.WatermarkBlocks > 0, "loads above a watermark")
		add(ok && c.Unchunked, "loads beside whole prompts")
		add(p.recomputes, "last tokens computed again")
		add(len(p.stages) > 1, "transfers to stages")
		add(p.offload > 0, "transfers beside host memory")
		add(!p.uncached && sc.tree != nil, "transfers of what is cached")
		_, sg := p.policy.(*schedulers.SGLang)
		add(sg, "transfers to SGLang")
		add(sg && p.crowded, "transfers to SGLang, crowded")
	}
	for _, route := range sc.routes {
		add(route[0].Push, "pushes")
		add(route[0].Tokens > 0 && route[0].Cache, "first tokens before a transfer")
		add(len(route) > 2, "encoders")
		add(route[0].Link.Windowed > 0, "windows transferred")
	}
	add(len(sc.routes) > 1 && sc.byLength > 0, "routes by length")
	add(len(sc.routes) > 1 && sc.byLength == 0, "routes in turn")
	add(sc.refusal > 0, "refusals")
	add(sc.egress > 0, "egress")
	add(sc.activates && len(sc.script) > 0, "activations")
	for _, a := range sc.script {
		add(true, a.what)
		add(a.what == "fail" && !a.retry, "lost for good")
		add(a.what == "fail" && sc.tree != nil, "lost with a cache")
		add(a.what == "fail" && len(sc.pools) > 0, "lost beside transfers")
		add(a.what == "drain" && len(sc.pools) > 0, "drained beside transfers")
	}
	return all
}

// eachFeature compares scenarios with their naive twins until each feature has come up in ten of them, in make test in
// four, or in all that there are: a few random draws say little of what is rare, and these are the same each time. The
// parts of each gap sum to it.
func eachFeature(t *testing.T, draw func(*rapid.T) scenario, of func(*scenario) []string, features int) {
	const least, most = 3, 1500
	times := 10
	if soak.Brief() {
		times = 4
	}
	drawn, some := map[string]int{}, rapid.Custom(draw)
	for seed := range most {
		sc := some.Example(seed)
		rare := false
		for _, feature := range of(&sc) {
			drawn[feature]++
			rare = rare || drawn[feature] <= times
		}
		if !rare {
			continue
		}
		twin, j := runNaive(sc), newJournal()
		cl := run(t, sc.config(j))
		compare(t, fmt.Sprintf("scenario %d", seed), twin, j, cl)
		parts := &gapBreakdowns{breakdownSink: breakdownSink{journal: newJournal(), t: t}}
		run(t, sc.config(parts))
	}
	assert.Len(t, drawn, features, "features that came up: %v", drawn)
	for feature, n := range drawn {
		assert.GreaterOrEqual(t, n, least, feature)
	}
}

// TestEachFeatureEqualsTheNaiveTwin, as TestRunsEqualTheNaiveTwin of many more draws.
func TestEachFeatureEqualsTheNaiveTwin(t *testing.T) {
	t.Parallel()
	eachFeature(t, drawScenario, (*scenario).features, 62)
}

// TestEachFeatureOfFleetsEqualsTheNaiveTwin, as TestFleetsEqualTheNaiveTwin of many more draws.
func TestEachFeatureOfFleetsEqualsTheNaiveTwin(t *testing.T) {
	t.Parallel()
	eachFeature(t, drawFleetScenario, (*scenario).fleetFeatures, 34)
}
