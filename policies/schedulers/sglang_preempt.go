package schedulers

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// A request that finds no place in SGLang's batch takes those of requests whose priorities are less urgent than its own
// by more than a margin: the least urgent first and, of equals, those that came to the queue last, until there is room
// for it, too. They wait again (python/sglang/srt/managers/schedule_policy.py, PrefillAdder.preempt_to_schedule, of
// 0.5.23).
//
//   - The room that a request wants is what it may emit and what is known of its prompt: what it was to compute when it
//     was tried last, or nothing, if it never was. A preempted one wants what it had when it was last admitted, or had
//     a token beside prompts.
//   - From then on each request behind it must take a place, although several may have become free.
//   - Every step tries anew, whether or not a request has left.

var _ sim.Preemptor = (*SGLang)(nil)

// Preempts implements sim.Preemptor.
func (p *SGLang) Preempts() bool { return p.Preemption }

// preempt preempts requests for r, or reports that there is no room for it then.
func (p *SGLang) preempt(in *sim.Instance, w *sim.Work, b *budget, r *sim.Request) bool {
	need, rest := int64(w.Counted(r))+int64(min(r.Limit(), p.ClipMaxNewTokens)), b.remaining
	whole, fraction := b.reserved, b.fraction
	p.victims = p.victims[:0]
	for short := true; short; {
		v := p.preemptible(in, b, r)
		if v == nil {
			return false
		}
		p.victims = append(p.victims, v)
		rest -= int64(min(v.Limit()-in.Emitted(v)+in.Unknown(v), p.ClipMaxNewTokens))
		whole, fraction = p.reserve(in, rest)
		room := b.total + b.reserved - whole
		if fraction {
			room--
		}
		short = need > room
	}
	p.evict(in, w, b)
	b.total += b.reserved - whole
	b.remaining, b.reserved, b.fraction = rest, whole, fraction
	return true
}

// preemptible returns the request that is preempted next for r, which waits, or nil.
func (p *SGLang) preemptible(in *sim.Instance, b *budget, r *sim.Request) (worst *sim.Request) {
	for v := in.LastAdmitted(); v != nil; v = in.AdmittedBefore(v) {
		if int32(v.Priority)-int32(r.Priority) <= p.PreemptionMargin || !b.member(in, v) || slices.Contains(p.victims, v) {
			continue
		}
		if worst == nil || v.Priority > worst.Priority || v.Priority == worst.Priority && in.QueuedAfter(v, worst) {
			worst = v
		}
	}
	return worst
}

// member reports whether r, which runs, is in the batch of decodes.
func (b *budget) member(in *sim.Instance, r *sim.Request) bool {
	if !b.ahead {
		return in.Decodes(r)
	}
	decodes, ends := in.Continues(r)
	return decodes || ends
}

// evict preempts the victims, in their order in the batch. What each leaves is free at once, and more is evicted for
// those that stay.
func (p *SGLang) evict(in *sim.Instance, w *sim.Work, b *budget) {
	slices.SortFunc(p.victims, func(x, y *sim.Request) int {
		if in.PlacedBefore(x, y) {
			return -1
		}
		return 1
	})
	left := 0
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if b.member(in, r) {
			left++
		}
	}
	before := in.Cache().Free()
	for _, v := range p.victims {
		if b.ahead {
			w.Drop(v)
		} else {
			w.Preempt(v, sim.Retract)
		}
		left--
		w.EvictFor((int64(left)*int64(p.RetractDecodeSteps) + b.page - 1) / b.page)
	}
	freed := in.Cache().Free() - before
	b.blocks += freed
	b.total += freed * b.page
	b.rows -= len(p.victims)
	b.preempted = true
}

// countRiding notes how many tokens SGLang has of the requests that decode beside prompts.
func countRiding(in *sim.Instance, w *sim.Work) {
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if computes(in, r) {
			w.Count(r, r.Prompt+in.Emitted(r)-in.Unknown(r))
		}
	}
}

// mayPreempt reports whether the first that waits may find no place, and is more urgent than one that runs.
func (p *SGLang) mayPreempt(in *sim.Instance) bool {
	if in.Running()+in.Visible(p.MaxRunningRequests+1) <= p.MaxRunningRequests {
		return false
	}
	r := in.Head()
	if r == nil {
		return false
	}
	b := budget{ahead: true}
	return p.preemptible(in, &b, r) != nil
}

// preemptAhead composes the prompts of the next step as SGLang's overlap scheduler does while the one runs that is
// about to end, if that may preempt requests, and returns what Retract has done then.
func (p *SGLang) preemptAhead(in *sim.Instance, w *sim.Work) int64 {
	p.victims = p.victims[:0]
	if !p.mayPreempt(in) {
		return notAhead
	}
	if completing(in) < in.Prefilling() {
		w.PublishChunks()
	}
	b := p.budget(in)
	b.preempts, b.ahead = true, true
	b.rows, b.blocks = in.Running(), in.Cache().Free()
	if completing(in) < in.Prefilling() && !p.resumeAhead(in, w, &b) {
		return notAhead
	}
	p.order(in, w)
	for waits := 0; ; waits++ {
		r, n, expected := p.candidate(in, w, &b, in.Waiting(waits))
		if r == nil {
			break
		}
		b.blocks -= w.BlocksToAdmit(n)
		b.rows++
		b.total -= w.CachedFree()
		w.PlanAdmission(r, n)
		b.charge(n, expected)
		if b.total <= 0 {
			break
		}
	}
	switch {
	case b.preempted && b.prompts > 0:
		return plannedAhead
	case b.prompts > 0:
		w.Unplan()
		return sortedAhead
	}
	return triedAhead
}

// resumeAhead gives the prompt under way, which the step that is about to end does not complete, its chunk of the next
// one, or reports that there is no room for it.
func (p *SGLang) resumeAhead(in *sim.Instance, w *sim.Work, b *budget) bool {
	for i := range in.Prefilling() {
		r := in.Prefill(i)
		if completes(in, r) {
			continue
		}
		n, expected := p.chunk(r, r.Pending()-r.Chunk(), b)
		blocks := w.BlocksToExtend(r, r.Chunk()+n) - w.BlocksToExtend(r, r.Chunk())
		if n < 1 || blocks > b.blocks {
			return false
		}
		w.PlanChunk(r, n)
		b.blocks -= blocks
		b.charge(n, expected)
	}
	return true
}

// prefillPlanned composes the batch of prompts that preemptAhead has planned.
func (p *SGLang) prefillPlanned(in *sim.Instance, w *sim.Work) bool {
	w.PauseDecodes()
	b := p.budget(in)
	for i := range in.Prefilling() {
		r := in.Prefill(i)
		if n := w.Planned(r); n > 0 {
			w.Chunk(r, n)
			b.charge(n, 0)
		}
	}
	for r := in.Head(); r != nil && w.Ahead(r); r = in.Head() {
		w.CachedTokens(r)
		n := w.Planned(r)
		p.enter(w, r, n)
		b.charge(n, 0)
	}
	return p.complete(in, w, &b)
}
