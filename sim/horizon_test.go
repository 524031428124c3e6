package sim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestAHorizonCutsNothingElse: a run stopped at an instant is the beginning of the whole run, and every request of it
// has ended in one way or is still under way.
func TestAHorizonCutsNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		whole := newJournal()
		end := run(t, sc.config(whole)).Now()
		until := 1 + sim.Time(rapid.Float64Range(0, 1).Draw(t, "until")*float64(end))
		part := newJournal()
		c := sc.config(part)
		c.Until = until
		cl := run(t, c)
		ended := int64(0)
		for id, outcome := range part.ended {
			if outcome == "unfinished" {
				require.Less(t, until, whole.end[id], "request %d", id)
				continue
			}
			require.Equal(t, whole.ended[id], outcome, "request %d", id)
			require.LessOrEqual(t, part.end[id], until)
			ended++
		}
		tokens := int64(0)
		for id, times := range whole.tokens {
			n, _ := slices.BinarySearch(times, until+1)
			equalTimes(t, times[:n], part.tokens[id], "request")
			tokens += int64(n)
		}
		totals := cl.Totals()
		require.Equal(t, tokens, totals.OutputTokens)
		require.Equal(t, ended, totals.Ended)
		require.Equal(t, totals.Arrived, int64(len(part.ended)), "the outcomes sum to the arrivals")
		require.Equal(t, totals.Arrived-totals.Ended, part.Outcomes[sim.Unfinished])
	})
}

// TestObserversSeeEndedSteps: reading a run between its events changes nothing and counts the steps of a run of steps
// that have ended by then: exactly the tokens that clients have.
func TestObserversSeeEndedSteps(t *testing.T) {
	t.Parallel()
	observations := 0
	rapid.Check(t, func(t *rapid.T) {
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		plain := newJournal()
		end := run(t, sc.config(plain)).Now()
		every := sim.Duration(1 + float64(end)*rapid.Float64Range(0.01, 0.5).Draw(t, "every"))
		var seen []sim.Observation
		var at []sim.Time
		observed := newJournal()
		c := sc.config(observed)
		c.Observe = func(cl *sim.Cluster, now sim.Time) sim.Time {
			seen, at = append(seen, cl.State(now)), append(at, now)
			return now.Add(every)
		}
		run(t, c)
		require.Equal(t, plain.tokens, observed.tokens)
		leavers := slices.ContainsFunc(sc.requests, func(r sim.Request) bool { return r.Deadline != 0 })
		for i, o := range seen {
			emitted, boundary := plain.emittedBy(at[i])
			if !boundary { // at the very end of a step, the observer comes before its commit
				require.Equal(t, emitted, o.OutputTokens, "tokens at %v", at[i])
				observations++
			}
			require.LessOrEqual(t, o.KVUsed, o.KVTotal)
			if !leavers { // an engine still holds those whose clients have cancelled
				require.Equal(t, o.Arrived-o.Ended, o.Running+o.Waiting)
			}
			require.LessOrEqual(t, o.Arrived-o.Ended, o.Running+o.Waiting)
		}
	})
	t.Logf("%d looks", observations)
}

// emittedBy returns how many tokens have been emitted by an instant, and whether one was at it.
func (j *journal) emittedBy(at sim.Time) (n int64, boundary bool) {
	for _, times := range j.tokens {
		i, _ := slices.BinarySearch(times, at+1)
		n += int64(i)
		boundary = boundary || i > 0 && times[i-1] == at
	}
	return n, boundary
}

// TestRoundRobinPartitions: replicas behind a router that does not look are as many independent systems.
func TestRoundRobinPartitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		sc.clients, sc.sessions = 0, 0
		sc.roundRobin, sc.noise = true, nil // noise is of each by itself
		for i := range sc.tiers {
			sc.tiers[i].Shared = false
		}
		together := newJournal()
		run(t, sc.config(together))
		routed := 0
		split := make([][]sim.Request, sc.size)
		for _, r := range sc.requests {
			if r.Prompt+r.Limit() > sc.maxLen || sc.promptMax > 0 && r.Prompt > sc.promptMax || r.Deadline != 0 &&
				r.Deadline <= r.Arrival.Add(sc.ingress) {
				continue // never reaches the router
			}
			split[routed%sc.size] = append(split[routed%sc.size], r)
			routed++
		}
		for i := range split {
			single, one := newJournal(), sc
			one.size, one.requests = 1, split[i]
			run(t, one.config(single))
			for id, times := range single.tokens {
				equalTimes(t, times, together.tokens[id], "request")
				require.Equal(t, single.ended[id], together.ended[id])
			}
		}
	})
}

// TestReplicasAreASystemEachAtZeroLoad: requests that never meet see the same latencies on one replica as on many.
func TestReplicasAreASystemEachAtZeroLoad(t *testing.T) {
	for _, size := range []int{2, 7} {
		sc := scenario{
			size: 1, blocks: 1000, blockSize: 16, maxLen: 4000,
			policy: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 512},
			model:  prices{weights: 4 * sim.Millisecond, ctx: 46_031, token: 33_000_001, overhead: sim.Millisecond},
		}
		for i := range int32(20) {
			sc.requests = append(sc.requests, sim.Request{
				ID: i, Prompt: 100 + 97*i, Output: 1 + 11*i, Arrival: sim.Time(i) * sim.Time(1000*sim.Second), Traced: true,
			})
		}
		one, many := newJournal(), newJournal()
		run(t, sc.config(one))
		sc.size = size
		run(t, sc.config(many))
		require.Equal(t, one.tokens, many.tokens)
	}
}

// TestImpossibleRunsAreRefused: what no run can do is an error that names it.
func TestImpossibleRunsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*sim.Config){
		"TraceEvery -1":                func(c *sim.Config) { c.TraceEvery = -1 },
		"attention window of 0 tokens": func(c *sim.Config) { c.Pools[0].Windows = []sim.Window{{}} },
		"got 1, 16, -1 and 100":        func(c *sim.Config) { c.Pools[0].SequenceBlocks = -1 },
		"at most 2147483647 with prefix": func(c *sim.Config) {
			c.Pools[0].PrefixCaching, c.Pools[0].KVBlocks = true,
				1<<31
		},
		"needs 7 KV blocks, the cache has 6": func(c *sim.Config) { c.Pools[0].KVBlocks = 6 },
	} {
		sc := scenario{size: 1, blocks: 7, blockSize: 16, maxLen: 100, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 100}}
		c := sc.config(newJournal())
		_, err := sim.New(c)
		require.NoError(t, err)
		change(&c)
		_, err = sim.New(c)
		require.ErrorContains(t, err, want)
	}
}

// TestTheClockEnds: a run that would outlast the clock stops at its end and says so.
func TestTheClockEnds(t *testing.T) {
	sc := scenario{
		size: 1, blocks: 1000, blockSize: 16, maxLen: 4000,
		policy:   &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 512},
		model:    prices{overhead: 3600 * sim.Second},
		requests: []sim.Request{{Prompt: 1, Output: 1200}, {ID: 1, Prompt: 1, Output: 1200}},
	}
	j := newJournal()
	cl := run(t, sc.config(j))
	require.True(t, cl.Overran())
	require.Equal(t, sim.ClockEnd, cl.Now())
	require.Equal(t, map[int32]string{0: "completed", 1: "unfinished"}, j.ended)
	sc.requests = sc.requests[:1]
	require.False(t, run(t, sc.config(newJournal())).Overran())
}
