package calibration

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// deployment is what runs are of, on the prior that every fit starts from.
type deployment struct{ model, pool string }

var (
	dense    = deployment{"llama-3.1-8b", "gpu: h100-sxm"}
	parallel = deployment{"llama-3.1-70b", "gpu: h100-sxm, tensor_parallel: 4"}
)

// run is a closed loop of so many clients, whose TTFT and TPOT are measured.
func (d deployment) run(clients, prompt, output int) measured.Run {
	id := fmt.Sprintf("%d clients, %d/%d", clients, prompt, output)
	return measured.Run{
		ID: id, Labels: measured.Labels{Model: d.model, GPU: "h100-sxm", Engine: "vllm"},
		Scenario: fmt.Sprintf("model: %s\npools: [{%s, efficiency: prior}]\nworkload: {closed_loop: {concurrency: %d}, "+
			"requests: %d, "+
			"prompt_tokens: {distribution: lognormal, mean: %d, cv: 0.5}, output_tokens: {distribution: lognormal, mean: %d, "+
			"cv: 0.5}}\n",
			d.model, d.pool, clients, max(20, 6*clients), prompt, output),
		Rows: []measured.Row{{ID: id, Request: -1, Values: []measured.Value{
			measured.Lead(measured.TTFT, measured.Mean, 100), measured.Lead(measured.TPOT, measured.Mean, 100),
		}}},
	}
}

// grid is runs of so many clients each, with short and long prompts.
func (d deployment) grid(clients ...int) []measured.Run {
	var runs []measured.Run
	for _, clients := range clients {
		for _, prompt := range []int{200, 3000, 8000} {
			runs = append(runs, d.run(clients, prompt, 40))
		}
	}
	return runs
}

func priorOf(t require.TestingT) hardware.Efficiency {
	prior, err := catalog.EfficienciesOf("prior")
	require.NoError(t, err)
	return prior.Default
}

// truth is far from the prior, but not beyond belief.
func truth(t require.TestingT) hardware.Efficiency {
	e := priorOf(t)
	e.Bandwidth, e.Compute, e.KVBandwidth = .7, .5, .6
	e.LayerS, e.SequenceS, e.FirstTokenS = 60e-6, 20e-6, 20e-3
	return e
}

// measure measures the runs on a machine that achieves e.
func measure(t require.TestingT, runs []measured.Run, e hardware.Efficiency) {
	for _, p := range predict(t, runs, e) {
		p.Value.Measured = p.Predicted
	}
}

func predict(t require.TestingT, runs []measured.Run, e hardware.Efficiency) []validation.Prediction {
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

// own calibrates on runs of one file.
func own(t require.TestingT, runs []measured.Run) *Calibration {
	c, err := Own(context.Background(), []*measured.File{{Runs: runs}}, configs.Options{}, nil)
	require.NoError(t, err)
	return c
}

// refused is the error of a calibration.
func refused(t require.TestingT, runs ...measured.Run) string {
	c, err := Own(context.Background(), []*measured.File{{Runs: runs}}, configs.Options{}, nil)
	require.Error(t, err)
	require.Nil(t, c)
	return err.Error()
}

// fitTo fits to runs with some stiffness.
func fitTo(t require.TestingT, runs []measured.Run, stiffness float64) *Fit {
	p := Plan{Parameters: Parameters(), Stiffness: stiffness}
	f, _, err := p.To(context.Background(), runs)
	require.NoError(t, err)
	require.Len(t, f.Runs, len(runs))
	return f
}

func errorsOf(t require.TestingT, c *Calibration, m measured.Metric) MetricErrors {
	for _, e := range c.Errors {
		if e.Metric == m.String() {
			return e
		}
	}
	require.Fail(t, "no errors of "+m.String())
	return MetricErrors{}
}
