package hardware

import (
	"fmt"
	"math"

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

// hostTimes are what the host takes for a step: it is launched for so long, prepared for some time that adds to that of
// a synchronous engine, and lasts at least so long in all.
type hostTimes struct {
	launchPS         float64 // 0: in a graph, or decodes alone, whose launch is in the least
	preparing, least sim.Duration
}

// host returns what the host takes for a load.
func (r *Roofline) host(l *load) hostTimes {
	var h hostTimes
	if preparing := r.hostStep + r.hostSeq*sim.Duration(l.decodes); r.d.Launch.Async {
		h.least = preparing
	} else {
		h.preparing = preparing
	}
	switch launch := r.launches[l.launch()]; {
	case l.prompts && r.d.Efficiency.LaunchOverlap > 0:
		h.launchPS = launch
	case launch > 0:
		h.least = max(h.least, sim.Duration(math.Ceil(launch))+h.preparing)
	}
	return h
}

// beyond returns by how much a step is longer, for the host, than what the GPU takes and preparing adds to that.
func (r *Roofline) beyond(h *hostTimes, price sim.Duration) sim.Duration {
	extra := h.least - price
	if h.launchPS > 0 {
		gpu := price - h.preparing
		extra = max(extra, sim.Duration(math.Ceil(smax(float64(gpu), h.launchPS, r.d.Efficiency.LaunchOverlap)))-gpu)
	}
	return max(0, extra)
}

// delay lengthens the steps of g by what the host takes beyond them. A step with prompts is followed by no equal one.
func (r *Roofline) delay(h *hostTimes, g *sim.Segment) {
	if h.launchPS > 0 || g.First < h.least {
		r.waitForHost(h, g)
	}
}

// waitForHost is delay where the host takes longer, or may.
func (r *Roofline) waitForHost(h *hostTimes, g *sim.Segment) {
	if h.launchPS > 0 {
		extra := r.beyond(h, g.First)
		g.First += extra
		g.Part[sim.Overhead].A += extra
		g.Steps = 1
		return
	}
	wait(h.least, g)
}

// How a step is launched.
const (
	inGraph        = iota // decodes, as one CUDA graph
	promptsInGraph        // with prompts: in graphs but for its attention
	eagerDecodes          // kernel by kernel
	eagerPrompts
	launchKinds
)

// launch returns how the step is launched.
func (l *load) launch() int {
	switch {
	case l.eager && l.prompts:
		return eagerPrompts
	case l.eager:
		return eagerDecodes
	case l.prompts:
		return promptsInGraph
	}
	return inGraph
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

// launchTimes returns in picoseconds what the host takes to launch steps, by how they are launched.
//
//	synchronous   T_e + n·t_h + max(GPU, launch)       T_e + n·t_h is in the price already
//	asynchronous  max(GPU, launch, T_e + n·t_h)
//
//	launch        0 in a graph; eager kernel by kernel; with prompts m_P·(eager + m_E·L_q·t_Q) in graphs, and
//	              max(1, m_P) times that without
//	eager         L·u·t_eager + m_E·(r·L_moe·t_M + L_x·t_X)
//
//	              under launch_overlap, between ranks r = 1.5, and u = 1.8 if they are tensor-parallel; else both 1
//
// With prompts, under launch_overlap, the longer of GPU and launch counts smoothly, as of memory and arithmetic: some
// kernels take the GPU longer than the host, others the host. It is read off the steps of vLLM in H_steps: with their
// deployment left out of the fit, steps of prompts alone are 7.0 % off in the median and 33 % nine times in ten, where
// 12.3 and 42 by the longer of the two, and mixed ones 15.7 and 48 for 19.7 and 58. Chunks of one prompt at a time look
// like the longer of the two: of Qwen3.6-35B-A3B on two GPUs they take 40 to 42 ms from 513 to 4,224 tokens and 47, 53
// and 59 for 5,280, 6,336 and 7,392, where 42 to 51 and 55, 60 and 65 are predicted. But steps of prompts that come
// several at a time take 8 to 10 ms more than the same step of one, and no price knows of what arrives. In a trial of a
// fit to the logs alone, in tenths of deployments left out, p of 1.5, 2, 3, 4 and 8 has mixed steps 12.1, 11.9, 12.1,
// 12.3 and 12.4 % off in the median and 44, 43, 43, 42 and 43 nine times in ten, and steps of prompts alone 6.9, 7.4,
// 9.4, 9.7 and 11.8, and 31, 29, 27, 27 and 27.
//
// Between its ranks an MoE layer has about half as many kernels more, which bring tokens to experts and back. vLLM 0.20
// fuses no all-reduce with the norm behind it there (its logs say so), and launches the two of a layer apart. Of steps
// of 513 to 3,200 rows in the same logs, which the host decides, a quarter take no more than 40 ms for the 40 layers of
// Qwen3.6-35B-A3B on two GPUs and 41 on four, 45 and 50 between two and eight ranks of a GPU each, and 54 and 55
// between two and four ranks of two. In a trial of a fit to vLLM's runs alone, with their deployment left out, mixed
// steps go from 12.8 and 46 % off to 12.0 and 47, those between ranks from 14.8 and 52 to 13.9 and 53, steps of prompts
// from 8.9 and 28 to 8.3 and 27, and TPOT and TTFT of servers stay, from r = 2 and u = 1.
//
// Layers of experts, of latents or linear attention have several times the kernels of a plain one, and as many times
// what they add to it in a graph. Of the logs of vLLM 0.20 on B300 (H_steps), steps of 513 to 1,100 rows take no less
// than 17.5 ms for the 64 plain layers of Qwen3-32B on 8 GPUs, 40 ms for the 40 hybrid ones of Qwen3.6-35B-A3B (45 to
// 54 between ranks) and 66 ms for the 43 of DeepSeek-V4-Flash (75 between ranks); with prompts in piecewise graphs 7.5,
// 16 (17 to 20) and 20 ms. What quantising adds counts with prompts, whose TTFT says so (docs/accuracy.md, data A:
// without it TTFT of deployments left out is 57.6 % off nine times in ten, with it 51.9 %). Of decodes no measurement
// does, and one kernel more does not take as long as a layer.
func (r *Roofline) launchTimes() [launchKinds]float64 {
	e := &r.d.Efficiency
	eager := r.launching()
	whole := eager + float64(r.d.stretch()*float64(r.d.quantizedLayers()*e.QuantizedLayerS)*e.EagerLaunch)
	prompts := float64(e.PromptLaunch * whole)
	return [launchKinds]float64{0, psPerS * prompts, psPerS * eager, psPerS * max(whole, prompts)}
}

// launching returns the time in seconds that the host takes to launch decodes kernel by kernel.
func (r *Roofline) launching() float64 {
	e := &r.d.Efficiency
	m := &r.d.Model
	layers, moe := float64(m.LayerCount()), float64(m.MoELayers())
	if p := &r.d.Parallel; p.Ranks() > 1 && e.LaunchOverlap > 0 {
		moe *= exchangesLaunched
		if p.Tensor > 1 {
			layers *= reducesLaunched
		}
	}
	more := float64(moe*e.MoELayerS) + float64(float64(m.MixerLayers())*e.MixerLayerS)
	return r.d.stretch() * (float64(layers*e.EagerLayerS) + float64(more*e.EagerLaunch))
}

// By how many times as long the host takes between ranks to launch what experts add to a layer, with what brings tokens
// to them and back, and a plain layer, with all-reduces apart from norms; see launchTimes.
const (
	exchangesLaunched = 1.5
	reducesLaunched   = 1.8
)
