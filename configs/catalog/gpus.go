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

// Accelerator returns the accelerator of a catalog name or of a file like those of the catalog.
func Accelerator(nameOrPath string) (hardware.GPU, error) {
	if !IsGPUPath(nameOrPath) {
		return GPU(nameOrPath)
	}
	var g hardware.GPU
	data, err := ReadFile("gpu", nameOrPath)
	if err == nil {
		_, err = strict.Decode(nameOrPath, data, &g)
	}
	if err == nil {
		err = g.Validate()
	}
	return g, err
}

// IsGPUPath tells a path to a GPU's file from a catalog name.
func IsGPUPath(gpu string) bool { return IsEfficiencyPath(gpu) }

var gpuNamed = onEach("gpus", readGPU)

func readGPU(name string) (hardware.GPU, error) {
	file, text, ok := Lookup("gpus", name)
	if !ok {
		return hardware.GPU{}, UnknownGPU(name)
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
