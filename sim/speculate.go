package sim

import "errors"

// Speculation lets a decode step verify drafted tokens beside the one it computes anyway, and emit those that the model
// accepts all at once. nil is none, and costs nothing. With it, progress differs from sequence to sequence: a run has one
// step, and a step visits every sequence.
//
// The blocks of the drafts are held before the step, as vLLM's look-ahead slots are; those of rejected drafts stay with the
// sequence, for the next step needs them again. No draft goes beyond what a client may get.
type Speculation struct {
	Tokens     int32      // drafts of a sequence and step: num_speculative_tokens
	Adaptive   []DraftRow // drafts by batch size instead, in its order; larger batches draft none; nil: Tokens always
	Acceptance Acceptance
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
	Accepted int32 // the first so many of them

	slot int32
}

// DraftsMax bounds the drafts of a sequence and step.
const DraftsMax = 1 << 10

func (s *Speculation) validate() error {
	if s.Tokens < 0 || s.Tokens > DraftsMax {
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

// lookAhead fixes how much the step to come drafts and returns the blocks that it needs beyond those held.
func (in *Instance) lookAhead() (blocks int64) {
	in.drafting, in.draftSum = in.spec.drafts(in.set.n), 0
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.Decodes(r) {
			in.draftSum += int64(in.draftsOf(r))
			blocks += in.lookFor(r)
		}
	}
	return blocks
}

// draftsOf returns how many tokens r drafts in the step to come.
func (in *Instance) draftsOf(r *Request) int32 { return min(in.drafting, r.Limit()-r.Emitted-1) }

// lookFor returns the blocks that r needs for the step to come, beyond those it holds.
func (in *Instance) lookFor(r *Request) int64 {
	return max(0, in.kv.Blocks(r.Computed+1+in.draftsOf(r))-int64(r.held))
}

// Drafts returns how many tokens the decodes draft in the step being composed.
func (in *Instance) DraftTokens() int64 { return in.draftSum }

// draft fills in the decode half of the shape of a step that verifies drafts, whose blocks have been taken, and draws what
// is accepted.
func (in *Instance) draft(b *Shape) {
	in.drafts = in.drafts[:0]
	b.Decodes, b.DecodeTokens, b.DecodeCtx, b.Drafts = in.set.n, 0, 0, 0
	for i := range in.set.windows {
		b.Capped[i].Ctx, b.Capped[i].Growing = 0, 0
	}
	for slot := in.tail; slot != noSlot; slot = in.slab[slot].prev {
		r := &in.slab[slot]
		if !in.Decodes(r) {
			continue
		}
		k := in.draftsOf(r)
		x := r.Computed + 1 + k
		r.held = max(r.held, int32(in.kv.Blocks(x)))
		b.DecodeTokens += int64(1 + k)
		b.Drafts += int64(k)
		b.DecodeCtx += int64(x)
		for i := range in.set.windows {
			b.Capped[i].Ctx += int64(in.set.windows[i].view(x))
		}
		in.drafts = append(in.drafts, Draft{Request: r.ID, Position: r.Emitted, Drafts: k, slot: slot})
	}
	if b.Drafts > 0 {
		in.spec.Acceptance.Verify(in.drafts)
	}
	for i := range in.drafts {
		d := &in.drafts[i]
		if r := &in.slab[d.slot]; d.Accepted < 0 || d.Accepted > d.Drafts {
			panic("sim: accepted more drafts than there were")
		} else {
			d.Accepted = min(d.Accepted, r.Output-r.Emitted-1)
		}
	}
}

// verified moves the sequences on by what the step that ends has verified, and tells of the tokens beyond the first.
func (in *Instance) verified(now Time) {
	in.set.step++
	more, all := 0, int64(0)
	if in.classes != nil {
		clear(in.told)
	}
	done := in.scratch[:0]
	for i := range in.drafts {
		d := &in.drafts[i]
		r := &in.slab[d.slot]
		n := 1 + d.Accepted
		r.Computed += n
		r.Emitted += n
		in.set.ctx += int64(n)
		all += int64(n)
		if r.state == decoding && d.Accepted > 0 {
			more += int(d.Accepted)
			if in.classes != nil {
				in.told[r.Class] += d.Accepted
			}
			if r.Traced && in.cluster.tracer != nil {
				in.cluster.tracer.Accepted(r, d.Position+1, now, int(d.Accepted))
			}
		}
		if r.Emitted == r.Output {
			r.finish = in.set.step
			done = append(done, d.slot)
		}
	}
	in.scratch = done
	in.keepEmitted(all)
	in.draftedSum += in.shapes[0].Drafts
	in.acceptedSum += int64(more)
	if more > 0 {
		in.cluster.sink.Burst(in, now, more)
	}
	in.retire(now, done)
}

// bursting returns how many tokens beyond one each the step under way emits to clients that are still there.
func (in *Instance) bursting() (n int64) {
	if in.spec == nil || in.decodes == 0 {
		return 0
	}
	for i := range in.drafts {
		if d := &in.drafts[i]; in.slab[d.slot].state == decoding {
			n += int64(d.Accepted)
		}
	}
	return n
}
