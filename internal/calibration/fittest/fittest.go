// Package fittest has runs of a machine whose efficiencies are known, for the tests of fits.
package fittest

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// Deployment is what runs are of, on the prior that every fit starts from.
type Deployment struct{ Model, pool string }

// Dense is a model on one GPU.
func Dense() Deployment { return Deployment{"llama-3.1-8b", "gpu: h100-sxm"} }

// Parallel is a model on four.
func Parallel() Deployment { return Deployment{"llama-3.1-70b", "gpu: h100-sxm, tensor_parallel: 4"} }

// Run is a closed loop of so many clients, whose TTFT and TPOT are measured.
func (d Deployment) Run(clients, prompt, output int) measured.Run {
	id := fmt.Sprintf("%d clients, %d/%d", clients, prompt, output)
	return measured.Run{
		ID: id, Labels: measured.Labels{Model: d.Model, GPU: "h100-sxm", Engine: "vllm"},
		Scenario: fmt.Sprintf("model: %s\npools: [{%s, efficiency: prior}]\nworkload: {closed_loop: {concurrency: %d}, "+
			"requests: %d, "+
			"prompt_tokens: {distribution: lognormal, mean: %d, cv: 0.5}, output_tokens: {distribution: lognormal, mean: %d, "+
			"cv: 0.5}}\n",
			d.Model, d.pool, clients, max(20, 6*clients), prompt, output),
		Rows: []measured.Row{{ID: id, Request: -1, Values: []measured.Value{
			measured.Lead(measured.TTFT, measured.Mean, 100), measured.Lead(measured.TPOT, measured.Mean, 100),
		}}},
	}
}

// Grid is runs of so many clients each, with short and long prompts.
func (d Deployment) Grid(clients ...int) []measured.Run {
	var runs []measured.Run
	for _, clients := range clients {
		for _, prompt := range []int{200, 3000, 8000} {
			runs = append(runs, d.Run(clients, prompt, 40))
		}
	}
	return runs
}

// PriorOf is what every fit starts from.
func PriorOf(t require.TestingT) hardware.Efficiency {
	prior, err := catalog.EfficienciesOf("prior")
	require.NoError(t, err)
	return prior.Default
}

// Truth is far from the prior, but not beyond belief.
func Truth(t require.TestingT) hardware.Efficiency {
	e := PriorOf(t)
	e.Bandwidth, e.Compute, e.KVBandwidth = .7, .5, .6
	e.LayerS, e.SequenceS, e.FirstTokenS = 60e-6, 7e-6, 20e-3
	return e
}

// Measure measures the runs on a machine that achieves e.
func Measure(t require.TestingT, runs []measured.Run, e hardware.Efficiency) {
	for _, p := range Predict(t, runs, e) {
		p.Value.Measured = p.Predicted
	}
}

// Predict predicts the runs on such a machine.
func Predict(t require.TestingT, runs []measured.Run, e hardware.Efficiency) []validation.Prediction {
	predictions, err := validation.Predict(context.Background(), runs, func(*measured.Run,
		*hardware.Deployment) hardware.Efficiency {
		return e
	}, nil)
	require.NoError(t, err)
	for _, p := range predictions {
		require.Empty(t, p.Skip)
	}
	return predictions
}
