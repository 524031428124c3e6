package hardware

// Figures lists the fields of the GPU that the price of a step rests on, by their YAML paths, in no order and perhaps twice.
func (d *Deployment) Figures() []string {
	used := []string{"memory_bytes", "bandwidth_bps", "flops.bf16"}
	for c, n := range d.Model.Params() {
		if n == 0 {
			continue
		}
		format := d.Model.Precision.Weights[c]
		_, dtype := d.GPU.ComputeFLOPS(format.Dtype)
		used = append(used, "flops."+dtype)
		if format.Sparse {
			path, _ := d.GPU.sparseRatio(dtype)
			used = append(used, path)
		}
	}
	for _, n := range d.linked() {
		if path := d.linkField(n); path != "" {
			used = append(used, path)
		}
	}
	return used
}

// linked returns how many GPUs each kind of link joins: those of a tensor-parallel group, those that share experts, and
// those of all stages.
func (d *Deployment) linked() []int {
	return []int{d.Parallel.Tensor, d.Parallel.expertGPUs(), d.Parallel.GPUs()}
}

// linkField returns the YAML path of the bandwidth between n GPUs, those of a stage or those of all stages: the scale-up
// link inside its domain; PCIe where there is none; the network beyond. Empty for a single GPU.
func (d *Deployment) linkField(n int) string {
	switch up := d.GPU.ScaleUpBps.Value > 0; {
	case n == 1:
		return ""
	case up && n <= max(1, int(d.GPU.Domain.Value)):
		return "scale_up_bps"
	case !up && n <= nodeGPUs:
		return "pcie_bps"
	}
	return "nic_bps"
}

// nodeGPUs is how many GPUs without a scale-up link share a host's PCIe, as in common 8-GPU servers.
const nodeGPUs = 8
