package calibration

import (
	"math"

	"github.com/decodesim/decodesim/hardware"
)

// Parameter is one constant of an efficiency. It is fitted as the logarithm of its ratio to the prior.
type Parameter struct {
	Name      string  // as in efficiency files
	Sigma     float64 // how far it may be from its prior, as a standard deviation of the logarithm
	Low, High float64 // what is believable, in its unit
	Measure   string  // which measurement tells it
	at        func(*hardware.Efficiency) *float64
}

// Parameters returns every constant that end-to-end measurements can tell something of. The spreads are those found
// among public fits of this form; the overlap of memory and compute is not among them, for such data cannot identify
// it.
func Parameters() []Parameter {
	type e = hardware.Efficiency
	return []Parameter{
		{"bandwidth", .2, .3, .98,
			"TPOT of a large model at concurrency 1", func(e *e) *float64 { return &e.Bandwidth }},
		{"compute", .35, .05, 1,
			"TTFT of prompts of a few thousand tokens", func(e *e) *float64 { return &e.Compute }},
		{"moe_compute", .5, .03, 1,
			"a model with experts: TTFT of prompts of a few thousand tokens", func(e *e) *float64 { return &e.MoECompute }},
		{"moe_copy_bytes", .5, .5, 100,
			"a model with experts: TTFT of prompts of a few thousand tokens", func(e *e) *float64 { return &e.MoECopyBytes }},
		{"quantized_compute", .25, .2, 1,
			"weights of fp8 or less: TTFT of prompts of a few thousand tokens",
			func(e *e) *float64 { return &e.QuantizedCompute }},
		{"kv_bandwidth", .3, .1, 1,
			"TPOT of long prompts at high concurrency", func(e *e) *float64 { return &e.KVBandwidth }},
		{"attention_compute", .5, .03, 1,
			"TTFT of prompts of tens of thousands of tokens", func(e *e) *float64 { return &e.AttentionCompute }},
		{"link", .5, .03, 1,
			"tensor_parallel > 1: TTFT of prompts of a few thousand tokens", func(e *e) *float64 { return &e.Link }},
		{"layer_s", .5, 1e-6, 1e-3,
			"TPOT of a small model at concurrency 1", func(e *e) *float64 { return &e.LayerS }},
		{"moe_layer_s", .6, 1e-6, 1e-3,
			"a model with experts: TPOT at concurrency 1", func(e *e) *float64 { return &e.MoELayerS }},
		{"quantized_layer_s", .6, 1e-6, 1e-3, "weights of fp8 or less: TPOT at concurrency 1",
			func(e *e) *float64 { return &e.QuantizedLayerS }},
		{"mixer_layer_s", .8, 1e-6, 1e-3,
			"a model with MLA or linear attention: TPOT at concurrency 1", func(e *e) *float64 { return &e.MixerLayerS }},
		{"eager_layer_s", .5, 1e-5, 5e-3,
			"enforce_eager: TPOT of a model without experts at concurrency 1",
			func(e *e) *float64 { return &e.EagerLayerS }},
		{"eager_launch", .7, .1, 100,
			"a model with experts: TTFT of prompts of a thousand tokens", func(e *e) *float64 { return &e.EagerLaunch }},
		{"prompt_launch", .7, .05, 5,
			"TTFT of prompts of a few hundred tokens", func(e *e) *float64 { return &e.PromptLaunch }},
		{"rank_s", .8, 1e-5, 1e-1,
			"data_parallel > 1: TPOT at concurrency 1", func(e *e) *float64 { return &e.RankS }},
		{"step_s", .7, 1e-6, 1e-1,
			"async_scheduling: false: TPOT of a small model at concurrency 1", func(e *e) *float64 { return &e.StepS }},
		{"sequence_host_s", .7, 1e-7, 1e-3,
			"TPOT of a small model at hundreds of clients", func(e *e) *float64 { return &e.SequenceHostS }},
		{"sequence_s", .7, 1e-7, 1e-3,
			"TPOT of short prompts at high concurrency", func(e *e) *float64 { return &e.SequenceS }},
		{"collective_s", .4, 1e-7, 1e-3,
			"tensor_parallel > 1: TPOT at concurrency 1", func(e *e) *float64 { return &e.CollectiveS }},
		{"first_token_s", .8, 1e-4, 10,
			"TTFT of short prompts at concurrency 1", func(e *e) *float64 { return &e.FirstTokenS }},
	}
}

// ofHost reports whether a constant is what the host takes to prepare and to launch steps, which does not come with the
// GPU.
func (p *Parameter) ofHost() bool {
	switch p.Name {
	case "eager_layer_s", "eager_launch", "prompt_launch", "step_s", "sequence_host_s":
		return true
	}
	return false
}

// Of returns the constant of an efficiency.
func (p *Parameter) Of(e *hardware.Efficiency) float64 { return *p.at(e) }

// value returns the constant of an efficiency.
func (p *Parameter) value(e hardware.Efficiency) float64 { return *p.at(&e) }

// scale returns prior with each parameter times the exponential of its step, within what is believable. A constant that
// is 0 stays 0: its effect is switched off.
func scale(parameters []Parameter, prior hardware.Efficiency, steps []float64) hardware.Efficiency {
	e := prior
	for i := range parameters {
		p := &parameters[i]
		if x := p.at(&e); *x > 0 && steps[i] != 0 {
			*x = p.moved(*x, steps[i])
		}
	}
	return e
}

// moved returns a constant after a step. A prior outside of what is believable may stay where it is, but goes no
// further.
func (p *Parameter) moved(prior, step float64) float64 {
	from := math.Log(prior)
	low, high := math.Log(min(p.Low, prior)), math.Log(max(p.High, prior))
	to := below(from+step, high, min(bend, high-from))
	to = -below(-to, -low, min(bend, from-low))
	switch to { // without the rounding of a logarithm and back
	case low:
		return min(p.Low, prior)
	case high:
		return max(p.High, prior)
	}
	return math.Exp(to)
}

// bend is where a constant begins to feel its limit, in the logarithm.
const bend = 0.05

// below is min(y, limit) with its kink rounded off: a parabola for the last bend before the limit and the first beyond.
// Where losses have kinks a descent gets stuck.
func below(y, limit, bend float64) float64 {
	switch rest := limit + bend - y; {
	case rest <= 0:
		return limit
	case rest < 2*bend:
		return limit - rest*rest/(4*bend)
	}
	return y
}

// atLimit reports whether a constant has moved as far as is believable.
func (p *Parameter) atLimit(prior, fitted float64) bool {
	const near = 0.01
	return fitted > prior && fitted > p.High*(1-near) || fitted < prior && fitted < p.Low*(1+near)
}
