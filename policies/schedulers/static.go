package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Scheduler = (*Static)(nil)

// Static forms a batch when the last one has ended as a whole: request-level batching, as in FasterTransformer (see
// Orca, OSDI '22, §2). Prompts are padded to the longest one, and every row reserves blocks for the longest prompt and
// the largest output limit of its batch. A finished row is padding: it stays, computes and keeps its blocks until all
// rows have finished. Clients get each token when it is computed.
type Static struct {
	MaxBatchSize        int
	MaxNumBatchedTokens int32 // prompt tokens of a batch, padding included
}

// Validate reports arguments with which nothing could run.
func (p *Static) Validate() error {
	if p.MaxBatchSize < 1 || int(p.MaxNumBatchedTokens) < p.MaxBatchSize {
		return fmt.Errorf("policies: max_batch_size is %d and max_num_batched_tokens %d, "+
			"must be at least 1 and at least max_batch_size", p.MaxBatchSize, p.MaxNumBatchedTokens)
	}
	return nil
}

// Schedule implements sim.Scheduler.
func (p *Static) Schedule(in *sim.Instance, w *sim.Work) int {
	if in.Running() > 0 {
		w.BatchFull()
		return 0
	}
	promptMax, outputMax := int32(0), int32(0)
	for n := range p.MaxBatchSize {
		r := in.Head()
		if r == nil {
			break
		}
		prompt, output := max(promptMax, r.Pending()), max(outputMax, r.Limit()-r.Emitted)
		if n > 0 && !p.fits(in, int64(n+1), prompt, output) {
			break
		}
		promptMax, outputMax = prompt, output
		w.CachedTokens(r)
		w.Admit(r, 0)
		w.Chunk(r, r.Pending())
	}
	if in.Running() > 0 {
		w.Pad(promptMax, promptMax+outputMax)
	}
	return 0
}

// fits reports whether a batch of so many rows, with prompts and outputs of this length, fits.
func (p *Static) fits(in *sim.Instance, rows int64, prompt, output int32) bool {
	tokens, blocks := rows*int64(prompt), rows*in.Cache().Blocks(prompt+output)
	return tokens <= int64(p.MaxNumBatchedTokens) && blocks <= in.Cache().Total()
}
