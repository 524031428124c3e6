package catalog

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// GPUNames returns the names of the accelerators that are built in, in order.
func GPUNames() []string { return Names("gpus") }

// GPU returns the accelerator of the catalog with that name.
func GPU(name string) (hardware.GPU, error) { return gpuNamed(name) }

var gpuNamed = onEach("gpus", readGPU)

func readGPU(name string) (hardware.GPU, error) {
	file, text, ok := Lookup("gpus", name)
	if !ok {
		return hardware.GPU{}, strict.NotFound("gpu", name, GPUNames())
	}
	var g hardware.GPU
	if _, err := strict.Decode(file, text, &g); err != nil {
		return hardware.GPU{}, err
	}
	if g.Name != name {
		return hardware.GPU{}, fmt.Errorf("configs: %s names gpu %q, want %q", file, g.Name, name)
	}
	return g, g.Validate()
}
