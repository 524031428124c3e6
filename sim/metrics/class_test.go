package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
)

// TestAClassHasItsOwnRequests, judged by its own limits.
func TestAClassHasItsOwnRequests(t *testing.T) {
	f := &Full{}
	f.Warmup, f.SLO = 5, Limits{E2E: 20}
	f.SeparateClasses([]Class{{Name: "chat", SLO: Limits{E2E: 10}}, {Name: "batch"}})
	for i, e2e := range []sim.Time{10, 11, 500} {
		r := sim.Request{Class: uint8(i / 2), Arrival: 6, Output: 2, Prompt: 100}
		r.Record = sim.Record{First: 7, Last: 6 + e2e, Emitted: 2, Cached: 16, Preemptions: 1}
		f.First(&r)
		f.Done(&r, 6+e2e, sim.Completed)
	}
	f.Done(&sim.Request{Class: 1, Arrival: 6, Prompt: 9}, 7, sim.Rejected)
	f.Done(&sim.Request{Class: 1, Arrival: 1, Prompt: 9}, 7, sim.Failed)
	got := f.classResults(2)
	assert.Equal(t, &SLO{E2ES: 10e-12, Attainment: 0.5, GoodputPerS: 0.5}, got[0].SLO)
	assert.Nil(t, got[1].SLO)
	assert.Equal(t, &SLO{E2ES: 20e-12, Attainment: 0.5, GoodputPerS: 1}, f.slo(2), "two of three, and one was rejected")
	assert.Equal(t, Requests{Arrived: 2, Completed: 2, Preemptions: 2}, got[0].Requests)
	assert.Equal(t, Requests{Arrived: 3, Completed: 1, Rejected: 1, Failed: 1, Preemptions: 1}, got[1].Requests)
	assert.Equal(t, Tokens{Prompt: 200, PromptCached: 32, Output: 4}, got[0].Tokens)
	assert.EqualValues(t, 2, got[0].Latency.TTFT.N)
	assert.EqualValues(t, 1, got[1].Latency.E2E.N)
	assert.EqualValues(t, 3, f.E2E.N())
}

// TestOneClassTakesAllTokens: an instance counts no classes where there is one.
func TestOneClassTakesAllTokens(t *testing.T) {
	f := &Full{}
	f.SeparateClasses(nil)
	assert.Empty(t, f.classResults(1))
	f.SeparateClasses([]Class{{Name: "all"}})
	g := &sim.Segment{First: 1000, Steps: 3}
	f.Run(new(sim.Instance), 0, g, 3, 7)
	assert.EqualValues(t, 21, f.classes[0].ITL.N())
	assert.EqualValues(t, 21, f.ITL.N())
}
