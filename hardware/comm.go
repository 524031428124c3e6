package hardware

import "math"

// comm is the time GPUs of a replica spend passing activations on.
type comm struct{ fixedPS, rowPS float64 }

// newComm prices the all-reduce after each mixer and each feed-forward network of a tensor-parallel group of g GPUs, and
// the hand-over between pipeline stages:
//
//	T = n_c · (a_l · (1 + 0.15 log2 g) + rows · H · 2 B · 2(g−1)/g / (e_n · link_g)) + (stages − 1) · (a_l + rows · H · 2 B / (e_n · link_s))
//
// with link_g that of the group and link_s that of all stages: a stage stays within a host where that can hold it.
// The form and its 0.15 are those that fit public collective tables (a ring moves 2(g−1)/g of the message).
func newComm(d *Deployment) comm {
	var c comm
	e := d.Efficiency
	rowBytes := float64(d.Model.Hidden) * 2
	if g := float64(d.Parallel.Tensor); g > 1 {
		n := float64(d.collectives())
		c.fixedPS += float64(psPerS * n * e.CollectiveS * (1 + float64(0.15*math.Log2(g))))
		c.rowPS += float64(psPerS * n * rowBytes * 2 * (g - 1) / g / (e.Link * d.link(d.Parallel.Tensor)))
	}
	if hops := float64(d.Parallel.Pipeline - 1); hops > 0 {
		c.fixedPS += float64(psPerS * hops * e.CollectiveS)
		c.rowPS += float64(psPerS * hops * rowBytes / (e.Link * d.link(d.Parallel.GPUs())))
	}
	return c
}

// link is linkBps of a deployment that Validate accepts.
func (d *Deployment) link(n int) float64 {
	bps, err := d.linkBps(n)
	if err != nil {
		panic(err)
	}
	return bps
}

// collectives returns how many all-reduces a step takes: one per mixer and one per feed-forward network.
func (d *Deployment) collectives() int {
	n := 0
	for _, r := range d.Model.Layers {
		if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
			n += r.Count
		}
		if r.FFN.Width > 0 || r.FFN.Experts > 0 {
			n += r.Count
		}
	}
	return n
}
