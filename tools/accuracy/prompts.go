package main

import (
	"context"
	"errors"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// coldTokens are the lengths of the prompts whose time to first token is set against their arithmetic.
func coldTokens() []int { return []int{8192, 32768} }

// coldDeployments are dense and MoE models, windows and latents, one GPU and eight.
func coldDeployments() []anchor {
	return []anchor{
		{model: "llama-3.1-8b", gpu: "h100-sxm", engine: "vllm", tensor: 1},
		{model: "llama-3.1-70b", gpu: "h100-sxm", engine: "vllm", weights: "fp8", tensor: 4},
		{model: "qwen3-32b", gpu: "h200-sxm", engine: "vllm", tensor: 1},
		{model: "gpt-oss-120b", gpu: "h200-sxm", engine: "vllm", tensor: 1},
		{model: "minimax-m2.5", gpu: "b200-sxm", engine: "vllm", weights: "nvfp4", tensor: 4},
		{model: "deepseek-r1", gpu: "b200-sxm", engine: "vllm", weights: "nvfp4", tensor: 8},
	}
}

// coldPrompts simulates single prompts on idle servers.
func coldPrompts(ctx context.Context, sets catalog.Sets) ([]page.ColdPrompt, error) {
	var out []page.ColdPrompt
	for _, a := range coldDeployments() {
		for _, tokens := range coldTokens() {
			a.context = tokens
			r, err := a.replica(sets)
			if err != nil {
				return nil, err
			}
			run := measured.Run{
				ID: a.name(), Scenario: a.scenario(tokens), Labels: measured.Labels{Engine: a.engine, GPU: a.gpu},
				Rows: []measured.Row{{Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, 1)}}},
			}
			predictions, err := sets.Predict(ctx, []measured.Run{run})
			if err != nil {
				return nil, err
			}
			if why := predictions[0].Skip; why != "" {
				return nil, errors.New(a.name() + ": " + why)
			}
			out = append(out, page.ColdPrompt{
				Deployment: a.name(), Tokens: tokens, TTFTMS: predictions[0].Predicted,
				BoundMS: 1e3 * prefillBoundS(&r.Deployment, tokens),
			})
		}
	}
	return out, nil
}

// prefillBoundS is the least time that the arithmetic of a cold prompt takes when all GPUs run at their peak, in
// seconds:
//
//	Σ over weights  2·n·P / (g·F)  +  Σ over attention layers  2·h·(d_k + d_v)·pairs / (g·F16)
//
// for n parameters that a token uses, P tokens, g GPUs, F FLOP/s of the weights' number format, h heads of keys d_k and
// values d_v, and as many pairs of tokens as attend to each other. The LM head is left out: one token needs it.
func prefillBoundS(d *hardware.Deployment, tokens int) float64 {
	gpus, sum := float64(d.Parallel.GPUs()), 0.0
	for class, n := range d.Model.Params() {
		c, used := llm.WeightClass(class), float64(n)
		switch {
		case n == 0, c == llm.Embedding, c == llm.Head, c == llm.Norms:
			continue
		case c == llm.RoutedExperts:
			used *= float64(d.Model.TopK()) / float64(d.Model.Experts())
		}
		peak, _ := d.GPU.ComputeFLOPS(d.Model.ComputeDtype(c))
		sum += 2 * used * float64(tokens) / (gpus * peak)
	}
	peak, _ := d.GPU.ComputeFLOPS("bf16")
	for _, g := range d.Model.Attention() {
		sum += 2 * float64(g.Layers*g.Heads*(g.KeyDim+g.ValueDim)) * pairs(tokens, g.Window) / (gpus * peak)
	}
	return sum
}

// pairs counts which tokens attend to which, each to itself and to those before it, as far as the window reaches; 0:
// all.
func pairs(tokens, window int) float64 {
	n := float64(tokens)
	if window == 0 || window >= tokens {
		return n * (n + 1) / 2
	}
	w := float64(window)
	return w*n - w*(w-1)/2
}
