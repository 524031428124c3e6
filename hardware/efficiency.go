package hardware

// Efficiency is what serving software achieves of a GPU's peak, and the time it spends outside kernels. Shares are in
// (0, 1]; times are in seconds and may be 0. Textbook returns the ideal.
//
// The form is an additive roofline; see roofline.go for the formula that uses each constant.
type Efficiency struct {
	Bandwidth        float64 `yaml:"bandwidth"`         // of HBM bandwidth, reading weights (e_b)
	Compute          float64 `yaml:"compute"`           // of peak FLOP/s, dense matrix products (e_c)
	MoECompute       float64 `yaml:"moe_compute"`       // of Compute, in expert products (e_cm)
	KVBandwidth      float64 `yaml:"kv_bandwidth"`      // of HBM bandwidth, reading the cache (e_kv)
	AttentionCompute float64 `yaml:"attention_compute"` // of peak FLOP/s, attention (e_at)
	Link             float64 `yaml:"link"`              // of link bandwidth (e_n)
	LayerS           float64 `yaml:"layer_s"`           // per layer and step (t_L)
	MoELayerS        float64 `yaml:"moe_layer_s"`       // more per MoE layer (t_M)
	MixerLayerS      float64 `yaml:"mixer_layer_s"`     // more per MLA or linear-attention layer; twice for sparse attention (t_X)
	StepS            float64 `yaml:"step_s"`            // per step (T_e)
	SequenceS        float64 `yaml:"sequence_s"`        // per decoding sequence and step (t_r)
	CollectiveS      float64 `yaml:"collective_s"`      // per collective (a_l)
	FirstTokenS      float64 `yaml:"first_token_s"`     // added to each time to first token: API server, tokenizer (ttft_0)
	Overlap          float64 `yaml:"overlap"`           // p of (memory^p + compute^p)^(1/p), ≥ 1; .inf: they overlap perfectly
	Source           string  `yaml:"source"`
}
