package hardware

import (
	"github.com/decodesim/decodesim/sim"
)

// Swap is the way of KV blocks to host memory and back. The zero value is none, over which nothing may be copied.
type Swap struct {
	BlockBytes float64 // of a block on one GPU
	LinkBps    float64 // between one GPU and host memory, one way
	// Layers is how many layers a GPU computes one after the other, each of which waits for its own part of the blocks
	// alone. 0: copies precede the step, as those of swapped sequences do.
	Layers int
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

// copy lengthens a step by the copies that precede it on the same stream or, if layers wait for their own part alone,
// by what the layers before leave of them. With T the step, C the copies and L layers of equal length,
//
//	T' = max(T + C/L, C + T/L)
//
// for either all layers follow the first copy, or the last layer follows all copies (SGLang 0.5.5 loads like this:
// srt/managers/cache_controller.py:502, start_loading). They are of this step alone, so it is the only one
// of g. Copies over the host link move nothing that the bound is about: they are communication.
func (r *Roofline) copy(blocks int64, g *sim.Segment) {
	if r.swap == 0 {
		panic("hardware: blocks are swapped over no link")
	}
	span, n := r.swap*sim.Duration(blocks), r.swapLayers
	span = max((span+n-1)/n, span-g.First+(g.First+n-1)/n)
	g.First += span
	g.Part[sim.Communication].A += span
	g.Steps = 1
}
