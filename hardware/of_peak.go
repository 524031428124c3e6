package hardware

import "github.com/decodesim/decodesim/sim"

// Less of the peak FLOP/s than LittlePeak is a property of no GPU but of a kernel, or of a constant that stands for
// what is not modelled: more FLOP/s are not what it waits for. At so many rows that products fill a GPU it is worth a
// warning.
const (
	ManyRows   = 256
	LittlePeak = 0.10
)

// PeakShare is what a part of a step makes of the data sheet's peak of what it waits for.
type PeakShare struct {
	Part    string
	FLOPS   bool // it waits for arithmetic, and not for memory
	OfPeak  float64
	Rows    int  // that it multiplies
	Kernels bool // arithmetic far below the peak
	Slow    bool // the same, of many rows
}

// expertsPart is the part of a step that multiplies the tokens of all ranks.
const expertsPart = "experts"

// PeakShares returns what each part achieves of a decode step of batch sequences with the given context tokens each.
// Parts that read and multiply nothing, communication and overhead, have no peak.
func (r *Roofline) PeakShares(batch, context int) (all []PeakShare) {
	share := r.Share(batch)
	for _, p := range r.Parts(batch, context) {
		if p.TimeS <= 0 || p.Kind != sim.Weights && p.Kind != sim.KV {
			continue
		}
		x := PeakShare{Part: p.Name, FLOPS: p.ComputeS > p.MemoryS, OfPeak: p.MemoryPeakS / p.TimeS, Rows: share.Rows}
		if p.Name == expertsPart {
			x.Rows = share.Tokens
		}
		if x.FLOPS {
			x.OfPeak = p.ComputePeakS / p.TimeS
			x.Kernels = x.OfPeak < LittlePeak
			x.Slow = x.Kernels && x.Rows > ManyRows
		}
		all = append(all, x)
	}
	return all
}
