package hardware

import "math"

// comm is the time GPUs of a replica spend passing activations on, by what it grows with. Each collective runs by the
// quickest of its algorithms.
//
// A step takes n_r all-reduces, one after each mixer and each feed-forward network of a tensor-parallel group. Between
// data-parallel ranks an MoE layer dispatches tokens to the experts and combines what they yield, in place of its
// all-reduce: n_x pairs, see alltoall.go. A hop passes the rows of a microbatch on to the next pipeline stage.
//
//	T = n_r · min over algorithms (s_c·T_table(bytes, g) + a_l)  +  n_x · (dispatch + combine)  +  (stages − 1) · hop
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
	decode []linearPS // dispatches and combines of a step of decodes alone
	mixed  []linearPS // and of one with prompts
	hop    linearPS   // between pipeline stages

}

// linearPS is a time that grows with the rows of a rank and the tokens of all ranks.
type linearPS struct{ fixed, row, token float64 }

func (c *linearPS) ps(l *load) float64 {
	return c.fixed + float64(l.rows*c.row) + float64(l.tokens*c.token)
}

// times returns n of c.
func (c linearPS) times(n float64) linearPS { return linearPS{n * c.fixed, n * c.row, n * c.token} }

func (c linearPS) plus(other linearPS) linearPS {
	return linearPS{c.fixed + other.fixed, c.row + other.row, c.token + other.token}
}

// newComm prices the collectives of d.
func newComm(d *Deployment) comm {
	var c comm
	reduces, exchanges := d.collectives()
	if d.Parallel.Tensor > 1 {
		c.reduce = scaled(d.allReduce(), float64(reduces)*d.stretch())
	}
	if exchanges > 0 {
		n := float64(exchanges) / 2 * d.stretch()
		decode, mixed := d.exchange()
		c.decode, c.mixed = scaled(decode, n), scaled(mixed, n)
	}
	if hops := float64(d.Parallel.Pipeline - 1); hops > 0 {
		c.hop = d.hop().times(hops)
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
	all := c.decode
	if l.prompts {
		all = c.mixed
	}
	return least(c.reduce, l) + c.hop.ps(l), least(all, l)
}

// least is the quickest of the algorithms; 0: there is no such collective.
func least(all []linearPS, l *load) float64 {
	if len(all) == 0 {
		return 0
	}
	t := all[0].ps(l)
	for i := 1; i < len(all); i++ {
		t = min(t, all[i].ps(l))
	}
	return t
}

// rowBytes is what a token's activations take.
func (d *Deployment) rowBytes() float64 { return float64(d.Model.Hidden) * 2 }

// latencyPS is that of a collective over g GPUs of which no table is known.
func (e *Efficiency) latencyPS(g float64) float64 {
	return psPerS * e.CollectiveS * (1 + float64(0.15*math.Log2(g)))
}

// expertRowBytes is what a token sends to an expert, in 16 bits.
func (d *Deployment) expertRowBytes() float64 { return float64(d.Model.ExpertHidden()) * 2 }

// allReduce returns the algorithms of one all-reduce over the tensor-parallel group.
func (d *Deployment) allReduce() []linearPS {
	e, gpus := &d.Efficiency, d.Parallel.Tensor
	g := float64(gpus)
	ring := d.rowBytes() * 2 * (g - 1) / g
	if !d.tabled(gpus) && !d.Parallel.NCCL {
		return []linearPS{{fixed: e.latencyPS(g), row: float64(psPerS * ring / (e.Link * d.link(gpus)))}}
	}
	s := d.span(gpus)
	far := s.crossing()
	ring = d.rowBytes() * 2 * (s.local - 1) / s.local
	network := linearPS{}
	if s.domains > 1 {
		moved := d.rowBytes() * 2 * (s.domains - 1) / s.domains / s.local
		network = linearPS{fixed: psPerS * far.latency(s.domains), row: psPerS * moved / (far.share * s.network)}
	}
	var out []linearPS
	for _, a := range s.table.reduces(d.Parallel.NCCL) {
		moved := ring
		if a.whole {
			moved = d.rowBytes() * (s.local - 1)
		}
		t := network
		if s.local > 1 {
			t = t.plus(linearPS{fixed: psPerS * a.latency(s.local), row: psPerS * moved / (a.achieved(s.local) * s.link)})
		}
		out = append(out, e.measured(t))
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
	return d.Efficiency.Link < 1 && g > min(nodeGPUs, max(1, d.domain()))
}

// measured is a collective that takes t alone, within a model. Efficiencies without a scale have in a_l the latency
// that a table has too, so there t is all.
func (e *Efficiency) measured(t linearPS) linearPS {
	if e.CollectiveScale == 0 {
		return t
	}
	return t.times(e.CollectiveScale).plus(linearPS{fixed: psPerS * e.CollectiveS})
}

// hop is passing the rows of a microbatch on to the next stage, over the link that joins all stages: a stage stays
// within a host that is large enough for it. Of the network it achieves what kernels that send tokens do.
func (d *Deployment) hop() linearPS {
	e, all := &d.Efficiency, d.stagesJoined()
	share := e.Link
	if d.tabled(all) && all > max(1, d.domain()) {
		share = d.span(all).table.dispatch[0].far.share
	}
	return linearPS{fixed: psPerS * e.CollectiveS, row: psPerS * d.rowBytes() / (share * d.link(all))}
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
