package hardware

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Launch is how the host drives the GPUs. The zero value launches every step as one graph that fits it exactly.
type Launch struct {
	Eager  bool  // kernel by kernel, never as a CUDA graph: a step lasts at least Efficiency.EagerLayerS per layer
	Graphs []int // rows of the graphs that were captured, ascending; empty: one for each number of rows
	Async  bool  // the host prepares a step while the GPU runs the one before: the longer of the two counts, not the sum
}

// graphRowsMax bounds the rows of a graph.
const graphRowsMax = 1 << 16

func (l *Launch) validate() error {
	last := 0
	for _, n := range l.Graphs {
		if n <= last || n > graphRowsMax {
			return fmt.Errorf("hardware: cudagraph_capture_sizes %v: %d after %d; expected rising numbers from 1 to %d",
				l.Graphs, n, last, graphRowsMax)
		}
		last = n
	}
	return nil
}

// CaptureSizes returns the rows that vLLM captures graphs for, up to rowsMax: 1, 2, 4, every 8th up to 248, and then
// every 16th (vllm/config/compilation.py).
func CaptureSizes(rowsMax int) []int {
	var sizes []int
	for _, n := range []int{1, 2, 4} {
		if n <= rowsMax {
			sizes = append(sizes, n)
		}
	}
	for n := 8; n <= min(rowsMax, 248); n += 8 {
		sizes = append(sizes, n)
	}
	for n := 256; n <= rowsMax; n += 16 {
		sizes = append(sizes, n)
	}
	return sizes
}

// table returns, for each number of rows, those of the graph that runs them; nil: none is padded.
func (l *Launch) table() []int32 {
	if l.Eager || len(l.Graphs) == 0 {
		return nil
	}
	rows := make([]int32, l.Graphs[len(l.Graphs)-1]+1)
	i := 0
	for n := range rows {
		if n > l.Graphs[i] {
			i++
		}
		rows[n] = int32(l.Graphs[i])
	}
	return rows
}

// floor returns the least time of a step that is launched kernel by kernel, or else as a CUDA graph.
func (r *Roofline) floor(eager bool) sim.Duration {
	if eager {
		return r.eagerFloor
	}
	return r.graphFloor
}

// pad rounds the rows of the linear layers up to those of a graph; attention reads what there is, and the LM head sees
// the rows asked for. Ranks in lock step run the same graph. Above the largest graph a step is eager.
func (r *Roofline) pad(l *load) {
	n := r.lockStep.graphRows(l.rows)
	if n >= len(r.padded) {
		l.eager = true
		return
	}
	l.rows = float64(r.padded[n])
	if ranks := r.d.Parallel.Ranks(); ranks > 1 {
		l.tokens = float64(ranks) * l.rows
	} else {
		l.tokens = l.rows
	}
}

// stepFloor returns the least time of a step: what the host takes to launch an eager one, and to prepare the next.
//
//	synchronous   T_e + max(GPU, L·t_eager)       T_e is in the price already
//	asynchronous  max(GPU, L·t_eager, T_e)
func (d *Deployment) stepFloor(eager bool) sim.Duration {
	launch := 0.0
	if eager {
		launch = float64(d.Model.LayerCount()) * d.Efficiency.EagerLayerS
	}
	switch {
	case d.Launch.Async:
		return sim.SecondsUp(max(launch, d.Efficiency.StepS))
	case launch == 0:
		return 0
	}
	return sim.SecondsUp(launch + d.Efficiency.StepS)
}
