package hardware

import "fmt"

// Efficiency is what serving software achieves of a GPU's peak, and the time it spends outside kernels. Shares are in
// (0, 1]; times are in seconds and may be 0.
//
// The form is an additive roofline; see roofline.go for the formula that uses each constant.
type Efficiency struct {
	Bandwidth  float64 `yaml:"bandwidth"`   // of HBM bandwidth, reading weights (e_b)
	Compute    float64 `yaml:"compute"`     // of peak FLOP/s, dense matrix products (e_c)
	MoECompute float64 `yaml:"moe_compute"` // of Compute, in expert products (e_cm)
	// rows per expert at which half of what products of few rows lose is left (R), see experts.go; 0: they lose nothing
	MoERows float64 `yaml:"moe_rows,omitempty"`
	// of Compute, in products of fp8, int8 or nvfp4 weights on a GPU with such units, as activations are quantised too
	// (e_cq); 0 and 1: no less
	QuantizedCompute float64 `yaml:"quantized_compute,omitempty"`
	KVBandwidth      float64 `yaml:"kv_bandwidth"` // of HBM bandwidth, reading the cache (e_kv)
	// factor ≥ 1 on that reading by decodes in a step with prompts (k_mix); 0 and 1: none
	MixedKV          float64 `yaml:"mixed_kv,omitempty"`
	AttentionCompute float64 `yaml:"attention_compute"` // of peak FLOP/s, attention (e_at)
	Link             float64 `yaml:"link"`              // of link bandwidth (e_n)
	LayerS           float64 `yaml:"layer_s"`           // per layer and step (t_L)
	MoELayerS        float64 `yaml:"moe_layer_s"`       // more per MoE layer (t_M)
	// more per layer whose feed-forward network quantises activations (t_Q)
	QuantizedLayerS float64 `yaml:"quantized_layer_s,omitempty"`
	// more per MLA or linear-attention layer; twice for sparse attention (t_X)
	MixerLayerS float64 `yaml:"mixer_layer_s"`
	// per layer: what the host takes to launch it without a CUDA graph (t_eager)
	EagerLayerS float64 `yaml:"eager_layer_s,omitempty"`
	// per step: what the host takes to prepare it (T_e); see Launch.Async
	StepS       float64 `yaml:"step_s"`
	SequenceS   float64 `yaml:"sequence_s"`   // per decoding sequence and step (t_r)
	CollectiveS float64 `yaml:"collective_s"` // per collective (a_l)
	// added to each time to first token: API server, tokenizer (ttft_0)
	FirstTokenS float64 `yaml:"first_token_s"`
	// p of (memory^p + compute^p)^(1/p), ≥ 1; .inf: they overlap perfectly
	Overlap float64 `yaml:"overlap"`
	Source  string  `yaml:"source"`
}

// RangeError says that a constant is not what it may be.
type RangeError struct{ Key, Message string }

// Error names the constant by its YAML key.
func (e *RangeError) Error() string { return e.Key + ": " + e.Message }

// Validate reports the first constant that is out of range, as a RangeError.
func (e *Efficiency) Validate() error {
	for _, share := range []struct {
		key   string
		value float64
	}{
		{"bandwidth", e.Bandwidth}, {"compute", e.Compute}, {"moe_compute", e.MoECompute},
		{"kv_bandwidth", e.KVBandwidth}, {"attention_compute", e.AttentionCompute}, {"link", e.Link},
	} {
		if !(share.value > 0 && share.value <= 1) {
			return &RangeError{share.key, fmt.Sprintf("%g is out of range; expected a share in (0, 1]", share.value)}
		}
	}
	for _, span := range []struct {
		key   string
		value float64
	}{
		{"layer_s", e.LayerS}, {"moe_layer_s", e.MoELayerS}, {"mixer_layer_s", e.MixerLayerS}, {"eager_layer_s",
			e.EagerLayerS},
		{"quantized_layer_s", e.QuantizedLayerS},
		{"step_s", e.StepS}, {"sequence_s", e.SequenceS}, {"collective_s", e.CollectiveS}, {"first_token_s", e.FirstTokenS},
	} {
		if !(span.value >= 0 && span.value <= 3600) {
			return &RangeError{span.key, fmt.Sprintf("%g is out of range; expected seconds in [0, 3600]", span.value)}
		}
	}
	if e.QuantizedCompute != 0 && !(e.QuantizedCompute > 0 && e.QuantizedCompute <= 1) {
		return &RangeError{"quantized_compute", fmt.Sprintf("%g is out of range; expected a share in (0, 1]",
			e.QuantizedCompute)}
	}
	if !(e.MoERows >= 0 && e.MoERows <= 1e6) {
		return &RangeError{"moe_rows", fmt.Sprintf("%g is out of range; expected rows in [0, 1e6]", e.MoERows)}
	}
	if e.MixedKV != 0 && !(e.MixedKV >= 1 && e.MixedKV <= 1000) {
		return &RangeError{"mixed_kv", fmt.Sprintf("%g is out of range; expected a factor in [1, 1000]", e.MixedKV)}
	}
	if !(e.Overlap >= 1) {
		return &RangeError{"overlap", fmt.Sprintf("%g is out of range; expected ≥ 1, or .inf", e.Overlap)}
	}
	if e.Source == "" {
		return &RangeError{"source", "missing; expected where the numbers come from"}
	}
	return nil
}
