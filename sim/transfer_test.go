package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// handing returns a scenario of a prefill pool and a decode pool with room for every request. A step with a prompt
// takes promptTime, and one without stepTime.
func handing(stage sim.Stage, requests ...sim.Request) scenario {
	stage.Pool, stage.Cache = 0, true
	pool := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: twoTimes{},
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 1000}}
	sc := pool
	pool.maxNumSeqs = 4
	sc.pools, sc.routes = []scenario{pool}, []sim.Route{{stage, {Pool: 1}}}
	for i, r := range requests {
		r.ID, r.Traced = int32(i), true
		sc.requests = append(sc.requests, r)
	}
	return sc
}

// play runs a scenario and its twin, which must agree, and returns what was reported to the sink.
func play(t *testing.T, sc scenario, what string) (*journal, *sim.Cluster) {
	t.Helper()
	j := newJournal()
	cl := run(t, sc.config(j))
	compare(t, what, runNaive(sc), j, cl)
	return j, cl
}

// TestOneRequestAloneOverALink: with n prompt tokens, a link of latency λ and of work W = fixed + n·token, and a prompt
// that has been read at T, a cache that is pulled lands at T + λ + W. Pushed in L layers it lands at max(T, λ +
// ⌊W/L⌋·(L−1)) + the rest of W. The token after that takes a step; the first one comes at T if the prefill pool emits
// it, when the cache has arrived if the decode pool does, and a step with a prompt later if it computes it.
func TestOneRequestAloneOverALink(t *testing.T) {
	const n, read = 100, sim.Time(promptTime)
	for _, link := range []sim.Link{
		{Layers: 1}, {Token: 12_345_678_901, Layers: 7},
		{Latency: 3 * sim.Millisecond, Fixed: 500_000_001, Token: 70_000_003, Layers: 80},
		{Latency: 40 * sim.Millisecond, Token: 1, Layers: 3}, {Fixed: 90 * sim.Millisecond, Layers: 2},
	} {
		w := link.Fixed + n*link.Token
		first := w / sim.Duration(link.Layers) * sim.Duration(link.Layers-1)
		for push, arrived := range map[bool]sim.Time{
			false: read.Add(link.Latency + w), true: max(read, sim.Time(link.Latency+first)).Add(w - first),
		} {
			for _, tokens := range []int32{0, 1} {
				for _, again := range []bool{false, true} {
					sc := handing(sim.Stage{Link: link, Push: push, Tokens: tokens}, sim.Request{Prompt: n, Output: 4})
					sc.pools[0].recomputes = again
					what := fmt.Sprintf("%+v, pushed %v, %d tokens, computed again %v", link, push, tokens, again)
					j, _ := play(t, sc, what)
					times := []sim.Time{arrived}
					switch {
					case tokens == 1:
						times = []sim.Time{read, arrived.Add(stepTime)}
					case again:
						times = []sim.Time{arrived.Add(promptTime)}
					}
					for len(times) < 4 {
						times = append(times, times[len(times)-1].Add(stepTime))
					}
					require.Equal(t, times, j.tokens[0], what)
				}
			}
		}
	}
}

// TestTransfersShareAPort: two transfers of a second each, the second of which begins d later, share a port from then
// on: the first ends at 2 s − d, and the other at 2 s. Between other instances they would not.
func TestTransfersShareAPort(t *testing.T) {
	link := sim.Link{Fixed: sim.Second}
	for _, ends := range [][2]int{{1, 1}, {2, 1}, {1, 2}, {2, 2}} {
		for _, d := range []sim.Duration{promptTime, 400 * sim.Millisecond, 999_999_999_999} {
			sc := handing(sim.Stage{Link: link, Tokens: 1}, sim.Request{Prompt: 1, Output: 2},
				sim.Request{Prompt: 1, Output: 2, Arrival: sim.Time(d)})
			sc.size, sc.pools[0].size = ends[0], ends[1]
			sc.roundRobin, sc.pools[0].roundRobin = true, true
			j, _ := play(t, sc, fmt.Sprint(ends, d))
			begin := sim.Time(promptTime)
			arrived := [2]sim.Time{begin.Add(2*sim.Second - d), begin.Add(2 * sim.Second)}
			if ends == [2]int{2, 2} {
				arrived = [2]sim.Time{begin.Add(sim.Second), begin.Add(sim.Second + d)}
			}
			require.Equal(t, arrived, [2]sim.Time{j.moved[0][1], j.moved[1][1]}, "from %d to %d, %v apart", ends[0], ends[1], d)
		}
	}
}

// TestAFullPoolThrottlesTheOneBeforeIt: a cache of the prefill pool holds two prompts, and the decode pool serves one
// request at a time: the third prompt is read when the first has arrived, and so on, and no request is dropped.
func TestAFullPoolThrottlesTheOneBeforeIt(t *testing.T) {
	var requests []sim.Request
	for range 12 {
		requests = append(requests, sim.Request{Prompt: 32, Output: 40})
	}
	for _, push := range []bool{false, true} {
		sc := handing(sim.Stage{Link: sim.Link{Latency: sim.Millisecond, Token: sim.Microsecond, Layers: 4}, Push: push},
			requests...)
		sc.blocks, sc.maxLen, sc.pools[0].maxNumSeqs = 5, 80, 1
		j, cl := play(t, sc, fmt.Sprintf("pushed %v", push))
		require.Equal(t, int64(12), j.Outcomes[sim.Completed])
		require.Equal(t, int64(12), cl.Totals().Transfers)
		require.Equal(t, int64(12*32), cl.Totals().TransferredTokens)
		for i := int32(2); i < 12; i++ {
			if before := i - 2; !push {
				require.GreaterOrEqual(t, j.admit[i], j.moved[before][1], "request %d is read when %d has arrived", i, before)
			}
			require.GreaterOrEqual(t, j.moved[i][0], j.end[i-1], "a sequence is free when the one before has ended")
		}
	}
}

// TestAFreeLinkCostsAtMostAStep: where every step takes a second, all begin at whole seconds and there is room for
// all of them, requests that are transferred at no cost have every token when they would have it in one pool, or one
// step later: a request that asks for room at a step boundary is received when the next step has begun.
func TestAFreeLinkCostsAtMostAStep(t *testing.T) {
	t.Parallel()
	var delayed [2]int
	drawn := 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		sc := drawRoomy(t)
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 20, MaxNumBatchedTokens: 10_000}
		for i := range sc.requests {
			sc.requests[i].Arrival *= 2
		}
		one, two := newJournal(), newJournal()
		run(t, sc.config(one))
		decode := sc
		decode.requests, decode.maxNumSeqs = nil, 20
		stage := sim.Stage{Cache: true, Tokens: rapid.Int32Range(0, 1).Draw(t, "tokens"), Push: rapid.Bool().Draw(t, "push"),
			Link: sim.Link{Layers: 10}}
		sc.pools, sc.routes = []scenario{decode}, []sim.Route{{stage, {Pool: 1}}}
		run(t, sc.config(two))
		for id, times := range one.tokens {
			require.Len(t, two.tokens[id], len(times))
			for i, at := range times {
				later := two.tokens[id][i].Sub(at) / sim.Second
				require.Equal(t, at.Add(later*sim.Second), two.tokens[id][i], "a whole step")
				require.Contains(t, []sim.Duration{0, 1}, later, "token %d of request %d", i, id)
				delayed[later]++
			}
		}
	})
	wantCovered(t, drawn, map[string]int{"at once": delayed[0], "with the next step": delayed[1]},
		map[string]int{"at once": 500, "with the next step": 500})
}

// TestAnAnswerOfOneToken: if the prefill pool emits it nothing is transferred, and otherwise it comes when the cache
// has arrived.
func TestAnAnswerOfOneToken(t *testing.T) {
	for _, push := range []bool{false, true} {
		for tokens, want := range map[int32]struct {
			at    sim.Time
			moved int64
		}{0: {sim.Time(promptTime + sim.Second), 1}, 1: {sim.Time(promptTime), 0}} {
			sc := handing(sim.Stage{Link: sim.Link{Fixed: sim.Second, Layers: 1}, Push: push, Tokens: tokens},
				sim.Request{Prompt: 5, Output: 1})
			j, cl := play(t, sc, fmt.Sprintf("pushed %v, %d tokens", push, tokens))
			require.Equal(t, []sim.Time{want.at}, j.tokens[0])
			require.Equal(t, want.moved, cl.Totals().Transfers)
			require.Zero(t, cl.State(cl.Now()).KVUsed)
		}
	}
}

// TestAnAnswerOfOneTokenLeavesItsPrefillPoolOnce: no decode pool gets it, and an engine that queues batches with a
// radix tree learns of its prompt and of its end at the same time.
func TestAnAnswerOfOneTokenLeavesItsPrefillPoolOnce(t *testing.T) {
	tree := new(sim.Contents)
	begin := tree.Add(0, 32)
	sc := handing(sim.Stage{Tokens: 1}, sim.Request{Prompt: 40, Output: 1, Content: begin},
		sim.Request{Prompt: 40, Output: 1, Content: begin, Arrival: sim.Time(sim.Second)})
	sc.tree, sc.radix = tree, true
	sc.ahead, sc.maxLen = true, 1001
	sc.pools[0].uncached = true
	sc.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 1000, ClipMaxNewTokens: 10,
		RetractDecodeSteps: 1}
	require.True(t, sc.queues())
	j, cl := play(t, sc, "one token")
	require.Equal(t, int64(2), j.Outcomes[sim.Completed])
	require.Equal(t, int64(32), cl.PoolTotals(0).Cached)
}

// TestTokensThatWereEmittedBeforeATransferCount: a prefill pool has emitted the first token of either request. While
// their caches are on their way, wait for blocks and have arrived, these are two, with those that are emitted then.
func TestTokensThatWereEmittedBeforeATransferCount(t *testing.T) {
	for _, push := range []bool{false, true} {
		sc := handing(sim.Stage{Tokens: 1, Push: push, Link: sim.Link{Latency: sim.Second, Layers: 1}},
			sim.Request{Prompt: 10, Output: 5}, sim.Request{Prompt: 10, Output: 5})
		decode := &sc.pools[0]
		decode.blocks, decode.maxLen, sc.maxLen = 1, 16, 16 // one after the other
		j := newJournal()
		c := sc.config(j)
		seen := map[sim.Time]int64{}
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			seen[now] = c.State(now).OutputTokens
			return now.Add(7*sim.Millisecond + 1)
		}
		run(t, c)
		require.Len(t, j.tokens, 2)
		waits := 0
		for at, tokens := range seen {
			want := int64(0)
			for _, times := range j.tokens {
				for _, emitted := range times {
					if emitted < at {
						want++
					}
				}
			}
			require.Equal(t, want, tokens, "at %v", at)
			if tokens == 1 || tokens == 2 {
				waits++
			}
		}
		require.Greater(t, waits, 100, "most of a second")
	}
}
