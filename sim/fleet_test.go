package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// two returns a scenario of two instances, of which the first gets the first request.
func two(requests ...sim.Request) scenario {
	sc := scenario{size: 2, blocks: 1000, blockSize: 16, maxLen: 1000, model: twoTimes{},
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 1000}}
	for i, r := range requests {
		r.ID, r.Traced = int32(i), true
		sc.requests = append(sc.requests, r)
	}
	return sc
}

// TestAFailureKeepsTheTokensOfStepsThatHaveEnded: five decode steps have ended at the latest then; the retry reads the
// prompt and what was emitted elsewhere at once, and the gap lasts from the latest token to the end of that.
func TestAFailureKeepsTheTokensOfStepsThatHaveEnded(t *testing.T) {
	for _, into := range []sim.Duration{0, 1, stepTime - 1} {
		for _, retry := range []bool{true, false} {
			sc := two(sim.Request{Prompt: 20, Output: 30})
			fails := sim.Time(promptTime + 5*stepTime + into)
			sc.script = []action{{at: fails, what: "fail", retry: retry}}
			j, cl := play(t, sc, fmt.Sprintf("%v into a step, retry %v", into, retry))
			want := []sim.Time{sim.Time(promptTime)}
			for len(want) < 6 {
				want = append(want, want[len(want)-1].Add(stepTime))
			}
			if retry {
				for want = append(want, fails.Add(promptTime)); len(want) < 30; {
					want = append(want, want[len(want)-1].Add(stepTime))
				}
				require.Equal(t, 1, j.gaps["restarted"])
				require.Equal(t, "completed", j.ended[0])
			} else {
				require.Equal(t, fails, j.end[0])
				require.Equal(t, "failed", j.ended[0])
			}
			require.Equal(t, want, j.tokens[0])
			require.Equal(t, 1, cl.State(cl.Now()).Live)
		}
	}
}

// TestAFailureKeepsTheTokenOfOneStep, where a single one of the steps that are taken together has ended.
func TestAFailureKeepsTheTokenOfOneStep(t *testing.T) {
	for steps := range sim.Duration(3) {
		sc := two(sim.Request{Prompt: 20, Output: 9})
		sc.script = []action{{at: sim.Time(promptTime + steps*stepTime + 1), what: "fail"}}
		j, _ := play(t, sc, fmt.Sprintf("%d steps", steps))
		require.Len(t, j.tokens[0], 1+int(steps))
	}
}

// TestADrainLosesNothing: the instance finishes what it has, queue and all, without a longer gap, and takes nothing
// more.
func TestADrainLosesNothing(t *testing.T) {
	var requests []sim.Request
	for i := range 40 {
		requests = append(requests, sim.Request{Prompt: 20, Output: 30, Arrival: sim.Time(i) * sim.Time(20*sim.Millisecond)})
	}
	sc := two(requests...)
	sc.roundRobin = true
	sc.script = []action{{at: sim.Time(400 * sim.Millisecond), what: "drain"}}
	j, cl := play(t, sc, "drained")
	require.Equal(t, int64(40), j.Outcomes[sim.Completed])
	require.Zero(t, j.gaps["restarted"])
	state := cl.State(cl.Now())
	require.Equal(t, [3]int{1, 0, 0}, [3]int{state.Live, state.Draining, state.Starting})
	require.Zero(t, state.KVUsed)
}

// TestAGateOpensWhenAnInstanceComes: requests that find no instance wait for one, in order, and for its cold start.
func TestAGateOpensWhenAnInstanceComes(t *testing.T) {
	sc := two(sim.Request{Prompt: 20, Output: 2}, sim.Request{Prompt: 20, Output: 2, Arrival: sim.Time(sim.Millisecond)},
		sim.Request{Prompt: 20, Output: 2, Deadline: sim.Time(sim.Second)})
	sc.size, sc.sizeMax, sc.coldStart = 0, 1, 3*sim.Second
	sc.script = []action{{at: sim.Time(sim.Second), what: "start", after: sim.Second}}
	j, _ := play(t, sc, "a gate")
	first := sim.Time(5*sim.Second + promptTime)
	for id := range int32(2) {
		require.Equal(t, []sim.Time{first, first.Add(stepTime)}, j.tokens[id])
	}
	require.Equal(t, "failed", j.ended[2], "its client has cancelled")
}

// TestACrashDuringAColdStartEndsIt: what had not come up serves no request, and can be started again, whether the
// failure would have retried requests or not.
func TestACrashDuringAColdStartEndsIt(t *testing.T) {
	for _, retry := range []bool{true, false} {
		sc := two(sim.Request{Prompt: 20, Output: 2})
		sc.size, sc.sizeMax, sc.coldStart = 0, 1, 3*sim.Second
		sc.script = []action{{at: sim.Time(sim.Second), what: "start"},
			{at: sim.Time(3 * sim.Second), what: "fail", retry: retry}, {at: sim.Time(10 * sim.Second), what: "start"}}
		j, cl := play(t, sc, "a crash")
		require.Equal(t, sim.Time(13*sim.Second+promptTime), j.tokens[0][0])
		require.Zero(t, cl.Totals().InstancesFailed, "it was none yet")
		require.InDelta(t, 2+cl.Now().Seconds()-10, cl.PoolTotals(0).UpS, 1e-9, "both starts are paid for")
	}
}

// TestARequestWakesAPoolOfNoInstance: it and those behind it wait for the cold start, from its arrival on.
func TestARequestWakesAPoolOfNoInstance(t *testing.T) {
	sc := two(sim.Request{Prompt: 20, Output: 2, Arrival: sim.Time(sim.Second)},
		sim.Request{Prompt: 20, Output: 2, Arrival: sim.Time(2 * sim.Second)})
	sc.size, sc.sizeMax, sc.coldStart = 0, 2, 3*sim.Second
	sc.activates, sc.activation = true, 500*sim.Millisecond
	sc.script = []action{{at: 0, what: "drain"}} // of what is down
	j, cl := play(t, sc, "woken")
	first := sim.Time(4500 * sim.Millisecond).Add(promptTime)
	for id := range int32(2) {
		require.Equal(t, []sim.Time{first, first.Add(stepTime)}, j.tokens[id])
	}
	require.InDelta(t, cl.Now().Seconds()-1, cl.PoolTotals(0).UpS, 1e-9, "one instance is paid for, from the arrival on")
}

// TestInstancesOfTheBeginningAreUp unless their pool starts cold.
func TestInstancesOfTheBeginningAreUp(t *testing.T) {
	for _, cold := range []bool{false, true} {
		sc := two(sim.Request{Prompt: 20, Output: 1})
		sc.coldStart, sc.startsCold = 3*sim.Second, cold
		want := sim.Time(promptTime)
		if cold {
			want = want.Add(3 * sim.Second)
		}
		j, _ := play(t, sc, "begins")
		require.Equal(t, []sim.Time{want}, j.tokens[0])
	}
}

// TestRequestsThatWaitForAnInstanceThatNeverStartsAreReported: nothing is dropped in silence.
func TestRequestsThatWaitForAnInstanceThatNeverStartsAreReported(t *testing.T) {
	sc := handing(sim.Stage{}, sim.Request{Prompt: 32, Output: 20}, sim.Request{Prompt: 32, Output: 20},
		sim.Request{Prompt: 32, Output: 20})
	sc.blocks, sc.maxLen = 5, 80
	sc.script = []action{{at: 0, what: "drain", instance: 1}}
	j, _ := play(t, sc, "no decode pool")
	require.Equal(t, int64(3), j.Outcomes[sim.Unfinished])
}

// TestASwitchMovesAnInstance: when it has served what it had, its GPUs serve another pool.
func TestASwitchMovesAnInstance(t *testing.T) {
	sc := handing(sim.Stage{Tokens: 1}, sim.Request{Prompt: 32, Output: 20},
		sim.Request{Prompt: 32, Output: 5, Arrival: sim.Time(sim.Second)})
	sc.size, sc.pools[0].size, sc.pools[0].sizeMax = 2, 0, 1
	sc.script = []action{{at: sim.Time(promptTime / 2), what: "switch", pool: 1, after: sim.Second}}
	j, cl := play(t, sc, "switched")
	// The prompt's blocks stay with the instance that read it, so it can go only when they have been received.
	require.Equal(t, "unfinished", j.ended[0])
	require.Equal(t, int64(0), cl.Totals().Transfers)

	sc.script[0].instance = 1
	j, cl = play(t, sc, "the other one switched")
	up := sim.Time(promptTime / 2).Add(sim.Second)
	require.Equal(t, []sim.Time{sim.Time(promptTime), up.Add(stepTime)}, j.tokens[0][:2])
	require.Equal(t, 2, int(j.Outcomes[sim.Completed]))
	require.Equal(t, int64(2), cl.Totals().Transfers)
}

// TestAClientMayCancelAnywhere: at a gate, waiting for room, on its way, waiting to be admitted, or in a batch: what
// was allocated for it is free at once, and later requests are served.
func TestAClientMayCancelAnywhere(t *testing.T) {
	cover := map[string]int{}
	for _, push := range []bool{false, true} {
		for ms := sim.Duration(1); ms < 300; ms++ {
			link := sim.Link{Latency: 7_300 * sim.Microsecond, Token: 900 * sim.Microsecond, Layers: 4}
			sc := handing(sim.Stage{Link: link, Push: push},
				sim.Request{Prompt: 20, Output: 12}, sim.Request{Prompt: 30, Output: 8, Deadline: sim.Time(ms * sim.Millisecond)},
				sim.Request{Prompt: 20, Output: 12})
			sc.pools[0].maxNumSeqs, sc.pools[0].sizeMax, sc.pools[0].size = 1+int(ms%2), 1, min(1, int(ms%5)/2)
			sc.script = []action{{at: sim.Time(60 * sim.Millisecond), what: "start", pool: 1}}
			twin, j := runNaive(sc), newJournal()
			cl := run(t, sc.config(j))
			compare(t, fmt.Sprintf("pushed %v, after %d ms", push, ms), twin, j, cl)
			require.Equal(t, "completed", j.ended[2])
			cover[j.ended[1]]++
			for what, n := range twin.cover {
				cover[what] += n
			}
		}
	}
	for _, what := range []string{"cancellations and failures at a gate", "dropped while inbound",
		"dropped while transferring",
		"dropped while transferred", "failed", "completed"} {
		require.Positive(t, cover[what], what)
	}
}

// TestManyReplicasMayBeUpForLong: three are drained after 50 days, which sums to more than a clock holds.
func TestManyReplicasMayBeUpForLong(t *testing.T) {
	const day = 86400 * sim.Second
	sc := two(sim.Request{Prompt: 20, Output: 2}, sim.Request{Prompt: 20, Output: 2, Arrival: sim.Time(51 * day)})
	sc.size = 4
	for i := range 3 {
		sc.script = append(sc.script, action{at: sim.Time(50 * day), what: "drain", instance: i})
	}
	_, cl := play(t, sc, "50 days")
	require.InEpsilon(t, (3*50+51)*86400, cl.PoolTotals(0).UpS, 1e-6)
}
