package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/hardware"
)

// GPUNames returns the names of the accelerators that are built in, in order.
func GPUNames() []string { return embeddedNames("gpus") }

// GPU returns the accelerator of the catalog with that name.
func GPU(name string) (hardware.GPU, error) {
	file, text, ok := embedded("gpus", name)
	if !ok {
		return hardware.GPU{}, notFound("gpu", name, GPUNames())
	}
	var g hardware.GPU
	if err := decodeStrict(file, text, &g); err != nil {
		return hardware.GPU{}, err
	}
	if g.Name != name {
		return hardware.GPU{}, fmt.Errorf("configs: %s names gpu %q, want %q", file, g.Name, name)
	}
	return g, g.Validate()
}
