package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestPlacesTakenEqualTheNaiveTwin: where urgent requests take the places of others in SGLang's batch, prompts share
// prefixes and blocks are few, every token comes when the naive simulator emits it.
func TestPlacesTakenEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		sc := drawSharing(t)
		sc.anonymous, sc.speculation = false, nil
		sc.promptMax, sc.swapBlocks = 0, 0
		drawSGLang(t, &sc, rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(t, "places"))
		p := sc.policy.(*schedulers.SGLang)
		p.Order, sc.order = schedulers.FCFS, schedulers.Priority{}
		p.Preemption, p.PreemptionMargin = true, rapid.Int32Range(0, 1).Draw(t, "margin")
		drawSpeculation(t, &sc)
		sc.drawRadix(t)
		hurry := rapid.Int32Range(0, 30).Draw(t, "hurry")
		for i := range sc.requests { // the later, the more urgent
			r := &sc.requests[i]
			r.Priority, r.Arrival, r.Deadline = r.Priority-int8(i/4), r.Arrival>>hurry, r.Deadline>>hurry
		}
		twin := runNaive(sc)
		equalsTwin(t, sc, twin, func(cl *sim.Cluster) { require.NoError(t, sim.CheckCaches(cl)) })
		for what, n := range twin.cover {
			cover[what] += n
		}
	})
	wantCovered(t, drawn, cover, map[string]int{"places taken": 150, "tokens dropped for others": 25, "mixed steps": 100,
		"prompts cut": 100})
}

// drawPreemption has urgent requests take the places of others in SGLang's batch, if its queue goes by priorities.
func (sc *scenario) drawPreemption() {
	if p, ok := sc.policy.(*schedulers.SGLang); ok && p.Order == schedulers.FCFS && p.RetractDecodeSteps < 20 {
		sc.order = schedulers.Priority{}
		p.Preemption, p.PreemptionMargin = true, p.RetractDecodeSteps/5
	}
}
