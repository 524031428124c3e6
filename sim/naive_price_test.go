package sim_test

import "github.com/decodesim/decodesim/sim"

// price is how long the step of such ranks lasts.
func (n *naive) price(ranks []sim.Shape) sim.Duration {
	var g sim.Segment
	n.model.Price(ranks, &g)
	return g.First
}

// shape adds up what every member of the batch brings to the step.
func (n *naive) shape(in *naiveInstance) sim.Shape {
	b := sim.Shape{SwapBlocks: in.copied}
	for _, r := range in.running {
		switch {
		case r.want == 0:
		case r.decoding:
			n.decode(&b, int64(r.Computed+r.pad), int64(r.want-1))
		default:
			n.prefill(&b, int64(r.Computed), int64(r.want+r.pad+r.filler), r.want == r.Pending())
			b.Outputs += int(r.filler)
		}
	}
	n.adapt(&b, in)
	return b
}

// decode adds a sequence of c tokens that computes one more and some drafts.
func (n *naive) decode(b *sim.Shape, c, drafts int64) {
	b.Decodes++
	b.DecodeTokens += 1 + drafts
	b.Drafts += drafts
	b.Outputs += int(1 + drafts)
	c += drafts
	b.DecodeCtx += c + 1
	for i, w := range n.windows {
		see, grows := min(c+1, int64(w.Tokens)), c+1 < int64(w.Tokens)
		if w.Chunked {
			see, grows = c%int64(w.Tokens)+1, true
		}
		b.Capped[i].Ctx += see
		if grows {
			b.Capped[i].Growing++
		}
	}
}

// prefill adds a chunk of t tokens after c computed ones.
func (n *naive) prefill(b *sim.Shape, c, t int64, last bool) {
	b.Prefills++
	b.PrefillTokens += t
	b.PrefillPairs += t*c + t*(t+1)/2
	b.PrefillCtx += c + t
	b.PrefillLongest = max(b.PrefillLongest, c+t)
	for i, w := range n.windows {
		n.chunk(&b.Capped[i], w, c, t)
	}
	if last {
		b.Outputs++
	}
}

// chunk looks at every query of a chunk and every key that it attends to in a window.
func (n *naive) chunk(b *sim.Capped, w sim.Window, c, t int64) {
	first := c + 1
	for query := c + 1; query <= c+t; query++ {
		oldest := max(1, query-int64(w.Tokens)+1)
		if w.Chunked {
			oldest = (query-1)/int64(w.Tokens)*int64(w.Tokens) + 1
		}
		b.PrefillPairs += query - oldest + 1
		first = min(first, oldest)
	}
	b.PrefillCtx += c + t - first + 1
}
