package sim

// What the sink is told when steps end. Mostly it is one run of equal steps. It is more if clients have hung up, for they
// miss the last step, and if some sequences have waited, because steps of prompts alone came between their tokens or their
// cache was in host memory: the first gap of those is longer than the step.

// tell reports n steps that have ended. If those are all, clients that hung up during them miss the last.
func (in *Instance) tell(n int) {
	leaving := 0
	if len(in.hungup) > 0 && n == in.steps && in.decodes > 0 {
		leaving = in.leaving()
	}
	if leaving == 0 && !in.lateNow() {
		if in.classes != nil {
			in.each(nil)
		}
		in.cluster.sink.Run(in, in.start, &in.seg, n, in.emitting())
		if len(in.traced) > 0 {
			in.trace(n, 0)
		}
		return
	}
	in.tellApart(n, leaving)
	if len(in.traced) > 0 {
		in.trace(n, leaving)
	}
}

// lateNow reports whether somebody's first gap is longer than the first step under way.
func (in *Instance) lateNow() bool { return in.late && in.decodes > 0 }

// emitting returns how many sequences emit a token in a step under way.
func (in *Instance) emitting() int {
	if in.decodes == 0 {
		return 0
	}
	return in.decodes - len(in.idle)
}

// tellApart reports n steps whose first or last is unlike the others.
func (in *Instance) tellApart(n, leaving int) {
	sink, from := in.cluster.sink, 0
	if in.lateNow() {
		in.tellLate(n == 1 && leaving > 0)
		from = 1
	}
	if leaving == 0 {
		if from < n {
			in.each(nil)
			in.run(from, n-from, in.emitting())
		}
		return
	}
	if from < n-1 {
		in.each(nil)
		in.run(from, n-1-from, in.emitting())
	}
	if from < n {
		in.each(func(r *Request) bool { return r.state == leavingDecode })
		in.part = in.seg.Tail(n - 1)
		sink.Run(in, in.start.Add(in.seg.Span(n-1)), &in.part, 1, in.emitting()-leaving)
	}
}

// run reports n steps from the from-th on.
func (in *Instance) run(from, n, tokens int) {
	in.part = in.seg.Tail(from)
	in.cluster.sink.Run(in, in.start.Add(in.seg.Span(from)), &in.part, n, tokens)
}

// tellLate reports the first step: who joined since the decode set last emitted is told one by one, unless his latest
// token came when the step began; the others all emitted theirs then.
func (in *Instance) tellLate(without bool) {
	sink, t := in.cluster.sink, in.start.Add(in.seg.First)
	now, held := 0, in.emitting()
	for _, slot := range in.fresh {
		r := &in.slab[slot]
		held--
		switch {
		case without && r.state == leavingDecode:
		case r.Last == in.start:
			now++
		default:
			in.shown = *r
			in.shown.Emitted++
			sink.Gap(in, &in.shown, t, r.cause())
		}
	}
	if without {
		held -= in.leaving() - in.leavingFresh()
	}
	if in.decode == in.start {
		now, held = now+held, 0
	}
	in.part = in.seg.Tail(0)
	in.part.Steps = 1
	in.each(func(r *Request) bool { return without && r.state == leavingDecode || !in.inTime(r) })
	sink.Run(in, in.start, &in.part, 1, now)
	if held > 0 {
		in.each(func(r *Request) bool { return without && r.state == leavingDecode || in.isFresh(r) })
		sink.Paused(in, in.decode, in.start, &in.part, held)
	}
}

// isFresh reports whether r has joined the decode set since it last emitted.
func (in *Instance) isFresh(r *Request) bool { return r.joined == in.set.step }

// inTime reports whether r emitted its latest token when the steps under way began.
func (in *Instance) inTime(r *Request) bool {
	if in.isFresh(r) {
		return r.Last == in.start
	}
	return in.decode == in.start
}

func (in *Instance) leavingFresh() int {
	n := 0
	for _, slot := range in.hungup {
		if r := &in.slab[slot]; r.state == leavingDecode && in.isFresh(r) {
			n++
		}
	}
	return n
}

// cause says what held up the first token of r since it joined the decode set.
func (r *Request) cause() Cause {
	if r.late != Preempted {
		return r.late
	}
	return Paused
}

// each counts by class the tokens that the sink is about to be told of, but for the sequences that are left out.
func (in *Instance) each(without func(*Request) bool) {
	if in.classes == nil {
		return
	}
	if in.decodes == 0 {
		clear(in.told)
		return
	}
	copy(in.told, in.classes)
	if without == nil {
		return
	}
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.Decodes(r) && without(r) {
			in.told[r.Class]--
		}
	}
}

// Classes returns, while a Sink is told of tokens, how many of those of a step are of each class; nil: there is one class.
func (in *Instance) TokensByClass() []int32 { return in.told }

// Prompts returns, while a Sink is told of a step, how many chunks of prompts were in it.
func (in *Instance) PromptChunks() int { return in.shapes[0].Prefills }

// trace tells the tracer of the tokens of the traced requests in n steps.
func (in *Instance) trace(n, leaving int) {
	tracer := in.cluster.tracer
	if in.decodes == 0 {
		return
	}
	for _, slot := range in.traced {
		r := &in.slab[slot]
		if r.state == idle {
			continue
		}
		_, emitted := in.progress(r)
		k, from := n, 0
		if leaving > 0 && r.state == leavingDecode {
			k--
		}
		if k > 0 && in.late && !in.inTime(r) {
			if !in.isFresh(r) {
				tracer.Delayed(r, emitted, in.decode, in.start.Add(in.seg.First))
			} // else Gap has told
			from = 1
		}
		if from < k {
			rest := in.seg.Tail(from)
			tracer.Tokens(r, emitted+int32(from), in.start.Add(in.seg.Span(from)), &rest, k-from)
		}
	}
}
