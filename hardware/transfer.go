package hardware

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Transfer is how a sequence gets from one replica to another, which goes on with what the first has computed.
//
// Every GPU sends and receives over a link of its own, its own part of the layers and of the KV heads. A
// tensor-parallel rank of the destination receives what it will hold: with more ranks than KV heads several receive the
// same head, and of a latent, which is not divided, every rank receives all of it (vLLM, nixl_connector.py, where each
// rank reads for itself). The ranks of a pipeline stage at the source share evenly what is asked of their layers. With
// d the bytes that the GPU of the destination which holds most receives, and s those that the busiest one of the source
// sends,
//
//	T = max(s / link of a source GPU, d / link of a destination GPU)
//
// A sequence is on one data-parallel rank at each end, so the links of the others do not carry it. In a mesh a GPU
// sends and receives over its links to the GPUs alone that have its layers and heads at the other end: one, where both
// ends are split alike.
type Transfer struct {
	From, To       *Deployment
	FromBps, ToBps float64 // of the link of one GPU, in the direction of the transfer, as far as it is achieved
	LatencyS       float64 // until the first byte
	ScaleUp        bool    // the links are those of the domain, which may be a mesh
}

// TransferBytes is what a transfer moves over the link of one GPU.
type TransferBytes struct {
	Token    float64 // by token
	Fixed    float64 // by sequence: recurrent state, short windows
	Windowed float64 // by token that the layers of sliding windows still see
	Window   int     // tokens that they see
}

// KV returns what the busiest GPU at each end sends and receives of a sequence's KV cache. The cache of a drafter at
// the destination is part of it, since its layers are transferred like all others. Of layers that slide, no more than
// the window is sent where both ends have groups for them in their caches (vLLM 0.33.0,
// distributed/kv_transfer/kv_connector/v1/nixl/base_scheduler.py, blocks_per_sw, which sends up to one block more).
func (t *Transfer) KV() (sent, received TransferBytes) {
	to := *t.To
	to.HybridKV = t.To.HybridKV && t.From.HybridKV
	token, fixed := to.cacheBytes()
	drafterToken, drafterFixed := t.To.drafterOwnCacheBytes()
	windowed, window := to.windowedCache()
	received = TransferBytes{token + drafterToken, fixed + drafterFixed, windowed, window}
	return t.sent(received), received
}

// sent returns what the busiest GPU of the source sends of what every rank of a stage of the destination receives:
//
//	s = d / stage share of the destination · ranks of the destination / ranks of the source · stage share of the source
func (t *Transfer) sent(received TransferBytes) TransferBytes {
	share := float64(t.To.Parallel.Tensor) / float64(t.From.Parallel.Tensor) * t.From.stageShare() / t.To.stageShare()
	return TransferBytes{received.Token * share, received.Fixed * share, received.Windowed * share, received.Window}
}

// Embeddings returns what the input that an encoder has computed is to the busiest GPU at each end: a row of the
// destination's hidden size in bf16 for each token, received by every rank that shares its first layer.
func (t *Transfer) Embeddings() (sent, received TransferBytes) {
	received.Token = float64(2 * t.To.Model.Hidden)
	return TransferBytes{Token: received.Token * float64(t.To.Parallel.Tensor) / float64(t.From.Parallel.Tensor)}, received
}

// KVLink returns how long the transfer of a KV cache takes.
func (t *Transfer) KVLink() sim.Link {
	sent, received := t.KV()
	from, to := &t.From.Parallel, &t.To.Parallel
	l := t.link(sent, received, partners(from.Tensor, to.Tensor)*partners(from.Pipeline, to.Pipeline),
		partners(to.Tensor, from.Tensor)*partners(to.Pipeline, from.Pipeline))
	l.Layers = int32(t.From.Model.LayerCount())
	return l
}

// partners returns with how many of the other end one of these exchanges, where each has an even share.
func partners(these, others int) int { return max(1, (others+these-1)/these) }

// EmbeddingsLink returns how long the transfer of embeddings takes.
func (t *Transfer) EmbeddingsLink() sim.Link {
	sent, received := t.Embeddings()
	from, to := t.From.Parallel.Tensor, t.To.Parallel.Tensor
	return t.link(sent, received, partners(from, to), partners(to, from))
}

// link returns how long a transfer takes, of which a GPU of the source sends to so many GPUs of the destination, and
// one of the destination receives from so many of the source.
func (t *Transfer) link(sent, received TransferBytes, sendsTo, receivesFrom int) sim.Link {
	from, to := t.FromBps, t.ToBps
	if t.ScaleUp {
		from, to = from*t.From.GPU.linksTo(sendsTo), to*t.To.GPU.linksTo(receivesFrom)
	}
	return sim.Link{
		Latency: sim.SecondsUp(t.LatencyS),
		Fixed:   sim.SecondsUp(max(sent.Fixed/from, received.Fixed/to)),
		Token:   sim.SecondsUp(max(sent.Token/from, received.Token/to)),

		Windowed: sim.SecondsUp(max(sent.Windowed/from, received.Windowed/to)), Window: int32(received.Window),
	}
}

// Validate reports a link over which nothing would arrive.
func (t *Transfer) Validate() error {
	switch {
	case !(t.FromBps > 0) || !(t.ToBps > 0) || !(t.LatencyS >= 0):
		return fmt.Errorf("hardware: a link of %g and %g bytes/s and a latency of %g s; "+
			"expected rates above 0 and a latency of at least 0", t.FromBps, t.ToBps, t.LatencyS)
	case max(t.KVLink().Token, t.KVLink().Windowed) > sim.Second:
		return fmt.Errorf("hardware: a token takes %v from %s to %s; expected a second at most",
			max(t.KVLink().Token, t.KVLink().Windowed), t.From.GPU.Name, t.To.GPU.Name)
	}
	return nil
}
