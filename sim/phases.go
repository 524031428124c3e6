package sim

// phases is what the steps of an instance were for: power and cost follow from it.
type phases struct {
	prefill      Duration // total length of the steps with prompts
	bound        Duration // Σ over steps of decodes alone of the least time that the data sheet allows
	prefillSteps int64    // steps with prompts
	mixedSteps   int64    // among them those with decodes
}

// PhaseTotals is what the steps of a pool were for.
type PhaseTotals struct {
	PrefillS     float64 // Σ length of steps with prompts, over instances
	DecodeBoundS float64 // Σ over steps of decodes alone of their bound: divided by their length, how hard they work
	PrefillSteps int64   // steps with prompts
	MixedSteps   int64   // among them those with decodes
}

func (t *PhaseTotals) add(p *phases) {
	t.PrefillS += p.prefill.Seconds()
	t.DecodeBoundS += p.bound.Seconds()
	t.PrefillSteps += p.prefillSteps
	t.MixedSteps += p.mixedSteps
}

// countTime counts d of the steps under way, n of which have ended in it.
func (in *Instance) countTime(n int, d Duration) {
	in.tally.busy += d
	in.tally.phases.count(&in.step, n, d, 1)
}

// count counts d of the steps s, n of which have ended in it. Each of so many stages works on s in turn.
func (p *phases) count(s *step, n int, d Duration, stages int) {
	prompts, decodes := false, 0
	for i := range s.ranks {
		prompts = prompts || s.ranks[i].Prefills > 0
		decodes += s.ranks[i].Decodes
	}
	k := Duration(n)
	if !prompts {
		p.bound += (k*s.price.Bound.A + k*(k-1)/2*s.price.Bound.B) / Duration(stages)
		return
	}
	p.prefill += d
	p.prefillSteps += int64(n)
	if decodes > 0 {
		p.mixedSteps += int64(n)
	}
}
