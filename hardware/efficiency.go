package hardware

import "fmt"

// Efficiency is what serving software achieves of a GPU's peak, and the time it spends outside kernels. Shares are in
// (0, 1]; times are in seconds and may be 0.
//
// The form is an additive roofline; see roofline.go for the formula that uses each constant.
type Efficiency struct {
	// Bandwidth is the share of HBM bandwidth that reading weights achieves (e_b), and Compute the share of peak FLOP/s of
	// dense matrix products (e_c).
	Bandwidth float64 `yaml:"bandwidth"`
	Compute   float64 `yaml:"compute"`

	// MoECompute is the share of Compute that expert products achieve (e_cm). MoERows is the number of rows per expert at
	// which half of what products of few rows lose is left (R), see experts.go; 0: they lose nothing.
	MoECompute float64 `yaml:"moe_compute"`
	MoERows    float64 `yaml:"moe_rows,omitempty"`

	// MoETileRows is how many rows at the peak take as long as expanding the weights of an expert that is touched to the
	// 16 bits of activations, in kernels that do so (T), see experts.go; 0: MoERows counts for them too.
	MoETileRows float64 `yaml:"moe_tile_rows,omitempty"`

	// MoECopyBytes is what kernels move for each element of the activations of each copy of a token that an expert
	// computes (c_m): to gather and quantise it, and to sum up what experts yield; see experts.go.
	MoECopyBytes float64 `yaml:"moe_copy_bytes,omitempty"`

	// ExpertImbalance is how much of what the busiest GPU has of whole experts, beyond the mean of all, layers wait for;
	// see imbalance.go. 1: all of it; 0: experts count as evenly shared, unless a scenario says how tokens choose them.
	ExpertImbalance float64 `yaml:"expert_imbalance,omitempty"`

	// ExpertSkew is how unevenly texts choose among 128 experts and more where a scenario does not say it, as
	// Routing.Skew, see imbalance.go; 0: each expert is as likely as any other.
	ExpertSkew float64 `yaml:"expert_skew,omitempty"`

	// QuantizedCompute is the share of Compute that products of fp8, int8 or nvfp4 weights achieve on a GPU with such
	// units, where activations are quantised too (e_cq); 0 and 1: all of it.
	QuantizedCompute float64 `yaml:"quantized_compute,omitempty"`

	// KVBandwidth is the share of HBM bandwidth that reading the cache achieves (e_kv). MixedKV is a factor ≥ 1 on the
	// time of that reading by decodes in a step with prompts (k_mix); 0 and 1: none.
	KVBandwidth float64 `yaml:"kv_bandwidth"`
	MixedKV     float64 `yaml:"mixed_kv,omitempty"`

	AttentionCompute float64 `yaml:"attention_compute"` // share of peak FLOP/s (e_at)

	// LatentCompute is the share of peak FLOP/s that decodes achieve whose heads attend to one latent (e_lt), where the
	// products hide behind reading it or the other way round; 0: e_at, and as other attention. Where it counts, engines
	// that multiply prompts in fp8 are priced so too, see attention.go.
	LatentCompute float64 `yaml:"latent_compute,omitempty"`

	Link float64 `yaml:"link"` // share of link bandwidth (e_n), where no table says it

	// CollectiveScale is a factor on the times that tables of collectives say (s_c), see collectives_table.go; 0: no table
	// counts that is not asked for, and collectives take CollectiveS and the share Link of their link.
	CollectiveScale float64 `yaml:"collective_scale,omitempty"`

	// Times per step and layer: of any layer (t_L), and what an MoE layer adds (t_M), a layer whose feed-forward network
	// quantises activations (t_Q), and a layer of latent, sparse or linear attention (t_X, twice for sparse attention).
	LayerS          float64 `yaml:"layer_s"`
	MoELayerS       float64 `yaml:"moe_layer_s"`
	QuantizedLayerS float64 `yaml:"quantized_layer_s,omitempty"`
	MixerLayerS     float64 `yaml:"mixer_layer_s"`

	// PromptLayerS is what any layer takes more in a step with prompts (t_P), whose attention is launched kernel by kernel
	// beside the graphs, if the step is in a graph at all.
	PromptLayerS float64 `yaml:"prompt_layer_s,omitempty"`

	// RankS is what a step takes more where several data-parallel ranks on eight GPUs wait for one another (t_D).
	RankS float64 `yaml:"rank_s,omitempty"`

	// Times of the host: to launch a layer without a CUDA graph (t_eager), and to prepare a step (T_e) and each decoding
	// sequence of it (t_h), see launch.go. SequenceS is what a sequence, or each row that verifies a draft, takes beside
	// that (t_r).
	EagerLayerS   float64 `yaml:"eager_layer_s,omitempty"`
	StepS         float64 `yaml:"step_s"`
	SequenceHostS float64 `yaml:"sequence_host_s,omitempty"`
	SequenceS     float64 `yaml:"sequence_s"`

	// EagerLaunch is how many times as long the host takes to launch what layers have beside a plain one, experts and
	// the like, as that takes in a CUDA graph (m_E). PromptLaunch is the share of launching a step without a graph that
	// one with prompts takes, whose attention is in no graph (m_P); see launch.go.
	PromptLaunch float64 `yaml:"prompt_launch,omitempty"`
	EagerLaunch  float64 `yaml:"eager_launch,omitempty"`

	// LaunchOverlap is p of the smooth maximum of what the GPU takes for a step with prompts and of launching it, as
	// Overlap; 0: the longer counts. Engines that have one were logged step by step, see launch.go.
	LaunchOverlap float64 `yaml:"launch_overlap,omitempty"`

	CollectiveS float64 `yaml:"collective_s"`  // of each collective, beside what a table says of it (a_l)
	FirstTokenS float64 `yaml:"first_token_s"` // added to each TTFT: the way to the API server, and there (ttft_0)
	// beside that, of each prompt token, one prompt after the other: mostly its tokenizer (ttft_1)
	TokenizeS float64 `yaml:"tokenize_s,omitempty"`
	Overlap   float64 `yaml:"overlap"` // p of (memory^p + compute^p)^(1/p), ≥ 1; .inf: they overlap perfectly

	Source string `yaml:"source"`
}

// Scale multiplies the constant of a YAML key; false: there is none. A share does not exceed 1.
func (e *Efficiency) Scale(key string, times float64) bool {
	for _, share := range []struct {
		key string
		at  *float64
	}{
		{"bandwidth", &e.Bandwidth}, {"compute", &e.Compute}, {"moe_compute", &e.MoECompute},
		{"quantized_compute", &e.QuantizedCompute}, {"kv_bandwidth", &e.KVBandwidth},
		{"attention_compute", &e.AttentionCompute}, {"latent_compute", &e.LatentCompute}, {"link", &e.Link},
		{"expert_imbalance", &e.ExpertImbalance},
	} {
		if share.key == key {
			*share.at = min(1, *share.at*times)
			return true
		}
	}
	for _, span := range []struct {
		key string
		at  *float64
	}{
		{"moe_rows", &e.MoERows}, {"moe_tile_rows", &e.MoETileRows}, {"moe_copy_bytes", &e.MoECopyBytes},
		{"mixed_kv", &e.MixedKV}, {"expert_skew", &e.ExpertSkew}, {"launch_overlap", &e.LaunchOverlap},
		{"layer_s", &e.LayerS}, {"moe_layer_s", &e.MoELayerS},
		{"quantized_layer_s", &e.QuantizedLayerS}, {"mixer_layer_s", &e.MixerLayerS}, {"eager_layer_s", &e.EagerLayerS},
		{"prompt_layer_s", &e.PromptLayerS}, {"rank_s", &e.RankS},
		{"prompt_launch", &e.PromptLaunch}, {"eager_launch", &e.EagerLaunch},
		{"step_s", &e.StepS}, {"sequence_host_s", &e.SequenceHostS}, {"sequence_s", &e.SequenceS},
		{"collective_s", &e.CollectiveS},
		{"collective_scale", &e.CollectiveScale}, {"first_token_s", &e.FirstTokenS}, {"tokenize_s", &e.TokenizeS},
	} {
		if span.key == key {
			*span.at *= times
			return true
		}
	}
	return false
}

// RangeError says that a constant is not what it may be.
type RangeError struct{ Key, Message string }

// Error names the constant by its YAML key.
func (e *RangeError) Error() string { return e.Key + ": " + e.Message }

// ideal reports whether nothing is lost, as in the bound: links achieve their peak, which no measured ones do.
func (e *Efficiency) ideal() bool { return e.Link >= 1 }

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
		{"quantized_layer_s", e.QuantizedLayerS}, {"prompt_layer_s", e.PromptLayerS},
		{"rank_s", e.RankS}, {"sequence_host_s", e.SequenceHostS},
		{"step_s", e.StepS}, {"sequence_s", e.SequenceS}, {"collective_s", e.CollectiveS}, {"first_token_s", e.FirstTokenS},
	} {
		if !(span.value >= 0 && span.value <= 3600) {
			return &RangeError{span.key, fmt.Sprintf("%g is out of range; expected seconds in [0, 3600]", span.value)}
		}
	}
	if !(e.TokenizeS >= 0 && e.TokenizeS <= 1e-3) {
		return &RangeError{"tokenize_s", fmt.Sprintf("%g is out of range; expected seconds of a token in [0, 1e-3]",
			e.TokenizeS)}
	}
	if e.Source == "" {
		return &RangeError{"source", "missing; expected where the numbers come from"}
	}
	return e.validateOptional()
}

// validateOptional checks what is neither a share that has to be there nor a time.
func (e *Efficiency) validateOptional() error {
	for _, times := range []struct {
		key   string
		value float64
	}{{"prompt_launch", e.PromptLaunch}, {"eager_launch", e.EagerLaunch}} {
		if !(times.value >= 0 && times.value <= 1e4) {
			return &RangeError{times.key, fmt.Sprintf("%g is out of range; expected a factor in [0, 1e4]", times.value)}
		}
	}
	if e.LatentCompute != 0 && !(e.LatentCompute > 0 && e.LatentCompute <= 1) {
		return &RangeError{"latent_compute", fmt.Sprintf("%g is out of range; expected a share in (0, 1]", e.LatentCompute)}
	}
	if e.QuantizedCompute != 0 && !(e.QuantizedCompute > 0 && e.QuantizedCompute <= 1) {
		return &RangeError{"quantized_compute", fmt.Sprintf("%g is out of range; expected a share in (0, 1]",
			e.QuantizedCompute)}
	}
	if !(e.MoERows >= 0 && e.MoERows <= 1e6) {
		return &RangeError{"moe_rows", fmt.Sprintf("%g is out of range; expected rows in [0, 1e6]", e.MoERows)}
	}
	if !(e.MoETileRows >= 0 && e.MoETileRows <= 1e6) {
		return &RangeError{"moe_tile_rows", fmt.Sprintf("%g is out of range; expected rows in [0, 1e6]", e.MoETileRows)}
	}
	if !(e.MoECopyBytes >= 0 && e.MoECopyBytes <= 1e4) {
		return &RangeError{"moe_copy_bytes", fmt.Sprintf("%g is out of range; expected bytes in [0, 1e4]", e.MoECopyBytes)}
	}
	if !(e.ExpertImbalance >= 0 && e.ExpertImbalance <= 1) {
		return &RangeError{"expert_imbalance", fmt.Sprintf("%g is out of range; expected a share in [0, 1]",
			e.ExpertImbalance)}
	}
	if !(e.ExpertSkew >= 0 && e.ExpertSkew <= 10) {
		return &RangeError{"expert_skew", fmt.Sprintf("%g is out of range; expected 0 to 10", e.ExpertSkew)}
	}
	if !(e.CollectiveScale >= 0 && e.CollectiveScale <= 100) {
		return &RangeError{"collective_scale", fmt.Sprintf("%g is out of range; expected a factor in [0, 100]",
			e.CollectiveScale)}
	}
	if e.MixedKV != 0 && !(e.MixedKV >= 1 && e.MixedKV <= 1000) {
		return &RangeError{"mixed_kv", fmt.Sprintf("%g is out of range; expected a factor in [1, 1000]", e.MixedKV)}
	}
	if e.LaunchOverlap != 0 && !(e.LaunchOverlap >= 1 && e.LaunchOverlap <= 1000) {
		return &RangeError{"launch_overlap", fmt.Sprintf("%g is out of range; expected 1 to 1000, or 0", e.LaunchOverlap)}
	}
	if !(e.Overlap >= 1) {
		return &RangeError{"overlap", fmt.Sprintf("%g is out of range; expected ≥ 1, or .inf", e.Overlap)}
	}
	return nil
}
