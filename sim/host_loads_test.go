package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// drawHostLoads draws a small scenario in which blocks come back from host memory while steps go on: on replicas and
// ranks, in one pool or in the first of two, some of which fail.
func drawHostLoads(t *rapid.T) scenario {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	sc := drawSharing(t)
	maxNumSeqs := one("sequences", 1, 3, 8, 30)
	p := &schedulers.Continuous{MaxNumSeqs: int(maxNumSeqs), LoadsReserve: sc.blocks%3 > 0, StopsAtSelf: sc.blocks%2 == 0,
		MaxNumBatchedTokens:       max(maxNumSeqs, one("budget", 4, 16, 64, 1000)),
		LongPrefillTokenThreshold: one("long", 0, 0, 1, 10), SingleExempt: sc.maxLen%2 == 0, MaxModelLen: sc.maxLen,
		SchedulerReserveFullISL: rapid.Bool().Draw(t, "whole"), WatermarkBlocks: drawWatermark(t, &sc),
		Unchunked: one("unchunked", 0, 0, 0, 1) > 0}
	if p.Unchunked {
		p.LongPrefillTokenThreshold, sc.promptMax = 0, p.MaxNumBatchedTokens
	}
	sc.policy, sc.speculation = p, nil
	sc.radix, sc.anonymous = false, false
	if _, ok := sc.order.(shuffled); !ok {
		sc.order = nil
	}
	sc.offload = rapid.SampledFrom([]int64{sc.blocks / 2, 2 * sc.blocks, 20 * sc.blocks, 100 * sc.blocks}).Draw(t, "host")
	sc.offload = max(1, sc.offload)
	sc.tiers = nil
	if one("below", 0, 0, 1) > 0 {
		sc.drawTiers(int64(sc.maxLen) + sc.blocks)
	}
	if one("many", 0, 0, 1) > 0 {
		sc.drawRanks(sc.maxLen % 6)
	}
	sc.drawTokenizer(len(sc.requests) + int(sc.maxLen))
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "fleet"), 9))
	if one("pools", 0, 0, 1) > 0 {
		sc.pools = []scenario{drawPool(t, sc)}
		sc.drawRoutes(rnd, "pd")
		sc.pools[0].settleStages()
	}
	if one("script", 0, 1) > 0 {
		sc.drawScript(rnd)
	}
	if sc.recvInterval() > 1 {
		sc.ahead = false
	}
	for i := range sc.requests {
		if r := &sc.requests[i]; i%4 == 3 { // many do not wait for long
			r.Deadline = r.Arrival.Add(1 + sim.Duration(rnd.Int64N(int64(200*sim.Millisecond))))
		}
	}
	sc.settleLoads()
	return sc
}

// TestLoadsBesideStepsEqualTheNaiveTwin: what comes from host memory while steps go on gives every token of every
// request at the very picosecond at which the naive simulator emits it.
func TestLoadsBesideStepsEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		sc := drawHostLoads(t)
		twin := runNaive(sc)
		for _, variant := range []struct {
			maxRun int
			wheel  uint
		}{{1, 0}, {0, 0}, {3, 6}} {
			j := newJournal()
			c := sc.config(j)
			c.MaxRun, c.LogWheel = variant.maxRun, variant.wheel
			cl := run(t, c)
			compare(t, fmt.Sprintf("%+v", variant), twin, j, cl)
			if twin.cover["unfinished"] == 0 {
				require.NoError(t, sim.CheckCaches(cl))
			}
		}
		for what, n := range twin.cover {
			cover[what] += n
		}
	})
	wantCovered(t, drawn, cover, map[string]int{"loads from host memory": 300, "preemptions": 100, "KV transfers": 100,
		"loads from host memory beside steps": 50, "loads from host memory behind others": 30,
		"loads from host memory that lack blocks": 100, "loads from host memory after a preemption": 10,
		"prompts from host memory that lack blocks": 10, "fetches": 10,
		"loads from host memory that are cancelled": 5, "loads from host memory that a failure ends": 1})
}

// loaded is tiered with host memory for all, from which a token takes 0.1 s to come back beside steps.
func loaded() scenario {
	sc := tiered()
	sc.offload, sc.loads, sc.loadLink = 100, true, sim.Link{Token: sim.Second / 10}
	sc.ask()
	return sc
}

// TestALoadBesideStepsPrecedesTheStep: 32 tokens of 0.1 s each, and then the step that computes the other eight. In a
// step the copies would take none of their own here, and a prompt of which nothing is there takes the step alone.
func TestALoadBesideStepsPrecedesTheStep(t *testing.T) {
	for beside, want := range map[bool]sim.Duration{true: 32*sim.Second/10 + sim.Second, false: sim.Second} {
		sc := loaded()
		if !beside {
			sc.loadLink = sim.Link{}
		}
		j := newJournal()
		p := run(t, sc.config(j)).PoolTotals(0)
		require.Equal(t, want, ttft(j, &sc, 4))
		require.Equal(t, []int64{32, 32}, []int64{p.Cached, p.Loaded})
	}
}

// TestStepsGoOnDuringALoad: the GPUs still have the first of two blocks, and the other takes 1.6 s to come. A request
// that came later decodes meanwhile, a token every second, and the one that waits joins it at the end of a step.
func TestStepsGoOnDuringALoad(t *testing.T) {
	sc := loaded()
	sc.blocks = 4
	sc.requests = append(sc.requests, sim.Request{ID: 5, Prompt: 1, Output: 1, Arrival: sim.Time(101 * sim.Second)},
		sim.Request{ID: 6, Prompt: 1, Output: 9, Arrival: sim.Time(101 * sim.Second)})
	j := newJournal()
	run(t, sc.config(j))
	require.Equal(t, sim.Time(103*sim.Second), j.tokens[4][0])
	for i, at := range j.tokens[6] {
		require.Equal(t, sim.Time(102+sim.Duration(i))*sim.Time(sim.Second), at)
	}
}

// TestACancelledLoadGivesItsBlocksBack: a request is cancelled while two blocks come back for it. Those after it, one
// on each replica, which have all blocks there are, are served at once.
func TestACancelledLoadGivesItsBlocksBack(t *testing.T) {
	sc := loaded()
	sc.requests[4].Deadline = sim.Time(102 * sim.Second)
	sc.requests = append(sc.requests, sim.Request{ID: 5, Prompt: 47, Output: 1, Arrival: sim.Time(103 * sim.Second)},
		sim.Request{ID: 6, Prompt: 47, Output: 1, Arrival: sim.Time(103 * sim.Second)})
	j := newJournal()
	cl := run(t, sc.config(j))
	require.NoError(t, sim.CheckCaches(cl))
	require.Equal(t, "failed", j.ended[4])
	require.Equal(t, []sim.Duration{sim.Second, sim.Second}, []sim.Duration{ttft(j, &sc, 5), ttft(j, &sc, 6)})
}

// TestATurnFindsAnAnswerWhoseBlocksWait: the next turn comes with the last token of an answer, during the step that
// computes another in vain. The blocks of the answer are not free yet, because that step may write to them. The turn
// finds those, of 4 tokens each, that are full without the last token.
func TestATurnFindsAnAnswerWhoseBlocksWait(t *testing.T) {
	for output, cached := range map[int32]int32{5: 4, 6: 8, 9: 8, 10: 12} {
		tree := new(sim.Contents)
		prompt := tree.Add(0, 3)
		turn := tree.Add(prompt, output)
		sc := scenario{size: 1, blocks: 100, blockSize: 4, maxLen: 100, tree: tree, ahead: true, model: ticks(sim.Second),
			policy:  &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
			offload: 100, loadLink: sim.Link{Token: sim.Second / 10}}
		sc.loads = true
		sc.requests = []sim.Request{
			{Prompt: 3, Output: output, MaxOutput: 40, Content: prompt, OutputContent: turn, Traced: true},
			{ID: 1, Prompt: 30, Output: 1, Content: turn, Traced: true, Arrival: sim.Time(output) * sim.Time(sim.Second)}}
		require.True(t, sc.queues() && sc.defers() && sc.recvInterval() == 0)
		j, _ := play(t, sc, "turns")
		require.Equal(t, cached, j.cached[1], "an answer of %d tokens", output)
	}
}

// TestLoadsThatCannotBeAreRefused names what they need.
func TestLoadsThatCannotBeAreRefused(t *testing.T) {
	sc := loaded()
	sc.loads = false
	_, err := sim.New(sc.config(newJournal()))
	require.EqualError(t, err, `sim: pool "test": LoadLink needs ConnectorLoads and OffloadBlocks, and excludes MaxNumSeqs, `+
		`Stages, Speculation, Passing, Adapters and RecvInterval above 1`)
	sc.loads, sc.loadLink.Latency = true, sim.Second
	_, err = sim.New(sc.config(newJournal()))
	require.ErrorContains(t, err, "needs a Token above 0 and no Latency")
}
