package hardware

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Transfer is the way of a sequence from one replica to another, which go on with what the first has computed.
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
// A sequence is on one data-parallel rank at each end, so the links of the others do not carry it.
type Transfer struct {
	From, To       *Deployment
	FromBps, ToBps float64 // of the link of one GPU, in the direction of the transfer, as far as it is achieved
	LatencyS       float64 // until the first byte
}

// TransferBytes is what a transfer moves over the link of one GPU.
type TransferBytes struct {
	Token float64 // by token
	Fixed float64 // by sequence: recurrent state, short windows
}

// KV returns what the KV cache of a sequence is to the busiest GPU at each end, the cache of a drafter at the
// destination included, for its layers are handed over like all others.
func (h *Transfer) KV() (sent, received TransferBytes) {
	token, fixed := h.To.cacheBytes()
	drafterToken, drafterFixed := h.To.drafterOwnCacheBytes()
	received = TransferBytes{token + drafterToken, fixed + drafterFixed}
	return h.sent(received), received
}

// sent returns what the busiest GPU of the source sends of what every rank of a stage of the destination receives:
//
//	s = d / stage share of the destination · ranks of the destination / ranks of the source · stage share of the source
func (h *Transfer) sent(received TransferBytes) TransferBytes {
	share := float64(h.To.Parallel.Tensor) / float64(h.From.Parallel.Tensor) * h.From.stageShare() / h.To.stageShare()
	return TransferBytes{received.Token * share, received.Fixed * share}
}

// Embeddings returns what the input that an encoder has computed is to the busiest GPU at each end: a row of the
// destination's hidden size in bf16 for each token, received by every rank that shares its first layer.
func (h *Transfer) Embeddings() (sent, received TransferBytes) {
	received.Token = float64(2 * h.To.Model.Hidden)
	return TransferBytes{Token: received.Token * float64(h.To.Parallel.Tensor) / float64(h.From.Parallel.Tensor)}, received
}

// KVLink returns what handing a KV cache over takes.
func (h *Transfer) KVLink() sim.Link {
	l := h.link(h.KV())
	l.Layers = int32(h.From.Model.LayerCount())
	return l
}

// EmbeddingsLink returns what handing embeddings over takes.
func (h *Transfer) EmbeddingsLink() sim.Link { return h.link(h.Embeddings()) }

func (h *Transfer) link(sent, received TransferBytes) sim.Link {
	return sim.Link{
		Latency: sim.SecondsUp(h.LatencyS),
		Fixed:   sim.SecondsUp(max(sent.Fixed/h.FromBps, received.Fixed/h.ToBps)),
		Token:   sim.SecondsUp(max(sent.Token/h.FromBps, received.Token/h.ToBps)),
	}
}

// Validate reports a link over which nothing would arrive.
func (h *Transfer) Validate() error {
	switch {
	case !(h.FromBps > 0) || !(h.ToBps > 0) || !(h.LatencyS >= 0):
		return fmt.Errorf("hardware: a link of %g and %g bytes/s and a latency of %g s; expected rates above 0 and a latency of at least 0",
			h.FromBps, h.ToBps, h.LatencyS)
	case h.KVLink().Token > sim.Second:
		return fmt.Errorf("hardware: a token takes %v from %s to %s; expected a second at most", h.KVLink().Token,
			h.From.GPU.Name, h.To.GPU.Name)
	}
	return nil
}
