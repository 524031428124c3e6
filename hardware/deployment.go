package hardware

import (
	"fmt"
	"github.com/decodesim/decodesim/hardware/llm"
	"strings"
)

// Deployment is one replica: a model, the GPUs that run it, how it is split over them, and what the engine achieves.
type Deployment struct {
	GPU        GPU
	Model      llm.Model
	KVDtype    string // of cache elements, one of KVDtypes
	HybridKV   bool   // the cache has groups for layers with a sliding window, which keep no more than the window
	Parallel   Parallel
	Routing    Routing
	Efficiency Efficiency
	Launch     Launch
	Swap       Swap
	LoRA       LoRA

	Speculation *Speculation // nil: none
	Decoding    Decoding

	Phase        Phase
	Materialized bool // attention writes its scores to memory and reads them back
	AttentionFP8 bool // attention multiplies queries, keys and values in fp8
	PerHead      bool // decodes read keys and values anew for every query head of a group
}

// Phase is which part of requests a replica runs.
type Phase uint8

// The phases: prompts and decodes together, or either by itself, the other on replicas of its own.
const (
	BothPhases Phase = iota
	PromptsOnly
	DecodesOnly
)

// Validate reports why d cannot run, whatever its batch.
func (d *Deployment) Validate() error {
	if d.Parallel.Tensor < 1 || d.Parallel.Pipeline < 1 {
		return fmt.Errorf("hardware: tensor parallel %d × pipeline parallel %d, both must be at least 1",
			d.Parallel.Tensor, d.Parallel.Pipeline)
	}
	if _, err := kvBits(d.KVDtype); err != nil {
		return err
	}
	if n := d.Model.LayerCount(); d.Parallel.Pipeline > n {
		return fmt.Errorf("hardware: pipeline_parallel %d, but %s has only %d layers", d.Parallel.Pipeline, d.Model.Name, n)
	}
	if d.AttentionFP8 && (d.KVDtype != "fp8" || !d.GPU.FLOPS.FP8.Known()) {
		return fmt.Errorf("hardware: attention flash-fp8 multiplies a cache in fp8 on units for it, and has one in %s on "+
			"%s; accepted: flash, or kv_cache fp8 on a GPU with flops.fp8", d.KVDtype, d.GPU.Name)
	}
	if len(d.Model.Attention()) == 0 {
		return fmt.Errorf("hardware: no layer of %s has attention; a cache of recurrent states alone is not modelled",
			d.Model.Name)
	}
	if err := d.validateRanks(); err != nil {
		return err
	}
	if err := d.multiplies(); err != nil {
		return err
	}
	for _, f := range d.Model.Precision.Weights {
		if _, err := d.GPU.rate(f); err != nil {
			return err
		}
	}
	if err := d.Launch.validate(); err != nil {
		return err
	}
	if err := d.Decoding.validate(); err != nil {
		return err
	}
	if err := d.validateSplit(); err != nil {
		return err
	}
	if err := d.validateLoRA(); err != nil {
		return err
	}
	return d.validateSpeculation()
}

// validateRanks reports numbers of ranks and GPUs that cannot share the experts of the model.
func (d *Deployment) validateRanks() error {
	switch n, experts := d.Parallel.Data, d.Model.Experts(); {
	case n < 0:
		return fmt.Errorf("hardware: data_parallel %d; expected 1 or more", n)
	case n > 1 && experts == 0:
		return fmt.Errorf("hardware: data_parallel %d, but %s has no experts that ranks would share; "+
			"accepted: 1, with %d times the replicas", n, d.Model.Name, n)
	case d.Parallel.Expert && experts == 0:
		return fmt.Errorf("hardware: expert_parallel true, but %s has no experts; accepted: false", d.Model.Name)
	case d.Parallel.Expert && d.Parallel.expertGPUs() > experts:
		return fmt.Errorf("hardware: expert_parallel true over %d GPUs, but %s has %d experts; "+
			"accepted: false, or fewer GPUs", d.Parallel.expertGPUs(), d.Model.Name, experts)
	}
	return nil
}

// validateSplit reports heads, windows and links that do not fit the tensor-parallel size.
func (d *Deployment) validateSplit() error {
	t := d.Parallel.Tensor
	for _, g := range d.Model.Attention() {
		if g.Heads%t != 0 {
			return fmt.Errorf("hardware: tensor_parallel %d does not divide the %d attention heads of %s; %s would do",
				t, g.Heads, d.Model.Name, divisors(g.Heads))
		}
		if g.Latent == 0 && g.KVHeads%t != 0 && t%g.KVHeads != 0 {
			return fmt.Errorf("hardware: tensor_parallel %d neither divides the %d KV heads of %s nor is a multiple of them",
				t, g.KVHeads, d.Model.Name)
		}
	}
	if _, err := d.windows(); err != nil {
		return err
	}
	for _, n := range d.linked() {
		if _, err := d.linkBps(n); err != nil {
			return err
		}
	}
	if err := d.validateExchange(); err != nil {
		return err
	}
	return d.validateRouting()
}

func divisors(n int) string {
	var s []string
	for i := 1; i <= n; i *= 2 {
		if n%i == 0 {
			s = append(s, fmt.Sprint(i))
		}
	}
	return strings.Join(s, ", ")
}

// stageShare returns the part of the layers that the largest pipeline stage holds.
func (d *Deployment) stageShare() float64 {
	n := d.Model.LayerCount()
	return float64(ceilDiv(n, d.Parallel.Pipeline)) / float64(n)
}
