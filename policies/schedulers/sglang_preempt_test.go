package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestUrgentRequestsTakeThePlacesOfOthers whose priorities are more than 10 less urgent. What a step under way computes
// of them is lost.
func TestUrgentRequestsTakeThePlacesOfOthers(t *testing.T) {
	waits := []string{"p1:8", "7 × d1", "p1:4", "2 × d1"}
	for _, c := range []struct {
		name           string
		priority       int8
		preempts       bool
		knowing, ahead []string
	}{
		{"by 11", 11, true, []string{"p1:8", "2 × d1", "p1:4", "2 × d1", "p1:11", "4 × d1"},
			[]string{"p1:8", "3 × d1", "p1:4", "2 × d1", "p1:11", "4 × d1"}},
		{"by 10", 10, true, waits, waits},
		{"by 11, without preemption", 11, false, waits, waits},
	} {
		p := sglang()
		p.MaxRunningRequests, p.Preemption, p.PreemptionMargin = 1, c.preempts, 10
		requests := []sim.Request{{Prompt: 8, Output: 8, Priority: c.priority},
			{Prompt: 4, Output: 3, Arrival: testcluster.At(3)}}
		byPriority := func(p *sim.PoolSpec) { p.Order = schedulers.Priority{} }
		assert.Equal(t, c.knowing, stepsOf(t, p, 10, byPriority, requests...), c.name)
		assert.Equal(t, c.ahead, stepsOf(t, p, 10, func(p *sim.PoolSpec) {
			byPriority(p)
			ahead(p)
		}, requests...), "%s, ahead", c.name)
	}
}

// TestARequestTakesAsManyPlacesAsItNeedsRoom: of 28 tokens two requests have 16, and 0.6 of the 10 that they may emit
// yet are kept for them. A third that may emit 10 takes the places of both: without the one it would have room for 9.
// The fourth has no place to take then, and waits for the next step, although one is free. If the third may emit 8, it
// takes one place, and the fourth the other.
func TestARequestTakesAsManyPlacesAsItNeedsRoom(t *testing.T) {
	for _, c := range []struct {
		output int32
		want   []string
	}{
		{8, []string{"2 × p1:4", "2 × d2", "p2:8"}},
		{10, []string{"2 × p1:4", "2 × d2", "2 × p1:4", "p1:7"}},
	} {
		p := sglang()
		p.MaxRunningRequests, p.Preemption, p.PreemptionMargin = 2, true, 10
		got := stepsOf(t, p, 7, func(p *sim.PoolSpec) { p.Order = schedulers.Priority{} },
			sim.Request{Prompt: 4, Output: 8, Priority: 20},
			sim.Request{Prompt: 4, Output: 8, Priority: 20, Arrival: testcluster.At(1)},
			sim.Request{Prompt: 4, Output: c.output, Arrival: testcluster.At(4)},
			sim.Request{Prompt: 4, Output: 1, Arrival: testcluster.At(4)})
		assert.Equal(t, c.want, got[:min(len(c.want), len(got))], "an output of %d", c.output)
	}
}
