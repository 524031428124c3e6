package schedulers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// rankSteps is a step model that writes down at which second a step with prompts begins, and on which ranks.
type rankSteps struct {
	second int
	all    []string
}

// Price implements sim.StepModel.
func (s *rankSteps) Price(ranks []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second, Steps: 1}
	var on []string
	for i := range ranks {
		if n := ranks[i].Prefills; n > 0 {
			on = append(on, fmt.Sprintf("%d on %d", n, i))
		}
	}
	if on != nil {
		s.all = append(s.all, fmt.Sprintf("%d s: %s", s.second, strings.Join(on, ", ")))
	}
	s.second++
}

// TestPromptsOfRanksWaitUntilEachHasOne, or for every fifth step since prompts joined, however long they have waited
// for it. Requests go to one rank after the other, and all are of 4 tokens.
func TestPromptsOfRanksWaitUntilEachHasOne(t *testing.T) {
	at := func(seconds float64, output int32) sim.Request {
		return sim.Request{Arrival: sim.Time(0).Add(sim.SecondsUp(seconds)), Prompt: 4, Output: output}
	}
	both := []sim.Request{at(0, 30), at(0, 30)}
	for _, c := range []struct {
		name     string
		wait     int
		seqs     int
		requests []sim.Request
		want     []string
	}{
		{"without waits", 0, 3, append(both, at(2.5, 2)), []string{"0 s: 1 on 0, 1 on 1", "3 s: 1 on 0"}},
		{"for the other rank, in vain", 5, 3, append(both, at(2.5, 2)), []string{"0 s: 1 on 0, 1 on 1", "5 s: 1 on 0"}},
		{"from a step in which none waited", 5, 3, append(both, at(6.5, 2)), []string{"0 s: 1 on 0, 1 on 1", "10 s: 1 on 0"}},
		{"until the other rank has one", 5, 3, append(both, at(1.5, 20), at(3.5, 20), at(4.5, 2)),
			[]string{"0 s: 1 on 0, 1 on 1", "4 s: 1 on 0, 1 on 1", "9 s: 1 on 0"}},
		{"which decodes nothing", 5, 3, []sim.Request{at(0, 30), at(0, 3), at(3.5, 2)},
			[]string{"0 s: 1 on 0, 1 on 1", "4 s: 1 on 0"}},
		{"which has no room for its own", 5, 2, append(both, at(1.5, 3), at(1.5, 36), at(7.5, 2), at(7.5, 2)),
			[]string{"0 s: 1 on 0, 1 on 1", "2 s: 1 on 0, 1 on 1", "12 s: 1 on 0", "30 s: 1 on 1"}},
	} {
		p := &schedulers.Continuous{MaxNumSeqs: c.seqs, MaxNumBatchedTokens: 16, Unchunked: true, BatchWaitIters: c.wait}
		model := &rankSteps{}
		serve(t, p, model, 100, func(pool *sim.PoolSpec) {
			pool.Ranks, pool.Balancer = 2, func() sim.Router { return &routers.RoundRobin{} }
		}, c.requests)
		assert.Equal(t, c.want, model.all, c.name)
	}
}

// TestAllRanksWaitForTheLast: of three ranks two have a prompt at 2.5 s, and both wait for the third until the fifth
// step.
func TestAllRanksWaitForTheLast(t *testing.T) {
	request := func(seconds float64, output int32) sim.Request {
		return sim.Request{Arrival: sim.Time(0).Add(sim.SecondsUp(seconds)), Prompt: 4, Output: output}
	}
	p := &schedulers.Continuous{MaxNumSeqs: 3, MaxNumBatchedTokens: 16, Unchunked: true, BatchWaitIters: 5}
	model := &rankSteps{}
	serve(t, p, model, 100, func(pool *sim.PoolSpec) {
		pool.Ranks, pool.Balancer = 3, func() sim.Router { return &routers.RoundRobin{} }
	}, []sim.Request{request(0, 30), request(0, 30), request(0, 30), request(2.5, 2), request(2.5, 2)})
	assert.Equal(t, []string{"0 s: 1 on 0, 1 on 1, 1 on 2", "5 s: 1 on 0, 1 on 1"}, model.all)
}
