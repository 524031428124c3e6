package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// planStatic decodes every row of a batch until all have ended, and then takes the next batch.
func (n *naive) planStatic(in *naiveInstance, p *schedulers.Static) {
	for _, r := range in.running {
		r.want = 1
		if r.removed {
			n.cover["rows that have ended"]++
		}
	}
	if len(in.running) > 0 {
		return
	}
	batch := []*naiveRequest{}
	for len(batch) < p.MaxBatchSize {
		r := n.head(in)
		if r == nil || len(batch) > 0 && !n.staticFits(append(slices.Clone(batch), r), p) {
			break
		}
		n.dequeue(in, r)
		batch = append(batch, r)
	}
	prompt, limit := longest(batch)
	for _, r := range batch {
		r.want, r.pad = r.Pending(), prompt-r.Pending()
		n.enter(r, 0)
		n.allocate(in, r, n.needs(prompt+limit))
		n.cover["padding"] += int(r.pad)
	}
	in.running = batch
}

// staticFits reports whether a batch keeps to the limits when every row is as long as the longest.
func (n *naive) staticFits(batch []*naiveRequest, p *schedulers.Static) bool {
	prompt, limit := longest(batch)
	rows := int64(len(batch))
	return rows*int64(prompt) <= int64(p.MaxNumBatchedTokens) && rows*n.needs(prompt+limit) <= n.blocks
}

// longest returns the longest prompt of a batch and the most tokens that one of it may emit.
func longest(batch []*naiveRequest) (prompt, limit int32) {
	for _, r := range batch {
		prompt, limit = max(prompt, r.Pending()), max(limit, r.Limit()-r.Emitted)
	}
	return prompt, limit
}

// ended reports whether every row of a batch has.
func ended(batch []*naiveRequest) bool {
	return !slices.ContainsFunc(batch, func(r *naiveRequest) bool { return !r.removed })
}
