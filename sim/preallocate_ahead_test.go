package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// settleDecodeSide makes a pool that caches come to one of SGLang with its overlap scheduler, if it is of SGLang.
func (sc *scenario) settleDecodeSide() bool {
	if _, ok := sc.policy.(*schedulers.SGLang); !ok || sc.maxNumSeqs == 0 {
		return false
	}
	sc.onlyCaches, sc.ahead, sc.uncached = true, true, true
	sc.speculation, sc.ranks = nil, 0
	sc.offload, sc.tiers, sc.swapBlocks = 0, nil, 0
	sc.windowed = sim.Windowed{} // a token may take more than Reserved leaves; then what is retracted is restored for ever
	for (sc.maxLen+sc.blockSize)%4 == 0 {
		sc.maxLen++
		sc.blocks += 8 // at most for the token
	}
	for sc.blocks%4 < 2 {
		sc.blocks++
	}
	return sc.leavesFree().Restores && sc.queues()
}

// TestDecodeSidesWithOverlapEqualTheNaiveTwin: few of the usual cases have one.
func TestDecodeSidesWithOverlapEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		sc := drawFleetScenario(t)
		drawn++
		last := len(sc.pools) - 1
		for _, route := range sc.routes {
			if n := len(route) - 1; route[n].Pool == last+1 && (n == 0 || !route[n-1].Cache) {
				return
			}
		}
		if last < 0 || len(sc.stages) > 1 || !sc.pools[last].settleDecodeSide() {
			return
		}
		twin := runNaive(sc)
		for _, most := range []int{1, 0, 3} {
			j := newJournal()
			c := sc.config(j)
			c.MaxRun = most
			compare(t, fmt.Sprintf("%d steps at once", most), twin, j, run(t, c))
		}
		coverFleet(cover, twin)
	})
	wantCovered(t, drawn, cover, map[string]int{"caches accepted as a step begins": 5})
}

// TestMoreThanThePlacesOfCachesEnd: two requests that a pool reads itself end together, where caches have one place.
// SGLang's batch still has both of them when the next step is composed, so that the cache that has come waits (sglang
// 0.5.23, srt/disaggregation/decode.py, num_not_used_batch), until the request has ended that joins in that step.
func TestMoreThanThePlacesOfCachesEnd(t *testing.T) {
	arrival := sim.Time(promptTime).Add(sim.Millisecond)
	sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Layers: 1, Latency: promptTime}},
		sim.Request{Prompt: 5, Output: 8},
		sim.Request{Prompt: 5, Output: 20, Arrival: arrival},
		sim.Request{Prompt: 5, Output: 20, Arrival: arrival},
		sim.Request{Prompt: 5, Output: 3, Arrival: sim.Time(2*promptTime + 19*stepTime)})
	sc.routes = []sim.Route{sc.routes[0], {{Pool: 1}}, {{Pool: 1}}, {{Pool: 1}}}
	decode := &sc.pools[0]
	decode.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 1000, ClipMaxNewTokens: 1,
		RetractDecodeSteps: 1}
	decode.blocks, decode.blockSize, decode.maxNumSeqs = 1201, 1, 1
	require.Positive(t, decode.leavesFree().Tokens)
	j, _ := play(t, sc, "one place")
	require.Equal(t, j.tokens[1][19], j.tokens[2][19])
	require.Greater(t, j.tokens[0][1], j.tokens[3][2])
}

// TestACacheComesOnceAnotherHasWhatItShares: there is no room for a second prompt of 40 blocks, but the first one
// shares them all as soon as it runs, and the second comes with the step after.
func TestACacheComesOnceAnotherHasWhatItShares(t *testing.T) {
	request := sim.Request{Prompt: 640, Output: 20, Content: 1}
	sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Layers: 1, Latency: promptTime}}, request, request)
	sc.tree = new(sim.Contents)
	sc.tree.Add(0, 640)
	decode := &sc.pools[0]
	decode.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 1000, ClipMaxNewTokens: 1,
		RetractDecodeSteps: 1}
	decode.blocks, decode.maxNumSeqs = 73, 1
	require.Positive(t, decode.leavesFree().Slots)
	j, _ := play(t, sc, "shared")
	require.Less(t, j.moved[1][0], j.tokens[0][3])
}

// TestAStepThatRetractsHasNoPrompt: with 10 blocks of 32 tokens and 3 in host memory, request 2, of the longest prompt,
// is retracted to host memory as others need a second block, and request 4 as three need a third one. There is no room
// for it there, so it is computed again, while all others end with the step under way. The step that is composed as
// that begins is of these three still, in vain: SGLang looks for prompts before it retracts. Then come 25 ms for the
// prompt, and a step of request 2 with the batch of before.
func TestAStepThatRetractsHasNoPrompt(t *testing.T) {
	later := sim.Time(2 * stepTime)
	sc := handing(sim.Stage{Link: sim.Link{Layers: 1}},
		sim.Request{Prompt: 1, Output: 64},
		sim.Request{Prompt: 1, Output: 59, Arrival: later},
		sim.Request{Prompt: 7, Output: 32, Arrival: later},
		sim.Request{Prompt: 6, Output: 59, Arrival: later},
		sim.Request{Prompt: 6, Output: 59, Arrival: later},
		sim.Request{Prompt: 1, Output: 32, Arrival: later})
	sc.policy.(*schedulers.Continuous).MaxNumSeqs = 64
	decode := &sc.pools[0]
	decode.policy = &schedulers.SGLang{MaxRunningRequests: 64, MaxPrefillTokens: 64, ChunkedPrefillSize: 64,
		ClipMaxNewTokens: 1, RetractDecodeSteps: 1}
	decode.blocks, decode.blockSize = 10, 32
	decode.maxNumSeqs, decode.maxLen = 64, 74
	decode.ahead, decode.onlyCaches, decode.uncached = true, true, true
	require.True(t, decode.leavesFree().Restores)
	require.EqualValues(t, 3, decode.hostBlocks())
	j, _ := play(t, sc, "little host memory")
	end := j.tokens[0][63]
	require.Equal(t, end, j.tokens[1][58])
	require.Equal(t, end, j.tokens[3][58])
	require.Equal(t, end.Add(stepTime+promptTime), j.tokens[4][58])
	require.Equal(t, end.Add(stepTime+promptTime+stepTime), j.tokens[2][31])
}

// TestACacheWaitsForWhatIsRetracted: request 2 is in host memory from its eighth token on. Request 1 ends at the time
// at which the cache of request 3 comes, and has its place until the next step is composed. So two run, and SGLang
// does not ask which caches have come: requests 2 and 3 wait until request 0 has ended, too.
func TestACacheWaitsForWhatIsRetracted(t *testing.T) {
	sc := handing(sim.Stage{Link: sim.Link{Layers: 1, Latency: 10 * stepTime}},
		sim.Request{Prompt: 3, Output: 26, Arrival: sim.Time(5 * stepTime)},
		sim.Request{Prompt: 1, Output: 12, Arrival: sim.Time(7 * stepTime)},
		sim.Request{Prompt: 6, Output: 15, Arrival: sim.Time(7 * stepTime)},
		sim.Request{Prompt: 4, Output: 27, Arrival: sim.Time(7 * stepTime)})
	decode := &sc.pools[0]
	decode.policy = &schedulers.SGLang{MaxRunningRequests: 64, MaxPrefillTokens: 64, ChunkedPrefillSize: 64,
		ClipMaxNewTokens: 1, RetractDecodeSteps: 1}
	decode.blocks, decode.blockSize = 6, 8
	decode.maxNumSeqs, decode.maxLen = 64, 46
	decode.onlyCaches, decode.uncached = true, true
	require.True(t, decode.leavesFree().Restores)
	j, _ := play(t, sc, "10 steps away")
	require.Equal(t, j.tokens[1][11], j.moved[3][1])
	end := j.tokens[0][25]
	require.Equal(t, j.tokens[1][11].Add(11*stepTime), end)
	require.Equal(t, end, j.tokens[3][0])
	require.Less(t, j.tokens[2][7], j.moved[3][1])
	require.Equal(t, end.Add(stepTime), j.tokens[2][8])
}
