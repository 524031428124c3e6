package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Static forms a batch when the one before has wholly ended: request-level batching, as in FasterTransformer (see
// Orca, OSDI '22, §2). Prompts are padded to the longest, every row reserves the longest prompt and the most output of
// its batch, and a row that has ended stays, computes and holds its blocks until all have. Tokens reach clients as
// they are computed.
type Static struct {
	MaxBatchSize        int
	MaxNumBatchedTokens int32 // prompt tokens of a batch, padded
}

var _ sim.Scheduler = (*Static)(nil)

// Validate reports arguments with which nothing could run.
func (p *Static) Validate() error {
	if p.MaxBatchSize < 1 || int(p.MaxNumBatchedTokens) < p.MaxBatchSize {
		return fmt.Errorf("policies: max_batch_size is %d and max_num_batched_tokens %d, must be at least 1 and at least max_batch_size",
			p.MaxBatchSize, p.MaxNumBatchedTokens)
	}
	return nil
}

// Schedule implements sim.Scheduler.
func (p *Static) Schedule(in *sim.Instance, w *sim.Work) int {
	if in.Running() > 0 {
		w.BatchFull()
		return 0
	}
	longest, most := int32(0), int32(0)
	for n := 0; n < p.MaxBatchSize; n++ {
		r := in.Head()
		if r == nil {
			break
		}
		prompt, limit := max(longest, r.Pending()), max(most, r.Limit()-r.Emitted)
		rows := int64(n + 1)
		if n > 0 && (rows*int64(prompt) > int64(p.MaxNumBatchedTokens) || rows*in.Cache().Blocks(prompt+limit) > in.Cache().Total()) {
			break
		}
		longest, most = prompt, limit
		w.CachedTokens(r)
		w.Admit(r, 0)
		w.Chunk(r, r.Pending())
	}
	if in.Running() > 0 {
		w.Pad(longest, longest+most)
	}
	return 0
}
