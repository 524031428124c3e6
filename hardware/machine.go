package hardware

import "fmt"

// Kind is what an accelerator is that no CUDA or ROCm drives. The zero Kind is a GPU.
type Kind string

// The kinds. An LPU and a wafer have SRAM as their only memory, and hold each layer on chips or cores of its own.
const (
	LPU      Kind = "lpu"
	Wafer    Kind = "wafer"
	TPU      Kind = "tpu"
	Trainium Kind = "trainium"
	Gaudi    Kind = "gaudi"
	Maia     Kind = "maia"
	Apple    Kind = "apple"
)

func kinds() []Kind { return []Kind{"", LPU, Wafer, TPU, Trainium, Gaudi, Maia, Apple} }

// SRAM reports whether the only memory is on the chip, so that a model is spread over the chips that it takes.
func (k Kind) SRAM() bool { return k == LPU || k == Wafer }

// contextBytes is what a process takes of the memory beside weights, activations and cache: what CUDA's takes, or
// nothing that is known of other software.
func (g *GPU) contextBytes() float64 {
	if g.Kind != "" {
		return 0
	}
	return cudaContextBytes
}

// multiplies refuses a device of which no source states the peak that attention and norms are computed at.
func (d *Deployment) multiplies() error {
	if d.GPU.FLOPS.BF16.Known() {
		return nil
	}
	return fmt.Errorf("hardware: gpu %q has no flops.bf16: no source states it; accepted: another gpu, or "+
		"{from: %s, flops: {bf16: …}} with a figure of your own", d.GPU.Name, d.GPU.Name)
}

// spreadMax is the most chips of SRAM over which a layer is spread: those of a few racks.
const spreadMax = 256

// Spread returns the least split that holds the model on chips whose SRAM is their only memory, with room for so many
// tokens of cache in each: stages of layers first, and where a layer is larger than the chips of a stage, more of them.
// False: no split does.
func (d *Deployment) Spread(share MemoryShare, tokens, sequences, blockSize int, context float64) (Parallel, bool) {
	wide := *d
	wide.Parallel = Parallel{Tensor: 1, Pipeline: 1}
	if d.GPU.Kind == LPU {
		wide.Parallel.Tensor = nodeGPUs
	}
	for ; wide.Parallel.Tensor <= spreadMax; wide.Parallel.Tensor *= 2 {
		if wide.validateSplit() != nil {
			continue
		}
		for wide.Parallel.Pipeline = 1; wide.Parallel.Pipeline <= d.Model.LayerCount(); wide.Parallel.Pipeline++ {
			m := wide.budget(share, tokens, sequences, blockSize)
			if m.KV > m.FixedBytes+float64(m.TokenBytes*context) {
				return wide.Parallel, true
			}
		}
		wide.Parallel.Pipeline = 1
	}
	return d.Parallel, false
}
