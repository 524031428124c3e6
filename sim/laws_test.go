package sim_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func TestMain(m *testing.M) {
	flag.Parse()
	set := func(name, value string) {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["rapid.checks"] {
		set("rapid.checks", strconv.Itoa(cases()))
	}
	set("rapid.nofailfile", "true")
	if !soak.Asked() && !given["rapid.seed"] { // the soak looks for new cases, the tests for regressions
		set("rapid.seed", "1")
	}
	os.Exit(m.Run())
}

// cases returns how many scenarios a law is tried on, unless -rapid.checks says otherwise.
func cases() int { return soak.Cases(soak.Part(330), 6000) }

// wantCovered fails t where the cases that were drawn have too little of what makes a comparison worth something. It
// asks nothing of fewer cases than usual: -rapid.checks may ask for a few, and on a busy machine rapid has no time for
// all before the time limit of the tests. Nor does it of a fifth of the cases, in make test: a few cases have most of
// what is rare, of which TestEachFeatureEqualsTheNaiveTwin has some there.
func wantCovered(t *testing.T, drawn int, cover, least map[string]int) {
	t.Helper()
	t.Logf("covered by %d cases: %v", drawn, cover)
	if soak.Brief() || drawn < cases() {
		return
	}
	for what, n := range least {
		assert.GreaterOrEqual(t, cover[what], n, "cases drawn for: %s", what)
	}
}

// onOther draws whether a scenario is left to the soak, as every other one is of the laws that the naive twins imply.
func onOther(t *rapid.T) bool { return !soak.Asked() && rapid.Bool().Draw(t, "left to the soak") }

// covered are the least numbers of what makes the comparison worth something that the usual cases must draw.
var covered = map[string]int{
	"blocks of windows that requests share": 100, "prefixes of which windows lack some": 50,
	"preemptions": 500, "victims that were not the last admitted": 10, "steps that spend the budget": 1000,
	"regime switches":   20,
	"prompts tokenised": 1000, "waits for a tokenizer": 500, "hang-ups before a tokenizer is done": 10,
	"steps without a look": 300, "steps composed twice": 100, "tokens in vain": 100, "plans for a single request": 100,
	"steps fixed before an arrival": 100, "arrivals on a step boundary": 100, "simultaneous arrivals": 500,
	"overtakings": 500,
	"evictions":   5000, "hits": 300, "answers to be asked for": 100, "sorted by cached prefixes": 50,
	"gaps held": 500, "gaps preempted": 500, "gaps swapped": 100, "swapped in": 100, "kept swapped out": 500,
	"recomputed for want of host memory": 50,
	"reserved blocks":                    1000, "stopped by no-evict": 500, "stopped by the watermark": 500,
	"prompts that wait for a whole budget": 50, "steps without a prompt that waits for others": 20,
	"prompts that join where a rank has no decodes": 10,
	"retractions": 50, "ratio changes": 50, "prompts cut": 100,
	"mixed steps":            100,
	"stopped by the reserve": 20, "rows that have ended": 1000, "padding": 200,
	"gaps burst": 50_000, "bursts cut": 50, "verified in vain": 15, "swapped in with drafts": 20,
	"mixed steps with drafts": 20, "prompts without a chunk": 100,
	"fetches": 25, "writes": 25, "writes that share a port": 10, "flows beside a reservation": 10,
	"loaded blocks": 25, "blocks lost from host memory": 500, "sorted by weight": 3,
	"steps with adapters": 1000, "passed over for their adapters": 500, "adapters replaced": 100,
	"adapters lost from host memory": 20, "drafts with adapters": 100,
	"ranks without work": 10_000, "steps that all ranks compose twice": 10,
	"batches under way at once": 1000, "chunks under way at once": 300,
	"blocks that windows have passed": 10_000, "blocks that windows have passed before a chunk": 500,
	"windows that wait for several chunks": 50,
	"waits for a stage":                    500, "steps that preempt": 500, "reasoning": 1000,
	"completed": 3000, "rejected": 300, "prompts over the engine's limit": 100, "failed": 200,
}

// TestRunsEqualTheNaiveTwin: advancing many steps in one event, with batches kept as sums, gives every token of every
// request at the very picosecond at which the naive simulator emits it, and the very histograms.
func TestRunsEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t)
		twin := runNaive(sc)
		var jumps *sim.Cluster // the run without a bound on its steps
		for _, variant := range variants(t) {
			j := newJournal()
			c := sc.config(j)
			c.MaxRun, c.LogWheel = variant.maxRun, variant.wheel
			cl := run(t, c)
			compare(t, fmt.Sprintf("%+v", variant), twin, j, cl)
			if jumps == nil {
				jumps = cl
			}
			require.Equal(t, jumps.PoolTotals(0), cl.PoolTotals(0), "%+v: busy time, batches and peak of the cache", variant)
			require.Equal(t, jumps.Now(), cl.Now(), "%+v: end", variant)
			if variant.maxRun == 0 && variant.wheel == 0 {
				cover["evictions"] += int(cl.PoolTotals(0).Evictions)
				cover["runs"] += j.runs
				cover["regime switches"] += j.switches
			}
		}
		if sc.reasons { // it does not take a sink that hears of every token
			j := newJournal()
			run(t, sc.config(struct{ sim.Sink }{j}))
			for _, r := range twin.all {
				require.Equal(t, twin.visible(r), j.seen[r.ID], "untraced: first visible token of request %d", r.ID)
			}
		}
		cover["cases"]++
		cover["steps"] += twin.pools[0].steps
		if sc.speculation != nil {
			cover["speculating"]++
		}
		for _, in := range twin.insts {
			if in.store != nil {
				cover["blocks lost from host memory"] += in.store.lost
			}
		}
		for what, n := range twin.cover {
			cover[what] += n
		}
		for what, n := range twin.gaps {
			cover["gaps "+what] += n
		}
		for i, r := range twin.all {
			cover["tokens"] += len(r.tokens)
			cover["cached tokens"] += int(r.Cached)
			if r.Cached > 0 {
				cover["hits"]++
			}
			if r.OutputContent != 0 {
				cover["answers to be asked for"]++
			}
			cover[r.outcome]++
			if i > 0 && r.Arrival == twin.all[i-1].Arrival {
				cover["simultaneous arrivals"]++
			}
		}
	})
	wantCovered(t, cover["cases"], cover, covered)
}

// TestARunEndsWithItsLastEvent: the deadline of a request that has been served in time keeps no run going, at which
// busy time and the timeline would count the wait as idle.
func TestARunEndsWithItsLastEvent(t *testing.T) {
	for _, deadline := range []sim.Time{0, sim.Time(600 * sim.Second)} {
		sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 100, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 100}}
		sc.requests = []sim.Request{{ID: 0, Prompt: 1, Output: 3, Deadline: deadline},
			{ID: 1, Prompt: 1, Output: 2, Deadline: deadline}}
		j := newJournal()
		cl := run(t, sc.config(j))
		require.Equal(t, sim.Time(5*sim.Second), cl.Now())
		require.Equal(t, int64(2), j.Outcomes[sim.Completed])
	}
}

// equalsTwin runs a scenario with segments of any length, and every other one step by step, too, as the soak does all
// of them; it compares each run with its twin and has it checked.
func equalsTwin(t *rapid.T, sc scenario, twin *naiveFleet, check func(*sim.Cluster)) {
	for _, maxRun := range []int{0, 1} {
		if maxRun > 0 && onOther(t) {
			return
		}
		j := newJournal()
		c := sc.config(j)
		c.MaxRun = maxRun
		cl := run(t, c)
		compare(t, fmt.Sprintf("at most %d steps at once", maxRun), twin, j, cl)
		check(cl)
	}
}

func compare(t require.TestingT, variant string, twin *naiveFleet, j *journal, cl *sim.Cluster) {
	var tokens, cached int64
	for _, r := range twin.all {
		require.Equal(t, r.outcome, j.ended[r.ID], "%s: outcome of request %d", variant, r.ID)
		equalTimes(t, r.tokens, j.tokens[r.ID], fmt.Sprintf("%s: request %d", variant, r.ID))
		require.Equal(t, r.Cached, j.cached[r.ID], "%s: cached tokens of request %d", variant, r.ID)
		if r.outcome == "completed" {
			require.Equal(t, r.admitted, j.admit[r.ID], "%s: admission of request %d", variant, r.ID)
			require.Equal(t, r.tokenizing, j.last[r.ID].Tokenizing, "%s: tokenizing of request %d", variant, r.ID)
			require.Equal(t, [2]sim.Time{r.Allocated, r.Transferred}, j.moved[r.ID], "%s: allocation and arrival of request %d",
				variant, r.ID)
			j.compareRecord(t, variant, r)
		}
		require.Equal(t, twin.visible(r), j.seen[r.ID], "%s: first visible token of request %d", variant, r.ID)
		tokens += int64(len(r.tokens))
		cached += int64(r.Cached)
	}
	totals := cl.Totals()
	require.Equal(t, cached, totals.CachedTokens, "%s: cached tokens", variant)
	require.Equal(t, twin.gaps, j.gaps, "%s: gaps by what held the token up", variant)
	waits := spansOf(twin)
	equalHists(t, histOf(waits.ttft), &j.TTFT, variant+": TTFT")
	equalHists(t, histOf(waits.itl), &j.ITL, variant+": ITL")
	equalSpans(t, waits.ttft, j.ttft, variant+": TTFT by class")
	equalSpans(t, waits.itl, j.itl, variant+": ITL by class")
	if j.chunks != nil {
		chunks, tokens := naiveChunks(twin)
		equalHists(t, &chunks, j.chunks.Gaps(), variant+": gaps between chunks")
		equalHists(t, &tokens, j.chunks.TokenGaps(), variant+": gaps between tokens at clients")
	}
	want := twin.counts
	want.OutputTokens, want.CachedTokens, want.Stranded = tokens, cached, totals.Stranded
	want.Ended = int64(len(twin.all) - twin.cover["unfinished"])
	if twin.live {
		want.InstancesFailed = totals.InstancesFailed
	}
	require.Equal(t, want, totals, variant)
	for i, n := range twin.pools {
		pool := cl.PoolTotals(i)
		comparePools(t, fmt.Sprintf("%s: pool %d", variant, i), n, pool)
		work := n.tallyAt(cl.Now())
		if twin.live {
			work.upS = pool.UpS
		}
		compareWork(t, fmt.Sprintf("%s: pool %d", variant, i), work, len(n.stages) > 1, &pool)
	}
	conserved(t, variant, twin, j, cl)
}

// visible returns when the first token after the reasoning of r came; 0: it has none, or did not come so far.
func (f *naiveFleet) visible(r *naiveRequest) sim.Time {
	n := int(r.Reasoning)
	if n == 0 || n >= len(r.tokens) {
		return 0
	}
	f.cover["reasoning"]++
	return r.tokens[n]
}

// naiveChunks sends the tokens of each request as vLLM's output processor does, a step at a time, and returns the gaps
// between chunks, and between tokens as clients receive them.
func naiveChunks(twin *naiveFleet) (chunks, tokens metrics.Hist) {
	interval := twin.sc.streamInterval()
	for _, r := range twin.all {
		var sent sim.Time
		waiting := int32(0)
		for i, at := range r.tokens {
			waiting++
			last := i == len(r.tokens)-1
			switch stepEnds := last || r.tokens[i+1] != at; {
			case !stepEnds:
				continue
			case sent != 0 && waiting < interval && !(last && r.outcome == "completed"):
				continue
			case sent != 0:
				chunks.One(at.Sub(sent))
				tokens.One(at.Sub(sent))
			}
			tokens.Add(0, uint64(waiting-1))
			sent, waiting = at, 0
		}
	}
	return chunks, tokens
}

// comparePools compares what is reported of a pool.
func comparePools(t require.TestingT, variant string, n *naive, pool sim.PoolTotals) {
	evictions := n.evicted
	for _, lead := range n.members {
		for _, in := range lead.team {
			if in.pool != nil {
				evictions += in.pool.evicted
			}
			if in.tree != nil {
				evictions += in.tree.evicted
			}
		}
	}
	require.Equal(t, int64(evictions), pool.Evictions, "%s: evictions", variant)
	require.Equal(t, [2]int64{n.prompted, n.cached}, [2]int64{pool.Prompted, pool.Cached},
		"%s: prompts and what was cached of them", variant)
	require.Equal(t, int64(n.cover["any preemptions"]), pool.Preemptions, "%s: preemptions", variant)
	require.Equal(t, int64(n.cover["swapped out"]), pool.Swaps, "%s: swaps", variant)
	require.Equal(t, int64(n.cover["rows that have ended"]), pool.FinishedRowSum, "%s: rows that had ended", variant)
	require.Equal(t, int64(n.steps), pool.Steps, "%s: steps", variant)
	require.Equal(t, n.decodes, pool.DecodeSum, "%s: decoding sequences over steps", variant)
	require.Equal(t, n.drafted, pool.Drafted, "%s: drafts", variant)
	require.Equal(t, int64(n.gaps["burst"]), pool.Accepted, "%s: drafts that were emitted", variant)
	require.Equal(t, n.loaded, pool.Loaded, "%s: tokens loaded from host memory", variant)
	if len(pool.Tiers) > 0 {
		require.Equal(t, n.below, pool.CachedBelow, "%s: cached tokens that host memory had", variant)
	}
	for i := range pool.Tiers {
		require.Equal(t, sim.TierTotals{Fetched: n.fetchedTokens[i], Written: n.writtenTokens[i], Cached: n.fromTier[i]},
			pool.Tiers[i], "%s: tokens from and to tier %d", variant, i)
	}
	require.Equal(t, int64(n.cover["tokens computed rather than fetched"]), pool.Recomputed, "%s: not fetched", variant)
	require.Equal(t, n.peak, pool.KVPeak, "%s: the most blocks in use", variant)
	adapted := n.adapted
	adapted.WaitedS, adapted.CopyingS = float64(n.lockedNS)/1e9, n.copying.Seconds()
	require.InDelta(t, adapted.WaitedS, pool.Adapters.WaitedS, 1e-9, "%s: waits for adapters", variant)
	require.InDelta(t, adapted.CopyingS, pool.Adapters.CopyingS, 1e-9, "%s: copies of adapters", variant)
	adapted.WaitedS, adapted.CopyingS = pool.Adapters.WaitedS, pool.Adapters.CopyingS
	require.Equal(t, adapted, pool.Adapters, "%s: adapters", variant)
}

// compareWork compares the time that the steps of a pool took, and what they were for; of stages, which have steps
// beside each other, only how long they were up.
func compareWork(t require.TestingT, variant string, want naiveTally, stages bool, pool *sim.PoolTotals) {
	near := func(wantS, got float64, what string) {
		// to a picosecond, or to what a sum of so many seconds rounds
		require.InDelta(t, wantS, got, 1e-12*(1+wantS), "%s: %s", variant, what)
	}
	near(want.upS, pool.UpS, "up")
	if stages {
		return
	}
	near(want.busy.Seconds(), pool.BusyS, "busy")
	near(want.prefill.Seconds(), pool.Phases.PrefillS, "in steps with prompts")
	near(want.bound.Seconds(), pool.Phases.DecodeBoundS, "bound of decodes")
	require.Equal(t, [2]int64{want.prefills, want.mixed}, [2]int64{pool.Phases.PrefillSteps, pool.Phases.MixedSteps},
		"%s: steps with prompts, and with decodes too", variant)
	require.Equal(t, want.ranks, pool.Ranks, "%s: ranks", variant)
}

// conserved checks what every run must keep, on a run that served every request.
func conserved(t require.TestingT, variant string, twin *naiveFleet, j *journal, cl *sim.Cluster) {
	state := cl.State(cl.Now())
	require.Equal(t, int64(twin.cover["unfinished"]), j.Outcomes[sim.Unfinished], "%s: unfinished", variant)
	if twin.cover["unfinished"] == 0 {
		require.NoError(t, sim.CheckSets(cl), variant)
		require.Zero(t, state.KVUsed, "%s: KV blocks at the end", variant)
		require.Zero(t, state.Running+state.Waiting+state.Transferring, "%s: requests at the end", variant)
		for _, in := range twin.insts {
			require.Equal(t, [2]int64{in.of.blocks, in.of.hostBlocks()}, [2]int64{in.free, in.host},
				"blocks of the twin at the end")
		}
	}
	ended := int64(0)
	for _, n := range j.Outcomes {
		ended += n
	}
	require.Equal(t, int64(len(twin.all)), ended, "%s: the outcomes sum to the arrivals", variant)
	for _, r := range twin.all {
		require.NotEmpty(t, r.outcome, "request %d of the twin", r.ID)
		require.Equal(t, r.outcome == "completed", len(r.tokens) == int(r.Output), "%s: tokens of request %d, %s", variant,
			r.ID, r.outcome)
	}
}

// equalHists names the first count that differs, rather than printing thousands.
func equalHists(t require.TestingT, want, got *metrics.Hist, what string) {
	require.Equal(t, want.N(), got.N(), "%s: samples", what)
	equalLists(t, want.Counts(), got.Counts(), what+": count")
}

// equalTimes names the first token that differs.
func equalTimes(t require.TestingT, want, got []sim.Time, what string) {
	equalLists(t, want, got, what+": token")
}

func equalLists[T comparable](t require.TestingT, want, got []T, what string) {
	require.Len(t, got, len(want), what)
	for i := range want {
		if want[i] != got[i] {
			require.Equal(t, want[i], got[i], "%s %d", what, i)
		}
	}
}
