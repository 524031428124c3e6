package hardware

import (
	"github.com/decodesim/decodesim/sim"
)

// Swap is the way of KV blocks to host memory and back. The zero value is none, over which nothing may be copied.
type Swap struct {
	BlockBytes float64 // of a block on one GPU
	LinkBps    float64 // between one GPU and host memory, one way
}

// swapTime returns how long a block takes. Every GPU copies its part of it over a link of its own, and data-parallel
// ranks copy evenly many:
//
//	T = bytes of a block on one GPU / (link · ranks)
func (d *Deployment) swapTime() sim.Duration {
	if d.Swap == (Swap{}) {
		return 0
	}
	return sim.SecondsUp(d.Swap.BlockBytes / (d.Swap.LinkBps * float64(d.Parallel.Ranks())))
}

// copy lengthens a step by the copies that precede it on the same stream. They are of this step alone, so it is the
// only one of g. Copies over the host link move nothing that the bound is about: they are communication.
func (r *Roofline) copy(blocks int64, g *sim.Segment) {
	if r.swap == 0 {
		panic("hardware: blocks are swapped over no link")
	}
	span := r.swap * sim.Duration(blocks)
	g.First += span
	g.Part[sim.Communication].A += span
	g.Steps = 1
}
