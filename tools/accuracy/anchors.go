package main

import (
	"cmp"
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	builtin "github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// anchor is a deployment on which a published speed is checked.
type anchor struct {
	model, gpu, engine string // engine as of measured.Labels
	weights            string // empty: the checkpoint's own
	tensor             int
	batch, context     int // of the step
}

// replica builds the deployment with the efficiencies of sets.
func (a *anchor) replica(sets catalog.Sets) (*build.Replica, error) {
	s, err := configs.Read(a.name(), []byte(a.scenario(a.context)), configs.Options{})
	if err != nil {
		return nil, err
	}
	r, err := build.FirstReplica(s)
	if err != nil {
		return nil, err
	}
	r.Deployment.Efficiency = sets.On(&measured.Labels{Engine: a.engine}, &r.Deployment)
	r.Model = hardware.NewRoofline(r.Deployment, 0)
	return r, nil
}

// scenario is one client who sends one prompt.
func (a *anchor) scenario(prompt int) string {
	return fmt.Sprintf(`model: %s
weights: %s
pools: [{gpu: %s, tensor_parallel: %d}]
workload:
  closed_loop: {concurrency: 1}
  requests: 1
  prompt_tokens: {distribution: fixed, mean: %d}
  output_tokens: {distribution: fixed, mean: 2}
`, a.model, cmp.Or(a.weights, "null"), a.gpu, a.tensor, prompt)
}

func (a *anchor) name() string {
	name := a.model
	if a.weights != "" {
		name += " in " + a.weights
	}
	return fmt.Sprintf("%s, %d × %s", name, a.tensor, a.gpu)
}

// step prices the decode step of an anchor.
func (a *anchor) step(sets catalog.Sets) (page.AnchorStep, error) {
	r, err := a.replica(sets)
	if err != nil {
		return page.AnchorStep{}, fmt.Errorf("%s: %w", a.name(), err)
	}
	g := r.Model.Step(a.batch, a.context)
	return page.AnchorStep{
		Deployment: a.name(), GPUs: a.tensor, Batch: a.batch, Context: a.context, BoundMS: 1e3 * g.Bound.A.Seconds(),
		StepMS: 1e3 * g.First.Seconds(),
	}, nil
}

func steps(sets catalog.Sets, anchors []anchor) ([]page.AnchorStep, error) {
	var out []page.AnchorStep
	for i := range anchors {
		s, err := anchors[i].step(sets)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// anchorContext is the context of every anchor's step.
const anchorContext = 1024

// seventy are the deployments that "70B on H100 is about 25 ms" may mean.
func seventy(sets catalog.Sets) ([]page.AnchorStep, error) {
	of := func(weights string, tensor, batch int) anchor {
		return anchor{"llama-3.1-70b", "h100-sxm", "vllm", weights, tensor, batch, anchorContext}
	}
	return steps(sets, []anchor{
		of("bf16", 2, 1), of("bf16", 4, 1), of("bf16", 4, 64), of("bf16", 8, 1), of("fp8", 1, 1), of("fp8", 2, 1),
		of("fp8", 2, 64), of("fp8", 4, 1),
	})
}

// targets are published speeds below what is measured without speculation, with deployments that might reach them.
func targets(sets catalog.Sets, predictions []validation.Prediction) ([]page.Target, error) {
	var out []page.Target
	for _, t := range []struct {
		anchor
		tokensPerS float64
		measuredAs string // a model of the same shape
		tensors    []int
	}{
		{anchor{model: "gpt-oss-120b", gpu: "b200-sxm", engine: "tensorrt-llm"}, 713, "gpt-oss-120b", []int{1, 4, 8}},
		{anchor{model: "minimax-m2.7", gpu: "b200-sxm", engine: "vllm", weights: "nvfp4"}, 428, "minimax-m2.5",
			[]int{1, 4, 8}},
	} {
		m, err := builtin.Model(t.model)
		if err != nil {
			return nil, err
		}
		var anchors []anchor
		for _, tensor := range t.tensors {
			a := t.anchor
			a.tensor, a.batch, a.context = tensor, 1, anchorContext
			anchors = append(anchors, a)
		}
		s, err := steps(sets, anchors)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Target{
			Model: t.model, TokensPerS: t.tokensPerS, Layers: m.LayerCount(), Steps: s, Best: fastest(predictions, t.measuredAs),
		})
	}
	return out, nil
}

// fastest returns the prediction of the least mean TPOT that was measured of a model.
func fastest(predictions []validation.Prediction, model string) *validation.Prediction {
	var best *validation.Prediction
	for i := range predictions {
		p := &predictions[i]
		v := p.Value
		if p.Run.Labels.Model != model || v.Metric != measured.TPOT || v.Stat != measured.Mean || p.Row.Request >= 0 {
			continue
		}
		if best == nil || v.Measured < best.Value.Measured {
			best = p
		}
	}
	return best
}
