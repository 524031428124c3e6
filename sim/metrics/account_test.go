package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
)

// A run is counted as its steps are, also where a part shrinks while another grows.
func TestARunIsAccountedAsItsSteps(t *testing.T) {
	g := sim.Segment{First: 1000, Steps: 100}
	g.Part[sim.Weights] = sim.Affine{A: 300}
	g.Part[sim.KV] = sim.Affine{A: 100, B: 5}
	g.Part[sim.Overhead] = sim.Affine{A: 600, B: -5}
	const n, tokens = 100, 7
	var run, steps account
	var parts sim.Parts
	g.Sum(0, n, &parts)
	run.add(&g, n, &parts, tokens)
	for i := range n {
		step := g.Tail(i)
		step.Sum(0, 1, &parts)
		steps.add(&step, 1, &parts, tokens)
	}
	assert.Equal(t, steps, run)
	assert.InDelta(t, float64(n*tokens*1000), run.step(), 1e-6)
}
