package hardware

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// What follows is read by the twin of collectives: what was measured. What comes of it the twin works out by itself.

// Kernel is a way to run a collective, as tables say.
type Kernel struct {
	LatencyS, DoublingS, Share, Growth float64
	LeastS                             float64
	Whole, Once                        bool
}

func kernel(a algorithm) Kernel {
	return Kernel{LatencyS: a.latencyS, DoublingS: a.doublingS, Share: a.share, Growth: a.growth, Whole: a.whole,
		Once: a.once}
}

// Reduces and Gathers are those of n GPUs in one domain.
func Reduces(d *Deployment, n int) []Kernel {
	return reduces(d, n)
}
func Gathers(d *Deployment, n int) []Kernel {
	return kernels(tableOf(d.GPU.Architecture, d.linkField(n)).gather)
}

func kernels(all []algorithm) []Kernel {
	var out []Kernel
	for _, a := range all {
		out = append(out, kernel(a))
	}
	return out
}

// Sends are dispatch and combine by a kernel, in one domain and between domains.
func Sends(d *Deployment, n, mode int) (near, far [2]Kernel) {
	t := tableOf(d.GPU.Architecture, d.linkField(n))
	for i, x := range []sending{t.dispatch[mode], t.combine[mode]} {
		near[i], far[i] = Kernel{LatencyS: x.floorS, Share: x.share, LeastS: x.leastS}, kernel(x.far)
	}
	return near, far
}

// Crossing is an all-reduce between domains.
func Crossing() Kernel { return kernel((&span{}).crossing()) }

func reduces(d *Deployment, n int) []Kernel {
	t := d.table(n)
	return kernels(t.reduces(d.Parallel.NCCL))
}

// Popularity returns how popular each expert is; one by one, whatever the skew.
func Popularity(d *Deployment) []float64 {
	loads := d.popularity()
	if len(loads) == 1 {
		loads = slices.Repeat(loads, d.Model.Experts())
	}
	return loads
}

// Touched returns what the tables of routing say of so many tokens: the share of experts that are touched, that on the
// busiest GPU, and how many times the mean of rows that one has. They are compared with simulated routing.
func Touched(d *Deployment, tokens float64) (touched, busiest, rows float64) {
	r := Roofline{d: *d, routing: newRouting(d)}
	touched = r.touched(tokens)
	busiest, rows = r.busiest(tokens, touched)
	return touched, busiest, rows
}

// GreatestNormal is the mean of the greatest of n independent standard normal numbers, GreatestBinomial that of m draws
// each with chance a, in standard deviations from their mean, and Smax the time of two overlapping uses of a GPU.
func GreatestNormal(n float64) float64                    { return greatestNormal(n) }
func GreatestBinomial(m int, a float64, many int) float64 { return greatestBinomial(m, a, many) }
func Smax(a, b, p float64) float64                        { return smax(a, b, p) }

// Slower returns the longer of two segments, as far as it stays so.
func Slower(g, h sim.Segment) sim.Segment {
	slower(&g, &h)
	return g
}

// Bound is a segment of many steps whose bound is the greater of two, and Wait one that lasts no less than the host.
func Bound(memory, flops sim.Affine) sim.Segment {
	g := sim.Segment{Steps: math.MaxInt32}
	bound(memory, flops, &g)
	return g
}
func Wait(floor sim.Duration, g sim.Segment) sim.Segment {
	wait(floor, &g)
	return g
}

// Busiest returns the rows, tokens, outputs and sequences of a batch that the busiest GPU has, without padding.
func (r *Roofline) Busiest(b *sim.Shape) []float64 {
	var l load
	r.divide(&l, b)
	return []float64{l.rows, l.tokens, l.outputs, l.sequences}
}
