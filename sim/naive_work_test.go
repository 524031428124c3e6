package sim_test

import "github.com/decodesim/decodesim/sim"

// naiveStep is the step that a replica without stages has under way.
type naiveStep struct {
	began  sim.Time
	shapes []sim.Shape // of its ranks
	bound  sim.Duration
}

// naiveWork is what a first rank has of what is counted of its replica.
type naiveWork struct {
	under *naiveStep // nil: none
	since sim.Time   // of one that is not down: when it was started
}

// naiveTally is what a pool has done, as one step after the other is counted when it ends. Of a step that has not, the
// time counts that it has taken.
type naiveTally struct {
	busy, prefill, bound sim.Duration
	prefills, mixed      int64 // steps
	ranks                sim.RankTotals
	upS                  float64 // Σ over lives that have ended; of many it is longer than the clock goes
}

// beginsStep notes a step of these ranks.
func (n *naive) beginsStep(lead *naiveInstance, shapes []sim.Shape) {
	var g sim.Segment
	n.model.Price(shapes, &g)
	lead.under = &naiveStep{n.now, shapes, g.Bound.A}
}

// endsStep counts the step under way, if there is one, which has ended or is broken off.
func (n *naive) endsStep(lead *naiveInstance, ended bool) {
	if s := lead.under; s != nil {
		lead.under = nil
		n.tally.count(s, n.now, ended)
	}
}

// count counts a step until an instant, at which it has ended or not.
func (t *naiveTally) count(s *naiveStep, at sim.Time, ended bool) {
	var prompts, decodes, most, all int64
	for i := range s.shapes {
		b := &s.shapes[i]
		prompts, decodes = prompts+int64(b.Prefills), max(decodes, int64(b.Decodes))
		most, all = max(most, b.DecodeTokens+b.PrefillTokens), all+b.DecodeTokens+b.PrefillTokens
	}
	t.busy += at.Sub(s.began)
	if prompts > 0 {
		t.prefill += at.Sub(s.began)
	}
	switch {
	case !ended:
		return
	case prompts == 0:
		t.bound += s.bound
	case decodes > 0:
		t.prefills, t.mixed = t.prefills+1, t.mixed+1
	default:
		t.prefills++
	}
	if len(s.shapes) > 1 {
		t.ranks.Steps, t.ranks.DecodeMax = t.ranks.Steps+1, t.ranks.DecodeMax+decodes
		t.ranks.TokenMax, t.ranks.TokenSum = t.ranks.TokenMax+most, t.ranks.TokenSum+all
	}
}

// tallyAt is the tally of a run that ends at an instant.
func (n *naive) tallyAt(at sim.Time) naiveTally {
	t := n.tally
	for _, in := range n.members {
		if in.under != nil {
			t.count(in.under, at, false)
		}
		if in.life != "down" {
			t.upS += at.Sub(in.since).Seconds()
		}
	}
	t.ranks.Empty = int64(n.empty)
	if n.ranks <= 1 {
		t.ranks.Empty = 0
	}
	return t
}

// countArrival counts r, and the requests that have ended before it came.
func (f *naiveFleet) countArrival(r *naiveRequest) {
	f.counts.EndedBefore = 0
	for _, other := range f.all {
		if other.outcome != "" {
			f.counts.EndedBefore++
		}
	}
	f.counts.Arrived, f.counts.PromptTokens = f.counts.Arrived+1, f.counts.PromptTokens+int64(r.Prompt)
}

// emit lets the client of r have so many tokens at once.
func (n *naive) emit(r *naiveRequest, tokens int) {
	for range tokens {
		if r.Emitted > 0 {
			n.gaps[r.cause]++
		}
		r.cause = "burst"
		r.Emitted++
		r.tokens = append(r.tokens, n.now)
	}
	if tokens > 0 {
		r.cause = ""
	}
	if r.Emitted == r.Output {
		n.done(r, "completed")
	}
}
