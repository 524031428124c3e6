package configs

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// ModelRef names the model, and says what of its file is not believed. A name or a path may stand in its place.
type ModelRef struct {
	Config    string           `yaml:"config" about:"catalog name, HuggingFace id of one, or a path to a HuggingFace config.json or to a file like those of the catalog"`
	Ignore    []string         `yaml:"ignore,omitempty" about:"fields of a config.json that are left out, which results say; needs published; null: none"`
	Override  catalog.Override `yaml:"override,omitempty" about:"keys of a catalog model, such as {context: 32768}, in place of what the file says; null: none"`
	Published PublishedSize    `yaml:"published" about:"parameters that the publisher states; a count more than 2 % away is refused"`
}

// PublishedSize is how many parameters a publisher says that a model has.
type PublishedSize struct {
	Total  float64 `yaml:"total,omitempty" bound:"(0,1e15]" unit:"parameters" about:"in all; null: not checked"`
	Active float64 `yaml:"active,omitempty" bound:"(0,1e15]" unit:"parameters" about:"that a token uses, with or without embedding and head; null: not checked"`
}

// Read returns the model, and what of its file was not read.
func (m *ModelRef) Read() (catalog.ModelReading, error) { return m.source().Read() }

// Changes says what of the model is not what its file says.
func (m *ModelRef) Changes() []string { return m.source().Changes() }

func (m *ModelRef) source() catalog.ModelSource {
	return catalog.ModelSource{
		Config: m.Config, Ignore: m.Ignore, Override: m.Override, Total: m.Published.Total, Active: m.Published.Active,
	}
}

// Own reports whether the model is the user's: of a file, or changed.
func (m *ModelRef) Own() bool {
	return catalog.IsModelPath(m.Config) || len(m.Ignore) > 0 || m.Override != ""
}

// ShorthandKey implements strict.Shorthand.
func (*ModelRef) ShorthandKey() string { return "config" }

// String implements fmt.Stringer.
func (m ModelRef) String() string { return m.Config }

// GPURef names the accelerator of a pool, with figures of the user's own in place of the data sheet's. A name or a path
// may stand in its place.
type GPURef struct {
	From       string `yaml:"from" about:"catalog name, H200 or 8xH100 as people write it, or a path to a file like those of the catalog"`
	GPUFigures `yaml:",inline"`
}

// ShorthandKey implements strict.Shorthand.
func (*GPURef) ShorthandKey() string { return "from" }

// GPUFigures are what may be changed of an accelerator; absent ones are the data sheet's.
type GPUFigures struct {
	MemoryBytes  *float64 `yaml:"memory_bytes" bound:"(0,1e15]" unit:"bytes" about:"memory of the device; null: the data sheet's"`
	BandwidthBps *float64 `yaml:"bandwidth_bps" bound:"(0,1e18]" about:"of that memory; null: the data sheet's"`
	FLOPS        GPUPeaks `yaml:"flops" about:"dense peaks"`
	ScaleUpBps   *float64 `yaml:"scale_up_bps" bound:"[0,1e18]" about:"of the links of a domain, one way; null: the data sheet's"`
	Domain       *float64 `yaml:"domain" bound:"[1,1e6]" unit:"GPUs" about:"that those links join; null: the data sheet's"`
	PCIeBps      *float64 `yaml:"pcie_bps" bound:"(0,1e18]" about:"one way; null: the data sheet's"`
	NICBps       *float64 `yaml:"nic_bps" bound:"(0,1e18]" about:"share of the node's network, one way; null: the data sheet's"`
	TDPW         *float64 `yaml:"tdp_w" bound:"(0,1e9]" unit:"W" about:"power; null: the data sheet's"`
	PricePerHour *float64 `yaml:"price_per_hour" bound:"(0,1e9]" unit:"USD/h" about:"of one device; null: the catalog's"`
}

// GPUPeaks are the dense peaks that may be changed.
type GPUPeaks struct {
	FP32 *float64 `yaml:"fp32" bound:"(0,1e21]" unit:"FLOP/s" about:"null: the data sheet's"`
	TF32 *float64 `yaml:"tf32" bound:"(0,1e21]" unit:"FLOP/s" about:"null: the data sheet's"`
	BF16 *float64 `yaml:"bf16" bound:"(0,1e21]" unit:"FLOP/s" about:"and fp16; null: the data sheet's"`
	FP8  *float64 `yaml:"fp8" bound:"(0,1e21]" unit:"FLOP/s" about:"null: the data sheet's"`
	INT8 *float64 `yaml:"int8" bound:"(0,1e21]" unit:"FLOP/s" about:"null: the data sheet's"`
	FP4  *float64 `yaml:"fp4" bound:"(0,1e21]" unit:"FLOP/s" about:"of nvfp4 and mxfp4; null: the data sheet's"`
	INT4 *float64 `yaml:"int4" bound:"(0,1e21]" unit:"FLOP/s" about:"null: the data sheet's"`
}

// Name is what results call the accelerator: its name in the catalog, or that of its file.
func (g *GPURef) Name() string {
	if catalog.IsGPUPath(g.From) {
		name := filepath.Base(g.From)
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	return g.From
}

// String implements fmt.Stringer.
func (g GPURef) String() string { return g.Name() }

// Same reports whether both are the same accelerator, with the same figures.
func (g *GPURef) Same(other *GPURef) bool { return reflect.DeepEqual(g, other) }

// Beside is the name in a sentence that has named another: of the same name they differ by what pools say of them.
func (g *GPURef) Beside(other *GPURef) string {
	if g.Name() == other.Name() && !g.Same(other) {
		return g.Name() + " with other figures"
	}
	return g.Name()
}

// Own reports whether the accelerator is the user's: of a file, or changed.
func (g *GPURef) Own() bool { return catalog.IsGPUPath(g.From) || g.GPUFigures != GPUFigures{} }

// Hardware returns the accelerator, and what of it is not the catalog's, in words.
func (g *GPURef) Hardware() (gpu hardware.GPU, changes []string, err error) {
	gpu, err = catalog.Accelerator(g.From)
	if err != nil {
		return gpu, nil, err
	}
	f := &g.GPUFigures
	for _, x := range []struct {
		key string
		own *float64
		at  *hardware.Quantity
	}{
		{"memory_bytes", f.MemoryBytes, &gpu.MemoryBytes}, {"bandwidth_bps", f.BandwidthBps, &gpu.BandwidthBps},
		{"flops.fp32", f.FLOPS.FP32, &gpu.FLOPS.FP32}, {"flops.tf32", f.FLOPS.TF32, &gpu.FLOPS.TF32},
		{"flops.bf16", f.FLOPS.BF16, &gpu.FLOPS.BF16}, {"flops.fp8", f.FLOPS.FP8, &gpu.FLOPS.FP8},
		{"flops.int8", f.FLOPS.INT8, &gpu.FLOPS.INT8}, {"flops.fp4", f.FLOPS.FP4, &gpu.FLOPS.FP4},
		{"flops.int4", f.FLOPS.INT4, &gpu.FLOPS.INT4},
		{"scale_up_bps", f.ScaleUpBps, &gpu.ScaleUpBps}, {"domain", f.Domain, &gpu.Domain},
		{"pcie_bps", f.PCIeBps, &gpu.PCIeBps}, {"nic_bps", f.NICBps, &gpu.NICBps}, {"tdp_w", f.TDPW, &gpu.TDPW},
	} {
		if x.own == nil {
			continue
		}
		changes = append(changes, changed(x.key, *x.own, x.at.Value, x.at.Known()))
		*x.at = hardware.Quantity{Value: *x.own, Source: "the scenario"}
	}
	if own := f.PricePerHour; own != nil {
		changes = append(changes, changed("price_per_hour", *own, gpu.Price.USDPerHour, gpu.Price.Known()))
		gpu.Price = hardware.Price{USDPerHour: *own, Provider: "the scenario", Date: "–", Source: "the scenario"}
	}
	return gpu, changes, gpu.Validate()
}

// changed says what stands in place of what.
func changed(key string, own, before float64, known bool) string {
	if !known {
		return fmt.Sprintf("%s %g, of which the catalog has none", key, own)
	}
	return fmt.Sprintf("%s %g in place of %g", key, own, before)
}

// EfficiencyRef names efficiencies, with constants of the user's own in place of theirs. A name or a path may stand in
// its place.
type EfficiencyRef struct {
	Base      string `yaml:"base,omitempty" about:"name of built-in efficiencies, NAME@RELEASE of a release before the newest, or path to a file of them; null: the engine's"`
	Constants `yaml:",inline"`
}

// ShorthandKey implements strict.Shorthand.
func (*EfficiencyRef) ShorthandKey() string { return "base" }

// Constants are those of hardware.Efficiency under the same keys; absent ones are the base's.
type Constants struct {
	Bandwidth        *float64 `yaml:"bandwidth" about:"share of the memory bandwidth that reading weights achieves"`
	Compute          *float64 `yaml:"compute" about:"share of peak FLOP/s of dense matrix products"`
	MoECompute       *float64 `yaml:"moe_compute" about:"share of that which expert products achieve"`
	MoERows          *float64 `yaml:"moe_rows" unit:"rows" about:"per expert at which half of what few rows lose is left"`
	MoETileRows      *float64 `yaml:"moe_tile_rows" unit:"rows" about:"at peak that expanding the weights of an expert to 16 bits costs"`
	QuantizedCompute *float64 `yaml:"quantized_compute" about:"share of compute where activations are quantised too"`
	KVBandwidth      *float64 `yaml:"kv_bandwidth" about:"share of the memory bandwidth that reading the cache achieves"`
	MixedKV          *float64 `yaml:"mixed_kv" unit:"times" about:"as long as decodes read the cache in a step with prompts"`
	AttentionCompute *float64 `yaml:"attention_compute" about:"share of peak FLOP/s of attention"`
	LatentCompute    *float64 `yaml:"latent_compute" about:"share of peak FLOP/s of attention on latents"`
	Link             *float64 `yaml:"link" about:"share of link bandwidth, where no table says it"`
	MoECopyBytes     *float64 `yaml:"moe_copy_bytes" unit:"bytes" about:"that experts copy for each element of a row"`
	ExpertImbalance  *float64 `yaml:"expert_imbalance" about:"share of what the busiest GPU has of experts that layers wait for"`
	ExpertSkew       *float64 `yaml:"expert_skew" about:"how unevenly texts choose experts where the pool does not say: the variation of popularity"`
	CollectiveScale  *float64 `yaml:"collective_scale" unit:"times" about:"as long as tables of collectives say; 0: no table counts"`
	LayerS           *float64 `yaml:"layer_s" about:"of a layer in each step"`
	MoELayerS        *float64 `yaml:"moe_layer_s" about:"that an MoE layer adds"`
	QuantizedLayerS  *float64 `yaml:"quantized_layer_s" about:"that a layer with quantised activations adds"`
	MixerLayerS      *float64 `yaml:"mixer_layer_s" about:"that a layer of latent, sparse or linear attention adds"`
	PromptLayerS     *float64 `yaml:"prompt_layer_s" about:"that a layer adds to a step with prompts"`
	PromptLaunch     *float64 `yaml:"prompt_launch" unit:"times" about:"as long as launching without a graph the host takes for a step with prompts"`
	LaunchOverlap    *float64 `yaml:"launch_overlap" about:"p of (gpu^p + launch^p)^(1/p) of a step with prompts; 0: the longer counts"`
	EagerLaunch      *float64 `yaml:"eager_launch" unit:"times" about:"as long as in a graph the host takes to launch what layers have beyond a plain one"`
	RankS            *float64 `yaml:"rank_s" about:"that ranks on eight GPUs wait for one another in each step"`
	EagerLayerS      *float64 `yaml:"eager_layer_s" about:"that the host takes to launch a layer without a graph"`
	StepS            *float64 `yaml:"step_s" about:"that the host takes to prepare a step"`
	SequenceHostS    *float64 `yaml:"sequence_host_s" about:"that the host takes to prepare each decoding sequence of a step"`
	SequenceS        *float64 `yaml:"sequence_s" about:"of each decoding sequence of a step"`
	CollectiveS      *float64 `yaml:"collective_s" about:"of each collective"`
	FirstTokenS      *float64 `yaml:"first_token_s" about:"added to each TTFT"`
	TokenizeS        *float64 `yaml:"tokenize_s" about:"of each prompt token before the engine, one prompt after the other"`
	Overlap          *float64 `yaml:"overlap" about:"p of (memory^p + compute^p)^(1/p), at least 1; .inf: they overlap perfectly"`
}

// Apply puts the constants that are given in place of e's, and says which.
func (c *Constants) Apply(e *hardware.Efficiency) (changes []string) {
	from, to := reflect.ValueOf(c).Elem(), reflect.ValueOf(e).Elem()
	all := strict.FieldsOf(to.Type())
	for _, f := range strict.FieldsOf(from.Type()) {
		own := from.FieldByIndex(f.Index)
		if own.IsNil() {
			continue
		}
		at, _ := strict.FieldNamed(all, f.Key)
		constant := to.FieldByIndex(at.Index)
		changes = append(changes, fmt.Sprintf("%s %g in place of %g", f.Key, own.Elem().Float(), constant.Float()))
		constant.SetFloat(own.Elem().Float())
	}
	if len(changes) > 0 {
		e.Source += "; " + strings.Join(changes, ", ") + ", as the scenario says"
	}
	return changes
}
