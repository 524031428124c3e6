package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestPairsWithFullCachesEqualTheNaiveTwin: a pool computes prompts, and one with few blocks loads their caches, with
// stages or without, with drafts or without. No request may wait for ever.
func TestPairsWithFullCachesEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover := map[string]int{}
	play := func(seed uint64, stages bool) {
		sc := fullPair(rand.New(rand.NewPCG(seed, 77)), stages)
		twin := runNaive(sc)
		for _, most := range []int{0, 1} {
			j := newJournal()
			c := sc.config(j)
			c.MaxRun = most
			compare(t, fmt.Sprintf("seed %d, stages %v, %d steps at once", seed, stages, most), twin, j, run(t, c))
		}
		require.Zero(t, twin.cover["unfinished"], "seed %d, stages %v", seed, stages)
		coverFleet(cover, twin)
	}
	for seed := range uint64(soak.Cases(soak.Part(150), 6000)) {
		play(seed, false)
		play(seed, true)
	}
	// there are blocks for the next token of what has been loaded, and not for its drafts
	for _, seed := range []uint64{710, 1821} {
		play(seed, true)
	}
	// a prompt that another microbatch has preempted lacks blocks no more
	play(1764, true)
	// what has been loaded came unseen when all that run are preempted; and it has what a chunk of the same step computes
	for _, seed := range []uint64{184, 1734, 2524} {
		play(seed, false)
	}
	for what, least := range map[string]int{
		"gaps preempted": 1000, "gaps burst": 5000, "loads beside those that lack blocks": 50,
		"loaded requests without blocks": 500, "loads that wait for preemptions": 100, "loaded requests computed again": 1,
	} {
		assert.GreaterOrEqual(t, cover[what], soak.Least(least), what)
	}
}

// fullPair draws a load of an instance with few blocks, which another computes the prompts for.
func fullPair(r *rand.Rand, stages bool) scenario {
	d := fullPipeline(r)
	p := d.policy.(*schedulers.Continuous)
	if !stages {
		d.stages = nil
		d.ahead = r.IntN(3) > 0
		if d.speculation != nil {
			d.speculation.Fills = r.IntN(2) == 0
			p.DraftSlots = r.Int32N(2)
		}
	}
	sc := d
	sc.stages, sc.order = nil, nil
	sc.blocks, sc.ahead = 2000, r.IntN(2) == 0
	sc.policy = &schedulers.Continuous{MaxNumSeqs: 64, MaxNumBatchedTokens: 128}
	if r.IntN(4) == 0 {
		sc.blocks = d.blocks
	}
	d.requests = nil
	d.loads, d.recomputes = r.IntN(8) > 0, r.IntN(2) == 0
	d.maxNumSeqs = p.MaxNumSeqs
	p.LoadsReserve = d.fillsQueue() || r.IntN(2) == 0
	d.uncached = r.IntN(2) == 0
	if r.IntN(3) == 0 {
		p.WatermarkBlocks = int64(r.IntN(3))
	}
	sc.pools = []scenario{d}
	link := sim.Link{Latency: sim.Duration(r.IntN(2)) * sim.Second, Layers: 1,
		Token: sim.Duration(r.IntN(3)) * sim.Millisecond}
	sc.routes = []sim.Route{{{Cache: true, Tokens: int32(r.IntN(2)), Push: r.IntN(3) == 0, Link: link}, {Pool: 1}}}
	sc.settleStages()
	sc.pools[0].settleStages()
	return sc
}
