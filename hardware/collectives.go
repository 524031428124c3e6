package hardware

import "math"

// comm is the time GPUs of a replica spend passing activations on, by what it grows with. Each collective runs by the
// quickest of its algorithms.
//
// A step takes n_r all-reduces, one after each mixer and each feed-forward network of a tensor-parallel group. Between
// data-parallel ranks an MoE layer dispatches tokens to the experts and combines what they yield, in place of its
// all-reduce: n_x pairs, see alltoall.go. A hop passes the rows of a microbatch on to the next pipeline stage.
//
// The logits of every output, of which a GPU of the group has its part of the vocabulary, are gathered once by all
// (vLLM, model_executor/layers/logits_processor.py; SGLang, srt/layers/logits_processor.py). Where ranks that share
// whole experts are tensor-parallel groups, each GPU of a group under vLLM dispatches its part of the rows, and what
// comes back for them is gathered in the group: n_g times, see regathers.
//
//	T = n_r · min over algorithms (s_c·T_table(bytes, g) + a_l)  +  n_x · (dispatch + combine)  +  (stages − 1) · hop
//	    + all-gather(outputs · 2 B · V · (t − 1)/t)  +  n_g · all-gather(rows · 2 B · H · (t − 1)/t)
//
// T_table is what the collective takes alone, as tables of it say (see collectives_table.go), and a_l, which is fitted,
// what it takes more within a model: waiting for the slowest GPU, and the kernels that it is fused with.
//
// With s_c = 0 nothing is known of collectives inside a host but their links, unless a way to run them is asked for by
// name, of which the table then says all, as it does of what reaches beyond a host:
//
//	T = n_c · (a_l · (1 + 0.15 log2 g) + bytes / (e_n · link))
//
// where an all-reduce moves 2(g−1)/g of its message as a ring does, and dispatch and combine what exchanged says.
type comm struct {
	reduce []linearPS // all-reduces of a step
	decode []exchange // dispatches and combines of a step of decodes alone
	mixed  []exchange // and of one with prompts
	hop    linearPS   // between pipeline stages
	logits []linearPS // all-gathers of the logits, whose rows are the outputs
	yields []linearPS // and of what experts yield
	none   bool       // a GPU is alone
}

// linearPS is a time that grows with the rows of a rank and the tokens of all ranks, and is never below the least of
// its kernel. The same bytes at the peak of the link take peakRow a row and peakToken a token.
type linearPS struct {
	fixed, row, token  float64
	least              float64
	peakRow, peakToken float64
	name               string // of the algorithm
}

func (c *linearPS) ps(l *load) float64 {
	return max(c.least, c.fixed+float64(l.rows*c.row)+float64(l.tokens*c.token))
}

// peak is what the bytes take at the peak of the link.
func (c *linearPS) peak(l *load) float64 {
	return float64(l.rows*c.peakRow) + float64(l.tokens*c.peakToken)
}

// times returns n of c.
func (c linearPS) times(n float64) linearPS {
	return linearPS{float64(n * c.fixed), float64(n * c.row), float64(n * c.token), float64(n * c.least),
		float64(n * c.peakRow), float64(n * c.peakToken), c.name}
}

// plus returns c and then other, which has no least time.
func (c linearPS) plus(other linearPS) linearPS {
	if c.least > 0 {
		c.least += other.fixed
	}
	c.fixed, c.row, c.token = c.fixed+other.fixed, c.row+other.row, c.token+other.token
	c.peakRow, c.peakToken = c.peakRow+other.peakRow, c.peakToken+other.peakToken
	return c
}

// exchange is a dispatch and a combine by one way, whose kernels take a share of the GPU's cores.
type exchange struct {
	dispatch, combine linearPS
	cores             float64
}

func (x *exchange) ps(l *load) float64 { return x.dispatch.ps(l) + x.combine.ps(l) }

// newComm prices the collectives of d.
func newComm(d *Deployment) comm {
	if d.Parallel.GPUs() == 1 {
		return comm{none: true}
	}
	var c comm
	reduces, exchanges := d.collectives()
	if d.Parallel.Tensor > 1 {
		c.reduce = scaled(d.allReduce(), float64(reduces)*d.stretch())
	}
	if exchanges > 0 {
		n := float64(exchanges) / 2 * d.stretch()
		c.decode, c.mixed = d.exchange()
		for _, all := range [][]exchange{c.decode, c.mixed} {
			for i := range all {
				all[i].dispatch, all[i].combine = all[i].dispatch.times(n), all[i].combine.times(n)
			}
		}
	}
	if hops := float64(d.Parallel.Pipeline - 1); hops > 0 {
		c.hop = d.hop().times(hops)
	}
	c.logits = d.gatherRows(2 * float64(d.Model.Vocab))
	if n := d.regathers(); n > 0 {
		c.yields = scaled(d.gatherRows(d.rowBytes()), float64(n)*d.stretch())
	}
	return c
}

func scaled(all []linearPS, n float64) []linearPS {
	for i := range all {
		all[i] = all[i].times(n)
	}
	return all
}

// ps returns the time of a load, and that of its dispatches and combines apart.
func (c *comm) ps(l *load) (rest, exchange float64) {
	if c.none {
		return 0, 0
	}
	rest = c.hop.ps(l)
	if a := quickest(c.reduce, l); a != nil {
		rest += a.ps(l)
	}
	if out, a := c.outputs(l); a != nil {
		rest += a.ps(&out)
	}
	if a := quickest(c.yields, l); a != nil {
		rest += a.ps(l)
	}
	if x := c.exchange(l); x != nil {
		exchange = x.ps(l)
	}
	return rest, exchange
}

// outputs is the quickest all-gather of logits, and the load that it is of; nil: there is none.
func (c *comm) outputs(l *load) (load, *linearPS) {
	if l.outputs == 0 {
		return load{}, nil
	}
	out := load{rows: l.outputs}
	return out, quickest(c.logits, &out)
}

// quickest is that of the algorithms; nil: there is no such collective.
func quickest(all []linearPS, l *load) *linearPS {
	if len(all) == 0 {
		return nil
	}
	best, least := 0, all[0].ps(l)
	for i := 1; i < len(all); i++ {
		if t := all[i].ps(l); t < least {
			best, least = i, t
		}
	}
	return &all[best]
}

// exchange is the quickest of the ways to dispatch and to combine; nil: there is none.
func (c *comm) exchange(l *load) *exchange {
	all := c.decode
	if l.prompts {
		all = c.mixed
	}
	if len(all) == 0 {
		return nil
	}
	best, least := 0, all[0].ps(l)
	for i := 1; i < len(all); i++ {
		if t := all[i].ps(l); t < least {
			best, least = i, t
		}
	}
	return &all[best]
}

// rowBytes is what a token's activations take.
func (d *Deployment) rowBytes() float64 { return float64(d.Model.Hidden) * 2 }

// latencyPS is that of a collective over g GPUs of which no table is known.
func (e *Efficiency) latencyPS(g float64) float64 {
	return psPerS * e.CollectiveS * (1 + float64(0.15*math.Log2(g)))
}

// fitted names what no table says of a collective, but a share of its link.
const fitted = "fitted"

// expertRowBytes is what a token sends to an expert, in 16 bits.
func (d *Deployment) expertRowBytes() float64 { return float64(d.Model.ExpertHidden()) * 2 }

// allReduce returns the algorithms of one all-reduce over the tensor-parallel group. NCCL's alone, where others are
// fitted, have the latency that was measured of them and never more of the link than what is fitted: large messages are
// NCCL's in engines too, so that leaving their own all-reduces out makes nothing quicker.
func (d *Deployment) allReduce() []linearPS {
	e, gpus := &d.Efficiency, d.Parallel.Tensor
	g := float64(gpus)
	ring := d.rowBytes() * 2 * (g - 1) / g
	fit := linearPS{fixed: e.latencyPS(g), row: float64(psPerS * ring / (e.Link * d.link(gpus))),
		peakRow: psPerS * ring / d.link(gpus), name: fitted}
	if !d.tabled(gpus) && !d.Parallel.NCCL {
		return []linearPS{fit}
	}
	s := d.span(gpus)
	far := s.crossing()
	ring = d.rowBytes() * 2 * (s.local - 1) / s.local
	network := linearPS{}
	if s.domains > 1 {
		moved := d.rowBytes() * 2 * (s.domains - 1) / s.domains / s.local
		network = linearPS{fixed: float64(psPerS * far.latency(s.domains)), row: psPerS * moved / (far.share * s.network),
			peakRow: psPerS * moved / s.network}
	}
	var out []linearPS
	for _, a := range s.table.reduces(d.Parallel.NCCL) {
		moved := d.rowBytes() * a.moved(s.local)
		t := network
		t.name = a.name
		if s.local > 1 {
			t = t.plus(linearPS{fixed: float64(psPerS * a.latency(s.local)),
				row:     psPerS * moved / (a.achieved(s.local) * s.link),
				peakRow: psPerS * min(ring, moved) / s.link})
		}
		t = e.measured(t)
		if !d.tabled(gpus) {
			t.fixed, t.row = max(t.fixed, fit.fixed), max(t.row, fit.row)
		}
		out = append(out, t)
	}
	return out
}

// gatherRows returns the algorithms of an all-gather of so many bytes a row over the tensor-parallel group.
func (d *Deployment) gatherRows(bytes float64) []linearPS {
	e, gpus := &d.Efficiency, d.Parallel.Tensor
	if gpus < 2 {
		return nil
	}
	if !d.tabled(gpus) {
		peak := psPerS * bytes * float64(gpus-1) / float64(gpus) / d.link(gpus)
		return []linearPS{{fixed: e.latencyPS(float64(gpus)), row: peak / e.Link, peakRow: peak, name: fitted}}
	}
	return d.gathers(gpus, linearPS{peakRow: bytes})
}

// gathers returns the algorithms of an all-gather over g GPUs, of so many bytes a row and a token.
func (d *Deployment) gathers(g int, bytes linearPS) []linearPS {
	s := d.span(g)
	far := s.crossing()
	var out []linearPS
	for _, a := range s.table.gather {
		t := linearPS{name: string(AllGather)}
		if s.local > 1 {
			t.fixed = float64(psPerS * a.latency(s.local))
			peak := psPerS * (s.local - 1) / s.local / s.link
			t.peakRow, t.peakToken = bytes.peakRow*peak, bytes.peakToken*peak
			t.row, t.token = t.peakRow/a.achieved(s.local), t.peakToken/a.achieved(s.local)
		}
		if s.domains > 1 {
			peak := psPerS * (s.domains - 1) / s.domains / s.local / s.network
			t = t.plus(linearPS{fixed: float64(psPerS * far.latency(s.domains) / 2),
				row: bytes.peakRow * peak / far.share, token: bytes.peakToken * peak / far.share,
				peakRow: bytes.peakRow * peak, peakToken: bytes.peakToken * peak})
		}
		out = append(out, d.Efficiency.measured(t))
	}
	return out
}

// tabled reports whether the tables say what collectives over g GPUs take: where efficiencies state their scale, and
// over more GPUs than a host has, for what is fitted of links is fitted inside hosts. Efficiencies that achieve all of
// their links are ideal, and know no table.
func (d *Deployment) tabled(g int) bool {
	return d.Efficiency.CollectiveScale > 0 || d.beyondHost(g)
}

// beyondHost reports whether g GPUs are more than a host has, and efficiencies not ideal.
func (d *Deployment) beyondHost(g int) bool {
	return !d.Efficiency.ideal() && g > min(nodeGPUs, d.domain())
}

// BeyondHost returns how many GPUs exchange activations over more than a host, which tables price and no fit; 0: none.
func (d *Deployment) BeyondHost() int {
	if n := max(d.Parallel.Tensor, d.Parallel.expertGPUs()); d.Efficiency.CollectiveScale == 0 && d.beyondHost(n) {
		return n
	}
	return 0
}

// measured is a collective that takes t alone, within a model. Efficiencies without a scale have in a_l the latency
// that a table has too, so there t is all.
func (e *Efficiency) measured(t linearPS) linearPS {
	if e.CollectiveScale == 0 {
		return t
	}
	return t.times(e.CollectiveScale).plus(linearPS{fixed: float64(psPerS * e.CollectiveS)})
}

// hop is passing the rows of a microbatch on to the next stage, over the link that joins all stages: a stage stays
// within a host that is large enough for it. Of the network it achieves what kernels that send tokens do.
func (d *Deployment) hop() linearPS {
	e, all := &d.Efficiency, d.stagesJoined()
	share := e.Link
	if d.tabled(all) && all > d.domain() {
		share = d.span(all).table.dispatch[0].far.share
	}
	link := d.link(all)
	if d.GPU.Mesh && d.linkField(all) == "scale_up_bps" {
		link = d.link(2) // a GPU has one peer in the next stage
	}
	return linearPS{fixed: float64(psPerS * e.CollectiveS), row: psPerS * d.rowBytes() / (share * link)}
}

// collectives returns how many all-reduces a step takes: one per mixer and one per feed-forward network; and how many
// dispatches and combines: one of each per MoE layer between data-parallel ranks, whose sum over experts they include.
func (d *Deployment) collectives() (reduces, exchanges int) {
	for _, r := range d.Model.Layers {
		if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
			reduces += r.Count
		}
		switch {
		case r.FFN.Experts > 0 && d.Parallel.Ranks() > 1:
			exchanges += 2 * r.Count
		case r.FFN.Width > 0 || r.FFN.Experts > 0:
			reduces += r.Count
		}
	}
	return reduces, exchanges
}

// regathers returns how many times a step gathers in a tensor-parallel group what experts of other ranks yield: once
// for each MoE layer under vLLM, whose ranks give each GPU of their group a part of their rows before the experts, and
// gather the parts after them (0.22.1, vllm/config/parallel.py, use_sequence_parallel_moe, and models such as
// vllm/model_executor/models/qwen3_next.py). Without experts apart it does not; what other engines do was not read.
// In a fit to all data with each deployment left out in turn, logged steps of decodes are 6.5 % off in the median and
// 24 % nine times in ten, and without these all-gathers 7.4 and 26; with all B300 left out 14.3 % in the median, and
// without them 13.6. What clients measured is predicted as well either way.
func (d *Deployment) regathers() int {
	p := &d.Parallel
	if p.Engine != "vllm" || !p.Expert || p.Tensor < 2 || p.Ranks() < 2 || d.Efficiency.ideal() {
		return 0
	}
	return d.Model.MoELayers()
}
