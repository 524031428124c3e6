package hardware

import (
	"fmt"
	"strings"
)

// Figures lists the fields of the GPU that the price of a step rests on, by their YAML paths, in no order and perhaps
// twice.
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

// linked returns how many GPUs each kind of link joins: those of a tensor-parallel group, those that share experts,
// those of all stages, and of each of these the ones in one domain.
func (d *Deployment) linked() []int {
	all := []int{d.Parallel.Tensor, d.Parallel.expertGPUs(), d.stagesJoined()}
	for _, n := range all {
		all = append(all, min(n, d.domain()))
	}
	return all
}

// stagesJoined is how many GPUs the link between pipeline stages joins: all of a replica; but of LPUs the chips of a
// stage are beside those of the next, however many there are.
func (d *Deployment) stagesJoined() int {
	if d.GPU.Kind == LPU {
		return min(d.Parallel.GPUs(), d.domain())
	}
	return d.Parallel.GPUs()
}

// linkField returns the YAML path of the bandwidth between n GPUs, those of a stage or those of all stages: the
// scale-up link inside its domain; PCIe inside a host whose GPUs have none, or have bridges between some of them only;
// the network beyond. Empty for a single GPU.
func (d *Deployment) linkField(n int) string {
	switch up := d.GPU.ScaleUpBps.Value != 0; {
	case n == 1:
		return ""
	case up && n <= max(1, int(d.GPU.Domain.Value)):
		return "scale_up_bps"
	case n <= nodeGPUs && (!up || d.GPU.PCIeBps.Known()):
		return "pcie_bps"
	}
	return "nic_bps"
}

// nodeGPUs is how many GPUs share a host's PCIe, as in common 8-GPU servers.
const nodeGPUs = 8

// linkBps returns the bandwidth, one way, of the link that joins n GPUs; 0 for a single GPU. In a mesh that is what of
// it leads to the other GPUs: two of eight have a seventh of what the data sheet says.
func (d *Deployment) linkBps(n int) (float64, error) {
	path := d.linkField(n)
	if path == "" {
		return 0, nil
	}
	bps, err := d.GPU.Need(path)
	if err != nil && path == "nic_bps" {
		return 0, fmt.Errorf("%w; %d GPUs reach beyond its scale-up domain of %d", err, n, max(1, int(d.GPU.Domain.Value)))
	}
	if path == "scale_up_bps" {
		bps *= d.GPU.linksTo(n - 1)
	}
	return bps, err
}

// linksTo returns how much of a GPU's scale-up links leads to so many others of its domain: all of them through a
// switch, but of a mesh those of these GPUs alone.
func (g *GPU) linksTo(others int) float64 {
	if !g.Mesh {
		return 1
	}
	return float64(others) / (g.Domain.Value - 1)
}

// link is linkBps of a deployment that Validate accepts.
func (d *Deployment) link(n int) float64 {
	bps, err := d.linkBps(n)
	if err != nil {
		panic(err)
	}
	return bps
}

// LinkBps returns what a link between replicas carries one way for one GPU: that of the scale-up domain or of PCIe as
// the data sheet says, its share of the node's network, or a network adapter of its own at line rate.
func (g GPU) LinkBps(link string) (float64, error) {
	if path := LinkFigure(link); path != "" {
		bps, err := g.Need(path)
		if err == nil && bps == 0 {
			err = fmt.Errorf("hardware: gpu %q has no such link", g.Name)
		}
		return bps, err
	}
	for _, nic := range nics() {
		if nic.name == link {
			return nic.gigabits * 1e9 / 8, nil
		}
	}
	return 0, fmt.Errorf("hardware: link %q not known", link)
}

// LinkFigure returns the YAML path of a GPU's field that says what the link carries; empty: its name does.
func LinkFigure(link string) string {
	switch link {
	case "nvlink":
		return "scale_up_bps"
	case "pcie":
		return "pcie_bps"
	case "nic":
		return "nic_bps"
	}
	return ""
}

// Links returns the links between replicas that GPU.LinkBps knows.
func Links() []string {
	names := []string{"nvlink", "pcie", "nic"}
	for _, nic := range nics() {
		names = append(names, nic.name)
	}
	return names
}

// TransferAchieves returns what transfers of KV caches achieve of a link between replicas, and the time until their
// first byte: over a network 0.7 of its line rate after 0.4 ms, as vLLM with Mooncake between two hosts of 8 H800 with
// 8 adapters of 200 Gb/s, for 9 prompts of 128 to 32,768 tokens within 3.4 % in the median and 9 % at worst (Mooncake,
// "vLLM PD disaggregation" of its docs, version 0.11.2.dev358). Other links were not measured and count whole.
func TransferAchieves(link string) (share, latencyS float64) {
	if strings.HasPrefix(link, "nic") {
		return 0.7, 0.4e-3
	}
	return 1, 0
}

// nic is a network adapter at the line rate that its name says. What its protocols leave to the payload is for an
// efficiency to say.
type nic struct {
	name     string
	gigabits float64 // 1e9 bits/s each way
}

func nics() []nic {
	return []nic{{"nic-100g", 100}, {"nic-200g", 200}, {"nic-400g", 400}, {"nic-800g", 800}}
}
