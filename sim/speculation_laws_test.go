package sim_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/acceptance"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// drawRoomy draws a scenario in which no request is held up: every step takes a second, and the cache, the budget and
// the the number of sequences are enough for all.
func drawRoomy(t *rapid.T) scenario {
	sc := scenario{size: 1, blocks: 1 << 20, blockSize: rapid.Int32Range(1, 20).Draw(t, "block_size"), maxLen: 1000,
		model: ticks(sim.Second)}
	sc.requests = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sim.Request {
		r := sim.Request{Prompt: rapid.Int32Range(1, 300).Draw(t, "prompt"),
			Output: rapid.Int32Range(1, 60).Draw(t, "output"), Traced: true}
		if rapid.Bool().Draw(t, "max_tokens") {
			r.MaxOutput = r.Output + rapid.Int32Range(0, 10).Draw(t, "more")
		}
		return r
	}), 1, 10).Draw(t, "requests")
	for i := range sc.requests {
		sc.requests[i].ID = int32(i)
		sc.requests[i].Arrival = sim.Time(sim.Duration(i/3) * 5 * sim.Second / 2)
	}
	return sc
}

func speculate(tokens int32, a sim.Acceptance) *sim.Speculation {
	return &sim.Speculation{Tokens: tokens, Acceptance: a}
}

// TestWhereNothingIsAcceptedNothingChanges: drafts that are all rejected give every token when it comes without any.
func TestWhereNothingIsAcceptedNothingChanges(t *testing.T) {
	t.Parallel()
	for _, policy := range []sim.Scheduler{
		&schedulers.Continuous{MaxNumSeqs: 20, MaxNumBatchedTokens: 10_000},
		&schedulers.PrefillFirst{MaxNumSeqs: 20, MaxNumBatchedTokens: 10_000},
		&schedulers.SGLang{
			MaxRunningRequests: 20, MaxPrefillTokens: 10_000, EnableMixedChunk: true, InitNewTokenRatio: schedulers.RatioOne / 2,
			ClipMaxNewTokens:   4096,
			RetractDecodeSteps: 20,
		},
	} {
		rapid.Check(t, func(t *rapid.T) {
			sc := drawRoomy(t)
			sc.policy = policy
			without, with := newJournal(), newJournal()
			off := run(t, sc.config(without))
			sc.speculation = speculate(rapid.Int32Range(0, 7).Draw(t, "num_speculative_tokens"), random{rates: []float64{0}})
			on := run(t, sc.config(with))
			require.Equal(t, without.tokens, with.tokens)
			require.Equal(t, off.PoolTotals(0).Steps, on.PoolTotals(0).Steps)
			require.Zero(t, on.PoolTotals(0).Accepted)
		})
	}
}

// TestWhereAllIsAcceptedStepsEmitOneMoreThanDrafted: after the first token, K+1 come with every step, and the last is
// cut.
func TestWhereAllIsAcceptedStepsEmitOneMoreThanDrafted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sc := drawRoomy(t)
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 20, MaxNumBatchedTokens: 10_000}
		k := rapid.Int32Range(0, 7).Draw(t, "num_speculative_tokens")
		sc.speculation = speculate(k, random{rates: []float64{1}})
		j := newJournal()
		cl := run(t, sc.config(j))
		accepted := int64(0)
		for _, r := range sc.requests {
			times := j.tokens[r.ID]
			require.Len(t, times, int(r.Output))
			for i, at := range times {
				steps := (int32(i) + k) / (k + 1) // the first token comes with the prompt
				require.Equal(t, times[0].Add(sim.Duration(steps)*sim.Second), at, "token %d of request %d", i, r.ID)
			}
			accepted += int64(r.Output - 1 - (r.Output-1+k)/(k+1))
		}
		require.Equal(t, accepted, cl.PoolTotals(0).Accepted)
	})
}

// TestNoDraftsAreNoSpeculation: speculation of no tokens changes nothing at all, whatever is full or held up.
func TestNoDraftsAreNoSpeculation(t *testing.T) {
	t.Parallel()
	swapped, drawn := int64(0), 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		if _, ok := sc.policy.(*schedulers.Static); ok {
			return
		}
		without, with := newJournal(), newJournal()
		sc.speculation = nil
		_, sglang := sc.policy.(*schedulers.SGLang)
		if sc.queues() && (sglang || len(sc.stages) > 1 && !sc.fillsQueue()) { // which they do not with drafts
			sc.ahead = false
		}
		off := run(t, sc.config(without))
		sc.speculation = speculate(0, random{rates: []float64{1}})
		on := run(t, sc.config(with))
		for _, r := range sc.requests {
			equalTimes(t, without.tokens[r.ID], with.tokens[r.ID], fmt.Sprintf("request %d", r.ID))
			require.Equal(t, without.ended[r.ID], with.ended[r.ID], "request %d", r.ID)
			require.Equal(t, without.end[r.ID], with.end[r.ID], "request %d", r.ID)
		}
		require.Equal(t, without.gaps, with.gaps)
		equalHists(t, &without.TTFT, &with.TTFT, "TTFT")
		equalHists(t, &without.ITL, &with.ITL, "ITL")
		require.Equal(t, off.PoolTotals(0), on.PoolTotals(0))
		require.Equal(t, off.Totals(), on.Totals())
		swapped += on.PoolTotals(0).Swaps
	})
	wantCovered(t, drawn, map[string]int{"requests swapped out": int(swapped)}, map[string]int{"requests swapped out": 20})
}

// TestStepsEmitWhatTheLawExpects: if each draft after accepted ones is accepted with chance γ, a step of K drafts emits
//
//	E[1+a] = (1 − γ^(K+1)) / (1 − γ)
//
// tokens (Leviathan et al., ICML '23, eq. 1). Over n steps the mean lies within four standard errors of that, but for
// the last steps of the requests, which are cut.
func TestStepsEmitWhatTheLawExpects(t *testing.T) {
	const requests, output = 8, 10_000
	for _, k := range []int32{1, 3, 7} {
		for _, gamma := range []float64{.3, .8, .95} {
			law, err := acceptance.New(acceptance.Law{Process: "iid", Rate: gamma}, int(k), 1)
			require.NoError(t, err)
			want := (1 - math.Pow(gamma, float64(k+1))) / (1 - gamma)
			// P(1+a ≥ i) = γ^(i−1) for i ≤ K+1, and E[(1+a)²] = Σ (2i−1)·P(1+a ≥ i).
			square := 0.0
			for i := 1.0; i <= float64(k+1); i++ {
				square += (2*i - 1) * math.Pow(gamma, i-1)
			}
			for _, a := range []sim.Acceptance{random{7, []float64{gamma}}, law} {
				sc := scenario{
					size: 1, blocks: 1 << 20, blockSize: 16, maxLen: 2 * output, model: ticks(sim.Second),
					speculation: speculate(k, a),
					policy:      &schedulers.Continuous{MaxNumSeqs: requests, MaxNumBatchedTokens: 1000},
				}
				for i := range int32(requests) {
					sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 1 + i, Output: output})
				}
				cl := run(t, sc.config(newJournal()))
				steps := float64(cl.PoolTotals(0).DecodeSum)
				bound := 4*math.Sqrt((square-want*want)/steps) + requests*float64(k)/steps
				require.InDelta(t, want, requests*(output-1)/steps, bound, "%d drafts, γ = %v, %T", k, gamma, a)
				require.Less(t, bound, .05*want, "a bound that says something")
			}
		}
	}
}

// TestABatchOfManyDraftsLess: of the rows by batch size the first that is large enough counts, and beyond the last
// there are no drafts.
func TestABatchOfManyDraftsLess(t *testing.T) {
	for decodes, want := range map[int32]int32{1: 5, 2: 5, 3: 2, 4: 2, 5: 0, 9: 0} {
		sc := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 20, MaxNumBatchedTokens: 500}}
		sc.speculation = speculate(7, random{rates: []float64{1}})
		sc.speculation.Adaptive = []sim.DraftRow{{Decodes: 2, Tokens: 5}, {Decodes: 4, Tokens: 2}}
		for i := range decodes {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 10, Output: 31, Traced: true})
		}
		j := newJournal()
		cl := run(t, sc.config(j))
		require.Equal(t, int64(1+30/(1+want)), cl.PoolTotals(0).Steps, fmt.Sprintf("%d sequences", decodes))
		require.Equal(t, int64(decodes*30/(1+want)*want), cl.PoolTotals(0).Accepted)
	}
}

// TestAPromptThatDraftsHoldUpIsPreempted: a decode and its drafts spend the budget, so a prompt that came after it
// waits with what it has computed, and loses that when the decode needs the blocks.
func TestAPromptThatDraftsHoldUpIsPreempted(t *testing.T) {
	sc := scenario{
		size: 1, blocks: 31, blockSize: 1, maxLen: 31, model: ticks(sim.Second),
		speculation: speculate(3, random{rates: []float64{0}}),
		policy:      &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 4, LongPrefillTokenThreshold: 1},
	}
	sc.requests = []sim.Request{{ID: 0, Prompt: 1, Output: 30, Traced: true}, {ID: 1, Prompt: 20, Output: 2, Traced: true}}
	twin, j := runNaive(sc), newJournal()
	compare(t, "two", twin, j, run(t, sc.config(j)))
	require.Positive(t, twin.cover["steps that preempt"])
	require.Positive(t, twin.cover["prompts without a chunk"])
}

// TestWhatIsComputedAgainHasNames: the last step of request 1 before it is preempted accepts a draft, whose block has
// no name yet. When it has been computed again, with the prompt, all of its 9 blocks have names, and are freed last.
// The 10 tokens of request 2 take the 7 that hold neither them nor the prompt of request 0, and the last 3 of that.
func TestWhatIsComputedAgainHasNames(t *testing.T) {
	sc := scenario{size: 1, blocks: 36, blockSize: 1, maxLen: 35, tree: new(sim.Contents), model: ticks(sim.Second),
		policy:      &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100, MaxModelLen: 35},
		speculation: speculate(1, random{rates: []float64{1}})}
	sc.speculation.DelayedNames = true
	content := sc.tree.Add(0, 20)
	sc.requests = []sim.Request{{Prompt: 20, Output: 15, Content: content, Traced: true},
		{ID: 1, Prompt: 4, Output: 6, Arrival: 1, Traced: true},
		{ID: 2, Prompt: 10, Output: 1, Arrival: sim.Time(100 * sim.Second), Traced: true},
		{ID: 3, Prompt: 21, Output: 1, Content: content, Arrival: sim.Time(200 * sim.Second), Traced: true}}
	j, _ := play(t, sc, "computed again")
	require.Equal(t, int32(17), j.cached[3])
}
