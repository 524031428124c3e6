package sim

import "errors"

// Speculation lets a decode step verify drafted tokens beside the one it computes anyway, and emit all those that the
// model accepts at once. nil is none, and costs nothing. With it, progress differs from sequence to sequence: a segment
// has one step, and a step visits every sequence.
//
// The blocks of the drafts are allocated before the step, as vLLM's look-ahead slots are. Those of rejected drafts stay
// with the sequence, because the next step needs them again. No draft goes beyond what a client may get, unless they
// are Uncapped. An engine that queues batches takes it that the drafts of the step under way are accepted, and so has
// blocks for those and for the next ones.
type Speculation struct {
	Tokens int32 // drafts of a sequence and step: num_speculative_tokens
	// drafts by batch size instead, in ascending order; larger batches draft none; nil: always Tokens
	Adaptive   []DraftRow
	Acceptance Acceptance
	// drafts go beyond what a client may get, up to the longest sequence, as those of vLLM's drafters do
	Uncapped bool
	// a sequence has blocks for so many more tokens than a step computes of it, of a prompt too: a drafter with a cache of
	// its own writes there
	LookAhead int32
	// the first chunk after an admission has none of these yet
	DelayedLookAhead bool
	// a block that accepted drafts have filled can be found again only from the next step on
	DelayedNames bool
	// a request that is admitted with one token to compute has drafts beside it, all of them wrong, so that all rows of a
	// step of decodes are alike: see Work.Fill
	Fills bool
}

// DraftRow is how much is drafted while up to so many sequences decode.
type DraftRow struct {
	Decodes int
	Tokens  int32
}

// Draft is what one sequence drafts in a step.
type Draft struct {
	Request  int32 // its ID
	Position int32 // tokens emitted before the step
	Drafts   int32
	Accepted int32 // the first ones

	slot int32
}

// DraftsMax bounds the drafts of a sequence and step.
const DraftsMax = 1 << 10

func (s *Speculation) validate() error {
	if s.Tokens < 0 || s.Tokens > DraftsMax || s.LookAhead < 0 || s.LookAhead > DraftsMax {
		return errors.New("drafts out of range")
	}
	for i, row := range s.Adaptive {
		if row.Tokens < 0 || row.Tokens > DraftsMax || row.Decodes < 1 || i > 0 && row.Decodes <= s.Adaptive[i-1].Decodes {
			return errors.New("rows out of order")
		}
	}
	return nil
}

// drafts returns how many tokens each of n sequences drafts.
func (s *Speculation) drafts(n int) int32 {
	if s.Adaptive == nil {
		return s.Tokens
	}
	for _, row := range s.Adaptive {
		if n <= row.Decodes {
			return row.Tokens
		}
	}
	return 0
}

// draftsMax returns the most tokens that a sequence drafts in a step.
func (s *Speculation) draftsMax() int32 {
	if s.Adaptive == nil {
		return s.Tokens
	}
	most := int32(0)
	for _, row := range s.Adaptive {
		most = max(most, row.Tokens)
	}
	return most
}

// drafting is what an instance drafts.
type drafting struct {
	speculation *Speculation // nil: nothing
	tokens      int32        // that a sequence drafts in the step being composed
	sum         int64        // Σ over the decodes
	drafts      []Draft      // of the step under way
}

// planDrafts fixes how much the step to come drafts and returns the blocks that it needs beyond those allocated.
func (in *Instance) planDrafts() (blocks int64) {
	d := &in.drafting
	d.tokens, d.sum = d.speculation.drafts(in.batch.set.Len()), 0
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.decodesOrEnded(r) {
			r.cut = 0
			d.sum += int64(in.draftsOf(r))
			blocks += in.blocksToDraft(r)
		}
	}
	return blocks
}

// draftsOf returns how many tokens r drafts in the step to come.
func (in *Instance) draftsOf(r *Request) int32 {
	most := r.Limit() - r.Emitted - 1
	if in.drafting.speculation.Uncapped {
		most = in.pool.MaxModelLen - 2 - r.Computed - r.rejected
	}
	return max(0, min(in.drafting.tokens, most)-r.cut)
}

// drafted returns the blocks that r has when the step to come drafts.
func (in *Instance) drafted(r *Request) int64 {
	tokens := r.Computed + r.rejected + 1 + in.draftsOf(r) + in.drafting.speculation.LookAhead
	return max(int64(r.blocks), in.cache.Blocks(min(tokens, in.pool.MaxModelLen)))
}

// chunked returns the blocks of r when its chunk, if it has one, has been computed.
func (in *Instance) chunked(r *Request) int64 {
	tokens := r.Computed + r.chunk
	if s := in.drafting.speculation; s != nil && r.chunk > 0 {
		tokens = min(tokens+r.filler+s.ahead(r.entering), in.pool.MaxModelLen)
	}
	return in.cache.Blocks(tokens)
}

// ahead returns the tokens beyond a chunk that a request has blocks for.
func (s *Speculation) ahead(first bool) int32 {
	if first && s.DelayedLookAhead {
		return 0
	}
	return s.LookAhead
}

// Slots returns for how many tokens beyond the cached ones there must be blocks to admit the request that CachedTokens
// was asked of last, and to compute the next n of its tokens.
func (w *Work) Slots(n int32) int32 {
	s := w.in.drafting.speculation
	if s == nil {
		return n
	}
	return max(n, min(n+s.ahead(true), w.in.pool.MaxModelLen-w.matched()))
}

// Filler returns how many drafts Fill takes; 0: no request is filled.
func (w *Work) Filler() int32 {
	if s := w.in.drafting.speculation; s != nil && s.Fills {
		return s.Tokens
	}
	return 0
}

// Fill has r, which has got its last chunk, compute drafts beside it, of which the model accepts none.
func (w *Work) Fill(r *Request, drafts int32) {
	w.count(r, -1)
	r.filler = drafts
	w.count(r, 1)
}

// blocksToDraft returns the blocks that r needs for the step to come, beyond those it has.
func (in *Instance) blocksToDraft(r *Request) int64 { return in.drafted(r) - int64(r.blocks) }

// DraftTokens returns how many tokens the decodes draft in the step being composed.
func (in *Instance) DraftTokens() int64 { return in.drafting.sum }

// draft fills in the decode half of the shape of a step that verifies drafts, whose blocks have been allocated, and
// draws what is accepted.
func (in *Instance) draft(b *Shape) {
	drafts := in.drafting.drafts[:0]
	b.ClearDecodes()
	for slot := in.batch.last; slot != noSlot; slot = in.requests.at[slot].prev {
		r := &in.requests.at[slot]
		if !in.decodesOrEnded(r) {
			continue
		}
		k := in.draftsOf(r)
		x := r.Computed + 1 + k
		r.blocks = int32(in.drafted(r))
		if in.cache.Passes() {
			in.passTo(r, in.passes(r))
		}
		b.AddDrafting(in.pool.Windows, k, x)
		if r.state == finishedRow {
			continue
		}
		drafts = append(drafts, Draft{Request: r.ID, Position: r.Emitted, Drafts: k, slot: slot})
	}
	in.drafting.drafts = drafts
	if b.Drafts > 0 {
		in.drafting.speculation.Acceptance.Verify(drafts)
	}
	for i := range drafts {
		d := &drafts[i]
		if d.Accepted < 0 || d.Accepted > d.Drafts {
			panic("sim: accepted more drafts than there were")
		}
		r := &in.requests.at[d.slot]
		d.Accepted = min(d.Accepted, r.Output-r.Emitted-1)
	}
}

// commitDrafts moves the sequences on by what the step that ends has verified, and reports the tokens beyond the first.
func (in *Instance) commitDrafts(now Time) {
	more, all, step := 0, int64(0), in.batch.set.Step()+1
	drafts, drafted := int64(0), int64(0)
	clear(in.report.byClass)
	ended := in.scratch[:0]
	for i := range in.drafting.drafts {
		d := &in.drafting.drafts[i]
		r := &in.requests.at[d.slot]
		n := 1 + d.Accepted
		r.burst = d.Accepted
		if in.pool.BatchQueue > 1 {
			r.rejected = d.Drafts - d.Accepted
		}
		r.Computed += n
		r.Emitted += n
		if in.cache.Passes() {
			in.passDrafted(r, n)
		}
		all += int64(n)
		drafted += int64(d.Drafts)
		drafts += int64(min(d.Drafts, 1))
		if r.Reasoning > 0 && r.Visible == 0 && r.state == decoding && r.Emitted > r.Reasoning {
			r.Visible = now
		}
		if r.state == decoding && d.Accepted > 0 {
			more += int(d.Accepted)
			if in.report.byClass != nil || r.Traced {
				in.reportAccepted(r, d, now)
			}
		}
		if r.Emitted == r.Output {
			r.finishStep = step
			ended = append(ended, d.slot)
		}
	}
	in.scratch = ended
	in.batch.set.Move(all)
	in.batch.countEmitted(all)
	in.tally.drafts += drafts
	in.tally.drafted += drafted
	in.tally.accepted += int64(more)
	if more > 0 {
		in.cluster.sink.Burst(in, now, more)
	}
	in.retire(now, ended)
}

// reportAccepted counts by class, and traces, the accepted drafts of r.
func (in *Instance) reportAccepted(r *Request, d *Draft, now Time) {
	if in.report.byClass != nil {
		in.report.byClass[r.Class] += d.Accepted
	}
	if r.Traced && in.cluster.tracer != nil {
		in.cluster.tracer.Accepted(r, d.Position+1, now, int(d.Accepted))
	}
}

// bursting returns how many tokens beyond one each the step under way emits to clients that still wait.
func (in *Instance) bursting() (n int64) {
	if in.drafting.speculation == nil || in.step.decodes == 0 {
		return 0
	}
	for i := range in.drafting.drafts {
		if d := &in.drafting.drafts[i]; in.requests.at[d.slot].state == decoding {
			n += int64(d.Accepted)
		}
	}
	return n
}

// unnamed returns how many of the computed tokens of r, which decodes or has ended, are in no block with a name yet:
// accepted drafts that an engine with DelayedNames learns of with the step at hand.
func (in *Instance) unnamed(r *Request) int32 {
	if s := in.drafting.speculation; s != nil && s.DelayedNames && in.pool.BatchQueue < 2 {
		return r.burst
	}
	return 0
}

// unknown returns the most tokens of a sequence that steps compute and its blocks are not named by yet: drafts that
// may be wrong, of two steps, what a drafter reads beyond a block, and what stages that work on one batch after the
// other compute in vain. A window that is no longer passes blocks that have no name.
func (p *PoolSpec) unknown() int32 {
	n := p.Drafter.Ahead
	if p.Speculation != nil {
		n += 2 * p.Speculation.draftsMax()
	}
	if p.serial() {
		n += int32(len(p.Stages) - 1)
	}
	return n
}

// passDrafted moves r on, which has got blocks for its drafts: n of the tokens that it computes stay.
func (in *Instance) passDrafted(r *Request, n int32) {
	r.underWay = -r.rejected
	if in.cache.Lag() > 0 {
		r.underWay = n
	}
}
