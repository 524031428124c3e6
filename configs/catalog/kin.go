package catalog

import (
	"cmp"

	"github.com/decodesim/decodesim/hardware"
)

// Family names the kin of a GPU, of which the software for one is that for another: its architecture, of GPUs with
// links between them. Cards without are on their own. Empty: none.
func Family(gpu string) string {
	g, err := GPU(gpu)
	if err != nil {
		return ""
	}
	return familyOf(&g)
}

func familyOf(g *hardware.GPU) string {
	if g.ScaleUpBps.Value == 0 {
		return ""
	}
	return g.Architecture
}

// Chip names the GPU of a host of eight that has the same chip: itself, unless it is a rack's.
func Chip(gpu string) string { return cmp.Or(sameChip(gpu), gpu) }

// StandIn says whose efficiencies are taken for a GPU that was not measured: those of GPUs like it, as it differs from
// them elsewhere, the nearest one's, its family's, or those of all together.
func (e *Efficiencies) StandIn(gpu *hardware.GPU) string {
	if _, ok := e.of(gpu.Name); ok {
		return "GPUs like it, as it differs from them under other software"
	}
	_, whose := e.standIn(gpu)
	return whose
}

func (e *Efficiencies) standIn(gpu *hardware.GPU) (achieved hardware.Efficiency, whose string) {
	for _, kin := range nearest(gpu.Name) {
		if same, ok := e.of(kin); ok {
			return same, kin
		}
	}
	if family := familyOf(gpu); family != "" {
		for _, f := range e.Families {
			if f.Family == family {
				return f.Efficiency, "its family, " + family
			}
		}
	}
	return e.Default, "all measured GPUs together"
}

// sameChip names the GPU of a host of eight that has the chip of a rack's GPU; empty: none. A GB200 is a B200 beside a
// CPU, with more power; so is a GB300 a B300.
func sameChip(gpu string) string {
	switch gpu {
	case "gb200":
		return "b200-sxm"
	case "gb300":
		return "b300-sxm"
	}
	return ""
}

// nearest names the GPUs whose kernels one runs, the nearest first: of the same chip on another board, or else of the
// same generation. Of AMD's only one was measured, which stands for the generation after it too: of four published
// lists on MI350X and MI355X the throughput is 17.7 % off in the median by it, and 20.8 % by what all measured GPUs
// have in common.
func nearest(gpu string) []string {
	switch gpu {
	case "gb200", "b300-sxm":
		return []string{"b200-sxm"}
	case "gb300":
		return []string{"b300-sxm", "b200-sxm"}
	case "h200-sxm", "h100-nvl", "h100-pcie":
		return []string{"h100-sxm"}
	case "h200-nvl":
		return []string{"h200-sxm", "h100-sxm"}
	case "gh200-144gb":
		return []string{"gh200-96gb"}
	case "a100-sxm-40gb", "a100-pcie-80gb":
		return []string{"a100-sxm-80gb"}
	case "mi325x", "mi350x", "mi355x":
		return []string{"mi300x"}
	case "rtx-pro-6000-ws", "rtx-5090":
		return []string{"rtx-pro-6000-server"}
	case "l4":
		return []string{"l40s"}
	}
	return nil
}
