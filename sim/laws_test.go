package sim_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies"
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
	set("rapid.checks", strconv.Itoa(cases(400, 6000)))
	set("rapid.nofailfile", "true")
	if !soak() { // the soak looks for new cases, the tests for regressions
		set("rapid.seed", "1")
	}
	os.Exit(m.Run())
}

// journal records what the sink is told, token by token.
type journal struct {
	metrics.Recorder
	tokens map[int32][]sim.Time
	ended  map[int32]string
	end    map[int32]sim.Time
	admit  map[int32]sim.Time
	cached map[int32]int32
	runs   int

	switches int // runs that end because the price changes regime
}

func newJournal() *journal {
	return &journal{tokens: map[int32][]sim.Time{}, ended: map[int32]string{}, end: map[int32]sim.Time{}, admit: map[int32]sim.Time{}, cached: map[int32]int32{}}
}

func (j *journal) First(r *sim.Request) {
	j.Recorder.First(r)
	j.tokens[r.ID] = append(j.tokens[r.ID], r.First)
}

func (j *journal) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	j.Recorder.Run(in, start, g, n, tokens)
	j.runs++
	if n == g.Steps && g.Steps > 1 {
		j.switches++
	}
}

func (j *journal) Gap(r *sim.Request, t sim.Time, c sim.Cause) {
	j.Recorder.Gap(r, t, c)
	j.tokens[r.ID] = append(j.tokens[r.ID], t)
}

func (j *journal) Tokens(r *sim.Request, emitted int32, start sim.Time, g *sim.Segment, n int) {
	if int(emitted) != len(j.tokens[r.ID]) {
		panic(fmt.Sprintf("request %d has %d tokens, told of %d", r.ID, len(j.tokens[r.ID]), emitted))
	}
	for i := range n {
		j.tokens[r.ID] = append(j.tokens[r.ID], start.Add(g.Span(i+1)))
	}
}

func (j *journal) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	j.Recorder.Done(r, at, o)
	j.ended[r.ID], j.end[r.ID], j.admit[r.ID], j.cached[r.ID] = o.String(), at, r.Admitted, r.Cached
}

// TestRunsEqualTheNaiveTwin: advancing many steps in one event, with batches kept as sums, gives every token of every
// request at the very picosecond at which the naive simulator emits it, and the very histograms.
func TestRunsEqualTheNaiveTwin(t *testing.T) {
	cover := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t)
		twin := runNaive(sc)
		var jumps *sim.Cluster // the run without a bound on its steps
		for _, variant := range []struct {
			maxRun int
			wheel  uint
		}{{0, 0}, {1, 0}, {3, 6}, {0, 6}} {
			j := newJournal()
			c := sc.config(j)
			c.MaxRun, c.LogWheel = variant.maxRun, variant.wheel
			cl := run(t, c)
			compare(t, fmt.Sprintf("%+v", variant), twin, j, cl)
			if jumps == nil {
				jumps = cl
			}
			require.Equal(t, jumps.PoolTotals(), cl.PoolTotals(), "%+v: busy time, batches and peak of the cache", variant)
			require.Equal(t, jumps.Now(), cl.Now(), "%+v: end", variant)
			if variant.maxRun == 0 && variant.wheel == 0 {
				cover["evictions"] += int(cl.PoolTotals().Evictions)
				cover["runs"] += j.runs
				cover["regime switches"] += j.switches
			}
		}
		cover["cases"]++
		cover["steps"] += twin.steps
		cover["preemptions"] += twin.preempts
		cover["steps that spend the budget"] += twin.spent
		cover["steps fixed before an arrival"] += twin.missed
		cover["arrivals on a step boundary"] += twin.boundary
		if twin.preempts > 0 {
			cover["cases with preemption"]++
		}
		for i, r := range twin.all {
			cover["tokens"] += len(r.tokens)
			cover["cached tokens"] += int(r.Cached)
			if r.Cached > 0 {
				cover["hits"]++
			}
			cover[r.outcome]++
			if i > 0 && r.Arrival == twin.all[i-1].Arrival {
				cover["simultaneous arrivals"]++
			}
		}
	})
	t.Logf("covered: %v", cover)
}

// TestARunEndsWithItsLastEvent: the deadline of a request that has been served in time keeps no run going, at which
// utilization and the timeline would count the wait as idle.
func TestARunEndsWithItsLastEvent(t *testing.T) {
	for _, deadline := range []sim.Time{0, sim.Time(600 * sim.Second)} {
		sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 100, model: ticks(sim.Second), policy: &policies.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 100}}
		sc.requests = []sim.Request{{ID: 0, Prompt: 1, Output: 3, Deadline: deadline}, {ID: 1, Prompt: 1, Output: 2, Deadline: deadline}}
		j := newJournal()
		cl := run(t, sc.config(j))
		require.Equal(t, sim.Time(5*sim.Second), cl.Now())
		require.Equal(t, int64(2), j.Outcomes[sim.Completed])
	}
}

func compare(t require.TestingT, variant string, twin *naive, j *journal, cl *sim.Cluster) {
	var itl, ttft metrics.Hist
	var tokens, cached int64
	for _, r := range twin.all {
		require.Equal(t, r.outcome, j.ended[r.ID], "%s: outcome of request %d", variant, r.ID)
		equalTimes(t, r.tokens, j.tokens[r.ID], fmt.Sprintf("%s: request %d", variant, r.ID))
		require.Equal(t, r.Cached, j.cached[r.ID], "%s: cached tokens of request %d", variant, r.ID)
		if r.outcome == "completed" {
			require.Equal(t, r.admitted, j.admit[r.ID], "%s: admission of request %d", variant, r.ID)
		}
		for i, at := range r.tokens {
			if i == 0 {
				ttft.Add(at.Sub(r.Arrival), 1)
			} else {
				itl.Add(at.Sub(r.tokens[i-1]), 1)
			}
		}
		tokens += int64(len(r.tokens))
		cached += int64(r.Cached)
	}
	evictions := 0
	for _, in := range twin.insts {
		if in.pool != nil {
			evictions += in.pool.evicted
		}
	}
	require.Equal(t, cached, cl.Totals().CachedTokens, "%s: cached tokens", variant)
	require.Equal(t, int64(evictions), cl.PoolTotals().Evictions, "%s: evictions", variant)
	require.Equal(t, ttft.Counts(), j.TTFT.Counts(), "%s: TTFT", variant)
	require.Equal(t, itl.Counts(), j.ITL.Counts(), "%s: ITL", variant)
	require.Equal(t, tokens, cl.Totals().OutputTokens, "%s: tokens", variant)
	require.Equal(t, int64(twin.preempts), cl.PoolTotals().Preemptions, "%s: preemptions", variant)
	require.Equal(t, int64(twin.steps), cl.PoolTotals().Steps, "%s: steps", variant)
	require.Zero(t, cl.State(cl.Now()).KVUsed, "%s: KV blocks at the end", variant)
}

// equalTimes names the first token that differs, rather than printing thousands.
func equalTimes(t require.TestingT, want, got []sim.Time, what string) {
	require.Len(t, got, len(want), "%s: tokens", what)
	for i := range want {
		require.Equal(t, want[i], got[i], "%s: token %d", what, i)
	}
}
