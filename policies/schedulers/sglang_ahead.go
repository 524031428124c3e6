package schedulers

import "github.com/decodesim/decodesim/sim"

// SGLang's overlap scheduler composes a step before it learns what came of the one under way. A request that the step
// has no blocks for is retracted then, and what the one under way computes of it is dropped: the client does not get
// that token before it has been computed again (Scheduler.event_loop_overlap, ScheduleBatch.retract_decode and
// SchedulerBatchResultProcessor.process_batch_result_decode of 0.5.23). So whether there is room is decided here as the
// step ends, before its tokens are emitted; everything else of the next step, when it is composed.

var _ sim.Retractor = (*SGLang)(nil)

// What PolicyState[aheadState] says that Retract has done of the step that is composed next.
const (
	notAhead       = iota
	sortedAhead    // the queue has its order, and a request of it may join the batch
	plannedAhead   // it has been said which of its requests join the batch, and others have been preempted for them
	triedAhead     // none may
	retractedAhead // nor that, and requests have been retracted
)

// Retract implements sim.Retractor.
func (p *SGLang) Retract(in *sim.Instance, w *sim.Work) {
	state := int64(notAhead)
	if p.Preemption {
		clearFull(in)
		state = p.preemptAhead(in, w)
	}
	if completing(in) < in.Prefilling() || state == sortedAhead || state == plannedAhead {
		in.PolicyState[aheadState] = state
		return // the next step has a chunk of the prompt that is not complete, or other prompts
	}
	if state == notAhead && p.mayAdmit(in) {
		b := p.budget(in)
		p.order(in, w)
		if r, _, _ := p.next(in, w, &b); r != nil {
			in.PolicyState[aheadState] = sortedAhead
			return
		}
		state = triedAhead
	}
	if p.retractAhead(in, w) {
		state = retractedAhead
	}
	in.PolicyState[aheadState] = state
}

// retractAhead retracts requests until the others can decode in the next step, unless that is short of blocks only
// until one ends with the step under way, and reports whether there were any.
func (p *SGLang) retractAhead(in *sim.Instance, w *sim.Work) bool {
	n, joins := 0, 0
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		decodes, ends := in.Continues(r)
		if ends {
			return false
		}
		if decodes {
			n++
		}
	}
	for in.Accepted(joins) != nil {
		joins++
	}
	n += joins
	if n < 2 || w.BlocksNext() <= in.Cache().Free() {
		return false
	}
	page := int64(in.Cache().BlockSize())
	for n > 1 && w.BlocksNext() > in.Cache().Free() {
		w.EvictFor(w.BlocksNext())
		w.Drop(p.victim(in, continues))
		n--
		w.EvictFor((int64(n)*int64(p.RetractDecodeSteps) + page - 1) / page)
	}
	w.EvictFor(w.BlocksNext())
	p.estimate(in, continues)
	return true
}

// continues reports whether r decodes in the step after the one under way.
func continues(in *sim.Instance, r *sim.Request) bool {
	decodes, _ := in.Continues(r)
	return decodes
}

// completes reports whether the step under way completes the prompt of r.
func completes(in *sim.Instance, r *sim.Request) bool {
	decodes, ends := in.Continues(r)
	return in.Prefills(r) && (decodes || ends)
}

// completing returns how many prompts the step under way completes.
func completing(in *sim.Instance) (n int) {
	for i := range in.Prefilling() {
		if completes(in, in.Prefill(i)) {
			n++
		}
	}
	return n
}
