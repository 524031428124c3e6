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

// floor returns the least time of a step, by how it is launched.
func (r *Roofline) floor(l *load) sim.Duration {
	kind := inGraph
	switch {
	case l.eager && l.prompts:
		kind = eagerPrompts
	case l.eager:
		kind = eagerDecodes
	case l.prompts:
		kind = promptsInGraph
	}
	preparing := r.hostSeq * sim.Duration(l.decodes)
	switch {
	case r.d.Launch.Async:
		return max(r.floors[kind], r.floors[inGraph]+preparing)
	case r.floors[kind] == 0:
		return 0
	}
	return r.floors[kind] + preparing
}

// How a step is launched.
const (
	inGraph        = iota // decodes, as one CUDA graph
	promptsInGraph        // with prompts: in graphs but for its attention
	eagerDecodes          // kernel by kernel
	eagerPrompts
	launchKinds
)

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

// stepFloors returns the least times of steps: what the host takes to launch them, and to prepare the next.
//
//	synchronous   T_e + n·t_h + max(GPU, launch)       T_e + n·t_h is in the price already
//	asynchronous  max(GPU, launch, T_e + n·t_h)
//
//	launch        0 in a graph; eager kernel by kernel; with prompts m_P·(eager + m_E·L_q·t_Q) in graphs, and
//	              max(1, m_P) times that without
//	eager         L·t_eager + m_E·(L_moe·t_M + L_x·t_X)
//
// Layers of experts, of latents or linear attention have several times the kernels of a plain one, and as many times
// what they add to it in a graph. Of the logs of vLLM 0.20 on B300 (H_steps), steps of 513 to 1,100 rows take no less
// than 17.5 ms for the 64 plain layers of Qwen3-32B on 8 GPUs, 40 ms for the 40 hybrid ones of Qwen3.6-35B-A3B and 66
// ms for the 43 of DeepSeek-V4-Flash; with prompts in piecewise graphs 7.5, 16 and 20 ms. What quantising adds counts
// with prompts, whose TTFT says so (docs/accuracy.md, data A: without it TTFT of deployments left out is 57.6 % off
// nine times in ten, with it 51.9 %). Of decodes no measurement does, and one kernel more does not take as long as a
// layer.
func (r *Roofline) stepFloors() (floors [launchKinds]sim.Duration) {
	e := &r.d.Efficiency
	eager := r.launching()
	whole := eager + float64(r.d.stretch()*float64(r.d.quantizedLayers()*e.QuantizedLayerS)*e.EagerLaunch)
	prompts := float64(e.PromptLaunch * whole)
	for kind, launch := range [launchKinds]float64{0, prompts, eager, max(whole, prompts)} {
		switch {
		case r.d.Launch.Async:
			floors[kind] = sim.SecondsUp(max(launch, e.StepS))
		case launch > 0:
			floors[kind] = sim.SecondsUp(launch + e.StepS)
		}
	}
	return floors
}

// launching returns the time in seconds that the host takes to launch decodes kernel by kernel.
func (r *Roofline) launching() float64 {
	e := &r.d.Efficiency
	m := &r.d.Model
	more := float64(float64(m.MoELayers())*e.MoELayerS) + float64(float64(m.MixerLayers())*e.MixerLayerS)
	return r.d.stretch() * (float64(float64(m.LayerCount())*e.EagerLayerS) + float64(more*e.EagerLaunch))
}
