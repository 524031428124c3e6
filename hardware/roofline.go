package hardware

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// Roofline prices a step as a sum of parts, each of which takes its memory time or its compute time, whichever is
// longer (Williams, Waterman & Patterson, CACM 52(4), 2009), or a smooth maximum of them. On the busiest GPU of the
// replica, for n decodes with K context tokens and P prompt tokens, M = n + P rows, times in seconds:
//
//	linear     Σ over parts  smax(W / (e_b·BW), 2·p·M / (e_c·F))   weights W bytes, p parameters, F of their dtype;
//	                         experts: W·A(M_e), A the expected share touched, and products padded to tiles,
//	                         see experts.go;
//	                         LM head: the rows that yield a token
//	cache      K · smax(k_mix · k / (e_kv·BW), f / (e_at·F16))     k bytes and f FLOPs per context token; by window;
//	                         the longer of the two on latents, see attention.go
//	state      2·s·(n + chunks) / (e_kv·BW)                        recurrent state s, read and written
//	residual   q·M / (e_b·BW)                            q bytes a row of streams moves, see llm.ResidualRowBytes
//	prefill    Σ over kinds  smax(ctx·k / (e_kv·BW), pairs·2·a·(d_k+d_v) / (e_at·F16))
//	                         no less than a tile of the longest chunk on one multiprocessor, see attention.go
//	comm       collectives and transfers between stages, see collectives.go
//	fixed      L·t_L + L_moe·t_M + L_q·t_Q + L_x·t_X + T_e + n·(t_r + t_h);  + L·t_P with prompts
//	ranks      t_D · log2(g) / 3                         of g GPUs, see ranks.go
//
// M_e are the tokens of all data-parallel ranks; k_mix is 1 unless prompts share the step; e_c is that of the part, see
// Efficiency; a kernel that materialises scores moves more, see attention.go. parallel.go says what the busiest GPU has
// of a batch and how long the slowest pipeline stage makes a step, launch.go which rows pad a CUDA graph and when
// the host takes longer than the GPU.
//
// The form is the one found to suffice for public benchmark data: more terms did not help on unseen deployments. With
// all efficiencies 1 and all times 0 it is the sum over parts of max(bytes/BW, FLOPs/F), never below the max over the
// whole step.
//
// A step that verifies drafts is priced by itself, see speculation_price.go, choosing tokens otherwise than greedily in
// decoding.go, and what LoRA adapters take in adapters.go.
//
// Coefficients of what grows from step to step are integer picoseconds, rounded up once, so that the price of step i of
// a run is exactly affine in i; see sim.Segment.
type Roofline struct {
	d                 Deployment
	products          []product // all of them, in order; and by what their rows are:
	dense             []product // every token
	head              product   // tokens of the step that yield another
	experts           product   // every token of all ranks, reading only the experts it is routed to
	attend            []attention
	comm              comm
	sharedPart        float64 // of the feed-forward networks that every token passes: shared experts
	quadratic         bool    // the overlap is p = 2
	windows           int
	routing           *routing             // of tokens to experts
	tiling            tiling               // of the rows of experts
	lockStep          lockStep             // with other ranks
	shares            int                  // data-parallel ranks × microbatches
	padded            []int32              // rows of the graph by rows to run; nil: none is padded
	launches          [launchKinds]float64 // picoseconds that the host takes to launch a step, by how that is done
	statePS           float64              // per sequence, at the efficiency
	promptPS          float64              // more of a step with prompts
	fixedPS, layersPS float64              // per step, and of it the layers

	readPS     float64 // weights that every step reads, at the efficiency
	rowPeakPS  float64 // arithmetic at peak per row, the head's and the experts' apart
	perSeq     sim.Duration
	hostStep   sim.Duration // in which the host prepares a step
	hostSeq    sim.Duration // and more per sequence
	swap       sim.Duration // of a block to or from host memory
	swapLayers sim.Duration // see Swap.Layers; 1: copies precede the step
	residualPS float64      // per row, of what residual streams move beyond one vector
	samplePS   float64      // of choosing a token, per row of the LM head
	draft      *drafting    // nil: no speculation
	adapting   adapting     // what LoRA adapters take

	peakWeights, peakKV float64 // time at peak bandwidth, as a share of that at the efficiency

	pure, mixed []growths // steps of decodes alone, and with prompts; by how many shares have a decode
	decode      []base    // decode-only steps, by number of sequences
}

// growths are what a context token adds in layers that see all of it, and in those with either window.
type growths [3]growth

// growth is what one more context token of one sequence adds to a step.
type growth struct {
	price, memory           sim.Duration // rounded up, down
	boundMemory, boundFLOPs sim.Duration // rounded down
}

var _ sim.StepModel = (*Roofline)(nil)

// NewRoofline derives the coefficients of d, which must be valid; batches up to decodesMax are tabulated, and others
// are priced when they occur. A Roofline does not change, so several runs can use it at the same time.
func NewRoofline(d Deployment, decodesMax int) *Roofline {
	return newRoofline(d, decodesMax, newRouting(&d))
}

// With returns what prices the deployment of r under another efficiency. How tokens choose experts, which takes longest
// to tabulate, does not depend on it.
func (r *Roofline) With(e Efficiency) *Roofline {
	d, routing := r.d, r.routing
	if e.ExpertImbalance != d.Efficiency.ExpertImbalance || e.ExpertSkew != d.Efficiency.ExpertSkew {
		routing = nil
	}
	d.Efficiency = e
	if routing == nil {
		routing = newRouting(&d)
	}
	return newRoofline(d, 0, routing)
}

func newRoofline(d Deployment, decodesMax int, routing *routing) *Roofline {
	e, stretch := d.Efficiency, d.stretch()
	r := &Roofline{
		d: d, products: d.products(), attend: d.attentions(), comm: newComm(&d), windows: len(d.Windows()),
		quadratic: e.Overlap == 2, shares: d.Parallel.Ranks() * d.Parallel.microbatches(), padded: d.Launch.table(),
		perSeq: sim.SecondsUp(e.SequenceS), hostSeq: sim.SecondsUp(e.SequenceHostS),
		hostStep: sim.SecondsUp(e.StepS), swap: d.swapTime(),
		swapLayers:  sim.Duration(max(1, d.Swap.Layers)),
		peakWeights: e.Bandwidth / stretch, peakKV: e.KVBandwidth / stretch,
	}
	r.statePS = 2 * d.Model.RecurrentBytes() / float64(d.Parallel.Tensor) /
		(e.KVBandwidth * d.GPU.BandwidthBps.Value) * psPerS * stretch
	layers, moe, mixers := float64(d.Model.LayerCount()), float64(d.Model.MoELayers()), float64(d.Model.MixerLayers())
	r.layersPS = float64(psPerS * stretch * (float64(layers*e.LayerS) + float64(moe*e.MoELayerS) +
		float64(mixers*e.MixerLayerS) + float64(d.quantizedLayers()*e.QuantizedLayerS)))
	r.promptPS = psPerS * stretch * float64(layers*e.PromptLayerS)
	r.fixedPS = r.layersPS + float64(psPerS*(d.Decoding.StructuredS+d.Decoding.Sampling.stepS(d.Model.Vocab)))
	r.samplePS, r.draft, r.adapting = d.samplePS(), newDrafting(&d), newAdapting(&d)
	r.residualPS = d.Model.ResidualRowBytes() / (e.Bandwidth * d.GPU.BandwidthBps.Value) * psPerS * stretch
	r.sharedPart, r.routing, r.tiling = d.sharedShare(), routing, d.tiling()
	if d.Parallel.Ranks() > 1 {
		r.fixedPS += float64(psPerS * d.ranksWaitS())
	}
	if !d.Launch.Async {
		r.fixedPS += float64(psPerS * e.StepS)
		r.perSeq += r.hostSeq
	}
	r.launches = r.launchTimes()
	for _, p := range r.products {
		switch {
		case p.lastToken:
			r.head = p
		case p.experts:
			r.experts = p
		default:
			r.dense = append(r.dense, p)
			r.readPS += p.memoryPS
			r.rowPeakPS += p.peakPS
		}
	}
	r.readPS += r.head.memoryPS
	r.pure = r.growths(1)
	r.mixed = r.pure
	if e.MixedKV > 1 {
		r.mixed = r.growths(e.MixedKV)
	}
	r.decode = make([]base, decodesMax+1)
	for n := 1; n <= decodesMax; n++ {
		r.decode[n].fill(r, &sim.Shape{Decodes: n, DecodeTokens: int64(n), Outputs: n})
	}
	return r
}

// psPerS converts seconds to the clock's picoseconds.
const psPerS = 1e12

// growths returns what a context token adds to the busiest GPU, by how many shares the context is divided over: none,
// one and so on. Reading takes slower times what it would alone.
func (r *Roofline) growths(slower float64) []growths {
	var exact [3]struct{ price, memory, boundMemory, boundFLOPs float64 }
	for i := range r.attend {
		a := &r.attend[i]
		x := &exact[a.window+1]
		slow := float64((a.decodePS + a.scorePS) * slower)
		x.price += r.decoding(a, slow, a.flopsPS)
		x.memory += slow
		x.boundMemory += float64((a.ctxPS + a.scorePS) * r.peakKV)
		x.boundFLOPs += a.flopsPeakPS
	}
	out := make([]growths, r.shares+1)
	for n := 1; n <= r.shares; n++ {
		for i, x := range exact {
			out[n][i] = growth{
				sim.Duration(math.Ceil(x.price / float64(n))), sim.Duration(x.memory / float64(n)),
				sim.Duration(x.boundMemory / float64(n)), sim.Duration(x.boundFLOPs / float64(n)),
			}
		}
	}
	return out
}

// Price implements sim.StepModel. A single batch is shared evenly by the data-parallel ranks.
func (r *Roofline) Price(ranks []sim.Shape, g *sim.Segment) {
	if len(ranks) > 1 {
		r.priceRanks(ranks, g)
		return
	}
	r.priceOne(&ranks[0], g)
}

// priceOne prices one batch.
func (r *Roofline) priceOne(b *sim.Shape, g *sim.Segment) {
	if r.speculates(b) {
		r.speculate(b, g)
		return
	}
	share := min(b.Decodes, r.shares)
	tabulated := b.Prefills == 0 && b.Decodes < len(r.decode) && b.DecodeTokens == int64(b.Decodes) &&
		r.lockStep.tokens == 0
	if tabulated && b.Adapters == 0 {
		r.grow(b, &r.decode[b.Decodes], &r.pure[share], g)
		return
	}
	var at base
	if tabulated {
		at = r.decode[b.Decodes]
	} else {
		at.fill(r, b)
	}
	if b.Adapters > 0 {
		r.adapt(&at, b)
	}
	if b.Prefills > 0 {
		r.grow(b, &at, &r.mixed[share], g)
	} else {
		r.grow(b, &at, &r.pure[share], g)
	}
}

// grow prices b, of which at does not grow. What grows is the price and its memory part, and both sides of the bound,
// by the context and per step.
func (r *Roofline) grow(b *sim.Shape, at *base, by *growths, g *sim.Segment) {
	k, n, c := sim.Duration(b.DecodeCtx), sim.Duration(b.Decodes), &by[0]
	priceA, priceB := c.price*k, c.price*n
	kvA, kvB := c.memory*k, c.memory*n
	memory := sim.Affine{A: at.boundMemory + c.boundMemory*k, B: c.boundMemory * n}
	flops := sim.Affine{A: at.boundFLOPs + c.boundFLOPs*k, B: c.boundFLOPs * n}
	for i := range r.windows {
		k, n, c = sim.Duration(b.Capped[i].Ctx), sim.Duration(b.Capped[i].Growing), &by[i+1]
		priceA, priceB = priceA+c.price*k, priceB+c.price*n
		kvA, kvB = kvA+c.memory*k, kvB+c.memory*n
		memory.A, memory.B = memory.A+c.boundMemory*k, memory.B+c.boundMemory*n
		flops.A, flops.B = flops.A+c.boundFLOPs*k, flops.B+c.boundFLOPs*n
	}
	g.First, g.Growth, g.Steps = at.price+priceA, priceB, math.MaxInt32
	g.Part[sim.Weights] = sim.Affine{A: at.weights}
	g.Part[sim.KV] = sim.Affine{A: at.kv + kvA, B: kvB}
	// Attention that multiplies longer than it reads counts as compute, by what its price exceeds the reading.
	g.Part[sim.Compute] = sim.Affine{A: at.compute + priceA - kvA, B: priceB - kvB}
	g.Part[sim.Communication] = sim.Affine{A: at.comm}
	g.Part[sim.Overhead] = sim.Affine{A: at.overhead}
	bound(memory, flops, g)
	r.delay(&at.host, g)
	if b.SwapBlocks > 0 {
		r.copy(b.SwapBlocks, g)
	}
	if b.AdapterCopies > 0 {
		precede(b.AdapterCopies, g)
	}
}

// bound sets g's bound to the greater of two affine times, and ends the segment where the other overtakes it.
func bound(memory, flops sim.Affine, g *sim.Segment) {
	high, low := memory, flops
	g.ComputeBound = flops.A > memory.A
	if g.ComputeBound {
		high, low = flops, memory
	}
	g.Bound = high
	if low.B > high.B {
		g.Steps = int(min((high.A-low.A)/(low.B-high.B)+1, math.MaxInt32))
	}
}

// wait lengthens the steps of g to what the host takes, which is more at first, and ends the segment where they outgrow
// it. The excess is overhead: it shrinks as the rest grows.
func wait(floor sim.Duration, g *sim.Segment) {
	if g.Growth > 0 {
		g.Steps = int(min(sim.Duration(g.Steps), (floor-g.First)/g.Growth+1))
	}
	g.Part[sim.Overhead].A += floor - g.First
	g.Part[sim.Overhead].B -= g.Growth
	g.First, g.Growth = floor, 0
}
