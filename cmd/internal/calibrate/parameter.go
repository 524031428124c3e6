package calibrate

import (
	"math"

	"github.com/decodesim/decodesim/hardware"
)

// Parameter is one constant of an efficiency. It is fitted as the logarithm of its ratio to the prior.
type Parameter struct {
	Name      string  // as in efficiency files
	Sigma     float64 // how far it may be from its prior, as a standard deviation of the logarithm
	Low, High float64 // what is believable, in its unit
	at        func(*hardware.Efficiency) *float64
}

// Parameters returns every constant that end-to-end measurements can tell something of. The spreads are those found among
// public fits of this form; the overlap of memory and compute is not among them, for such data cannot identify it.
func Parameters() []Parameter {
	type e = hardware.Efficiency
	return []Parameter{
		{"bandwidth", .2, .3, .98, func(e *e) *float64 { return &e.Bandwidth }},
		{"compute", .35, .05, 1, func(e *e) *float64 { return &e.Compute }},
		{"moe_compute", .5, .03, 1, func(e *e) *float64 { return &e.MoECompute }},
		{"quantized_compute", .25, .2, 1, func(e *e) *float64 { return &e.QuantizedCompute }},
		{"kv_bandwidth", .3, .1, 1, func(e *e) *float64 { return &e.KVBandwidth }},
		{"attention_compute", .5, .03, 1, func(e *e) *float64 { return &e.AttentionCompute }},
		{"link", .5, .03, 1, func(e *e) *float64 { return &e.Link }},
		{"layer_s", .5, 1e-6, 1e-3, func(e *e) *float64 { return &e.LayerS }},
		{"moe_layer_s", .6, 1e-6, 1e-3, func(e *e) *float64 { return &e.MoELayerS }},
		{"mixer_layer_s", .8, 1e-6, 1e-3, func(e *e) *float64 { return &e.MixerLayerS }},
		{"sequence_s", .7, 1e-7, 1e-3, func(e *e) *float64 { return &e.SequenceS }},
		{"collective_s", .4, 1e-7, 1e-3, func(e *e) *float64 { return &e.CollectiveS }},
		{"first_token_s", .8, 1e-4, 10, func(e *e) *float64 { return &e.FirstTokenS }},
	}
}

// value returns the constant of an efficiency.
func (p *Parameter) value(e hardware.Efficiency) float64 { return *p.at(&e) }

// scale returns prior with each parameter times the exponential of its step, within what is believable. A constant that is
// 0 stays 0: its effect is switched off.
func scale(parameters []Parameter, prior hardware.Efficiency, steps []float64) hardware.Efficiency {
	e := prior
	for i := range parameters {
		p := &parameters[i]
		if x := p.at(&e); *x > 0 && steps[i] != 0 {
			*x = min(max(*x*math.Exp(steps[i]), min(p.Low, *x)), max(p.High, *x))
		}
	}
	return e
}
