package sim

// What a sink hears when steps end. Mostly it is one segment of equal steps. It is more if clients have cancelled
// requests, which miss the last step, and if some sequences were overdue, because prefill-only steps came between their
// tokens or their cache was in host memory: their first gap is longer than the step.

// report is what a sink may ask for while something is reported to it.
type report struct {
	byClass []int32 // tokens of a step by class; nil: there is one class
	request Request // as the sink sees it
	steps   Segment // the part of the steps under way that is reported
	ranks   []Shape // the ranks of the step without a part of their batches
	own     [1]Shape
	reduced Segment // price of the step without a part of its batch
}

// reportSteps reports n steps that have ended. If those are all, cancelled requests miss the last.
func (in *Instance) reportSteps(n int) {
	leaving, s, b := 0, &in.step, &in.batch
	if len(b.cancelled) > 0 && n == s.n && s.decodes > 0 {
		leaving = b.cancelledDecodes()
	}
	if leaving == 0 && !in.overdue() {
		in.countClasses(nil)
		in.cluster.sink.Run(in, s.start, &s.price, n, in.emitting())
	} else {
		in.reportParts(n, leaving)
	}
	if len(b.traced) > 0 {
		in.trace(n, leaving)
	}
}

// overdue reports whether some sequence's first gap is longer than the first step under way.
func (in *Instance) overdue() bool { return in.batch.overdue && in.step.decodes > 0 }

// reportParts reports n steps whose first or last is unlike the others.
func (in *Instance) reportParts(n, leaving int) {
	from := 0
	if in.overdue() {
		in.reportOverdue(n == 1 && leaving > 0)
		from = 1
	}
	if leaving == 0 {
		if from < n {
			in.countClasses(nil)
			in.reportRun(from, n-from, in.emitting())
		}
		return
	}
	if from < n-1 {
		in.countClasses(nil)
		in.reportRun(from, n-1-from, in.emitting())
	}
	if from < n {
		in.countClasses(func(r *Request) bool { return r.state == cancelledDecode })
		in.reportRun(n-1, 1, in.emitting()-leaving)
	}
}

// reportRun reports n steps from the from-th on.
func (in *Instance) reportRun(from, n, tokens int) {
	s := &in.step
	in.report.steps = s.price.Tail(from)
	in.cluster.sink.Run(in, s.start.Add(s.price.Span(from)), &in.report.steps, n, tokens)
}

// reportOverdue reports the first step. The sequences that have joined since the decode set last emitted are reported
// one by one, except those whose latest token came when the step began; all others emitted their latest token together.
// leaving says that cancelled requests miss the step.
func (in *Instance) reportOverdue(leaving bool) {
	sink, s, b := in.cluster.sink, &in.step, &in.batch
	t := s.start.Add(s.price.First)
	now, paused := 0, in.emitting()
	for _, slot := range b.joined {
		r := &in.requests.at[slot]
		paused--
		switch {
		case leaving && r.state == cancelledDecode:
		case r.Last == s.start:
			now++
		default:
			in.report.request = *r
			in.report.request.Emitted++
			sink.Gap(in, &in.report.request, t, r.cause())
		}
	}
	if leaving {
		paused -= b.cancelledDecodes() - in.cancelledNew()
	}
	if b.emittedAt == s.start {
		now, paused = now+paused, 0
	}
	steps := &in.report.steps
	*steps = s.price.Tail(0)
	steps.Steps = 1
	in.countClasses(func(r *Request) bool { return leaving && r.state == cancelledDecode || !in.inTime(r) })
	sink.Run(in, s.start, steps, 1, now)
	if paused > 0 {
		in.countClasses(func(r *Request) bool { return leaving && r.state == cancelledDecode || b.isNew(r) })
		sink.Paused(in, b.emittedAt, s.start, steps, paused)
	}
}

// inTime reports whether r emitted its latest token when the steps under way began.
func (in *Instance) inTime(r *Request) bool {
	if in.batch.isNew(r) {
		return r.Last == in.step.start
	}
	return in.batch.emittedAt == in.step.start
}

// cancelledNew returns how many cancelled decodes have joined since the decode set last emitted.
func (in *Instance) cancelledNew() (n int) {
	for _, slot := range in.batch.cancelled {
		if r := &in.requests.at[slot]; r.state == cancelledDecode && in.batch.isNew(r) {
			n++
		}
	}
	return n
}

// cause says what delayed the first token of r since it joined the decode set.
func (r *Request) cause() Cause {
	if r.delay != Preempted {
		return r.delay
	}
	return Paused
}

// countClasses counts by class the tokens that are about to be reported, except those of the sequences that are left
// out.
func (in *Instance) countClasses(leaveOut func(*Request) bool) {
	byClass := in.report.byClass
	if byClass == nil {
		return
	}
	if in.step.decodes == 0 {
		clear(byClass)
		return
	}
	copy(byClass, in.batch.byClass)
	if leaveOut == nil {
		return
	}
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.Decodes(r) && leaveOut(r) {
			byClass[r.Class]--
		}
	}
}

// TokensByClass returns, while tokens are reported to a Sink, how many of the tokens of a step are of each class; nil:
// there is one class.
func (in *Instance) TokensByClass() []int32 { return in.report.byClass }

// PromptChunks returns, while a step is reported to a Sink, how many chunks of prompts were in it, over all ranks.
func (in *Instance) PromptChunks() (n int) {
	for i := range in.step.ranks {
		n += in.step.ranks[i].Prefills
	}
	return n
}

// trace reports the tokens of the traced requests in n steps to the tracer, and notes which of them ended reasoning.
func (in *Instance) trace(n, leaving int) {
	b := &in.batch
	if in.step.decodes == 0 {
		return
	}
	remaining := b.traced[:0]
	for _, slot := range b.traced {
		r := &in.requests.at[slot]
		if r.state == finishedRow {
			remaining = append(remaining, slot)
			continue
		}
		_, emitted := b.progress(r)
		k := n
		if leaving > 0 && r.state == cancelledDecode {
			k--
		}
		r.show(emitted, k, in.step.start, &in.step.price)
		traced := r.Traced && in.cluster.tracer != nil
		if traced {
			in.traceTokens(r, emitted, k)
		}
		if traced || r.Visible == 0 {
			remaining = append(remaining, slot)
		}
	}
	b.traced = remaining
}

// show notes when the first token after the reasoning of r came, if it is among the next k, one with each step of g.
func (r *Request) show(emitted int32, k int, start Time, g *Segment) {
	if i := int(r.Reasoning+1) - int(emitted); r.Reasoning > 0 && r.Visible == 0 && i <= k {
		r.Visible = start.Add(g.Span(i))
	}
}

// traceTokens reports the tokens of one traced request, which had emitted so many, in the first k steps.
func (in *Instance) traceTokens(r *Request, emitted int32, k int) {
	tracer, s, b := in.cluster.tracer, &in.step, &in.batch
	from := 0
	if k > 0 && b.overdue && !in.inTime(r) {
		if !b.isNew(r) { // otherwise Gap has reported it
			tracer.Delayed(r, emitted, b.emittedAt, s.start.Add(s.price.First))
		}
		from = 1
	}
	if from < k {
		steps := s.price.Tail(from)
		tracer.Tokens(r, emitted+int32(from), s.start.Add(s.price.Span(from)), &steps, k-from)
	}
}

// Wait is something that a token waits for. The first ones are the parts of a step.
type Wait uint8

// What a gap between two tokens consists of, beyond the parts of a step.
const (
	Prefill  Wait = Wait(NumParts) + iota // prompts in the same step, or in prefill-only steps before it
	Drafting                              // drafting tokens, and verifying them
	Copying                               // between host memory and the GPU's
	// for pipeline stages that work on other batches
	Staging
	// for max_num_seqs or for blocks: after a preemption, a failure, or a KV transfer
	Queueing
	Recomputing  // what was dropped, from the next admission on
	Transferring // the KV cache from one instance to another
	NumWaits
)

var waitNames = [NumWaits]string{
	"weights", "kv", "compute", "communication", "overhead",
	"prefill", "speculation", "copying", "pipeline", "queueing", "recomputing", "kv_transfer",
}

func (w Wait) String() string { return waitNames[w] }

// Breakdown is a gap by what it consists of: parts that sum to it exactly.
type Breakdown [NumWaits]Duration

// StepBreakdown returns what the first step under way, which is being reported to a sink, consists of. What prompts,
// drafts and copies add, on whichever rank, is by how much the step would be shorter without them: copies are taken out
// first, then prompts, then drafts, and the parts are those of the step that remains.
func (in *Instance) StepBreakdown() (parts Breakdown) {
	copy(in.report.ranks, in.step.ranks)
	in.step.price.FirstParts((*Parts)(parts[:NumParts]))
	whole := in.step.price.First - min(0, in.step.wait) // of a step that had begun before; its parts are those of the rest
	left := whole
	for _, w := range [...]Wait{Copying, Prefill, Drafting} {
		if in.reduce(w) {
			left = in.without(w, left, &parts)
		}
	}
	switch wait := in.step.wait; {
	case wait >= 0:
		parts[Overhead] -= wait
		parts[Staging] += wait
	case left < whole: // then the parts are those of the whole step
		parts.shorten(in.step.price.First, whole)
	}
	return parts
}

// reduce takes what w stands for out of report.ranks, and reports whether there was any.
func (in *Instance) reduce(w Wait) (any bool) {
	for i := range in.report.ranks {
		switch b := &in.report.ranks[i]; {
		case w == Copying && b.SwapBlocks > 0:
			b.SwapBlocks = 0
			any = true
		case w == Prefill && b.Prefills > 0:
			b.ClearPrefill()
			b.Outputs = int(b.DecodeTokens)
			any = true
		case w == Drafting && b.Drafts > 0:
			b.DecodeTokens, b.DecodeCtx = int64(b.Decodes), b.DecodeCtx-b.Drafts
			b.Outputs, b.Drafts = b.Decodes, 0
			any = true
		}
	}
	return any
}

// without prices the step under way without the part of its batch that w stands for, which report.ranks lacks: parts
// become those of that step, and w is by how much it is shorter than left. It returns how long it is.
func (in *Instance) without(w Wait, left Duration, parts *Breakdown) Duration {
	g, noise := &in.report.reduced, in.step.noise+max(0, in.step.wait)
	in.pool.Model.Price(in.report.ranks, g)
	d := left - noise - g.First
	if d <= 0 { // padding may make the smaller batch the longer step
		return left
	}
	parts[w] = d
	g.FirstParts((*Parts)(parts[:NumParts]))
	parts[Overhead] += noise
	return g.First + noise
}

// DecodeOnly reports whether the steps under way are of decodes alone, without drafts, copies and waits for a pipeline:
// they consist of the parts of their segment.
func (in *Instance) DecodeOnly() bool {
	if in.step.wait > 0 {
		return false
	}
	for i := range in.step.ranks {
		if b := &in.step.ranks[i]; b.Prefills > 0 || b.Drafts > 0 || b.SwapBlocks > 0 {
			return false
		}
	}
	return true
}

// GapBreakdown returns what the gap before the token of r that came at t consists of, while it is being reported to a
// sink with its cause.
func (in *Instance) GapBreakdown(r *Request, t Time, c Cause) Breakdown {
	if c == Preempted || c == Restarted {
		return r.recomputeBreakdown(t)
	}
	parts, wait := in.StepBreakdown(), in.step.start.Sub(r.Last) // and then a step
	switch c {
	case Transferred:
		transferring := r.transferTime()
		parts[Transferring] += transferring
		parts[Queueing] += r.Resumed.Sub(r.Last) - transferring
		parts[Prefill] += in.step.start.Sub(r.Resumed)
	case Swapped:
		transferring := r.transferTime() // if it was swapped out before it could decode at its destination
		parts[Transferring] += transferring
		parts[Queueing] += wait - transferring
	default:
		parts[Prefill] += wait
	}
	return parts
}

// recomputeBreakdown returns what a gap consists of in which the cache of r was computed again, perhaps to be
// transferred before the token at t. Time that is neither spent on that nor on the transfer was spent in queues.
func (r *Request) recomputeBreakdown(t Time) (parts Breakdown) {
	parts[Recomputing] = t.Sub(max(r.readmitted, r.Last)) // it may have emitted since, see stale.go
	if r.readmitted <= r.PendingTransfer && r.PendingTransfer <= r.Transferred {
		parts[Recomputing] = r.PendingTransfer.Sub(r.readmitted) + t.Sub(r.Resumed)
	}
	parts[Transferring] = r.transferTime()
	parts[Queueing] = t.Sub(r.Last) - parts[Recomputing] - parts[Transferring]
	return parts
}

// transferTime returns how long the cache of r has been on its way since its latest token, while it did nothing else.
func (r *Request) transferTime() Duration {
	return max(0, r.Transferred.Sub(max(r.PendingTransfer, r.Allocated, r.Last)))
}

// Shape returns what in computes in the first step under way, which is being reported to a sink.
func (in *Instance) Shape() Shape { return *in.work.shape }
