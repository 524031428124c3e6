package schedulers

import "github.com/decodesim/decodesim/sim"

var _ sim.Loader = (*Continuous)(nil)

// loadRules says which caches may be loaded beside so many requests that run.
func (p *Continuous) loadRules(running int) sim.LoadRules {
	return sim.LoadRules{Leave: p.leavesBeside(running), Reserves: p.LoadsReserve, Whole: p.SchedulerReserveFullISL}
}

// unload gives up what has been loaded for a request that is alone and does not fit, and reports whether there is one:
// others that are loaded have the blocks, and vLLM would wait for ever.
func (p *Continuous) unload(in *sim.Instance, w *sim.Work) bool {
	r := in.Loaded()
	if r == nil || in.Running() > 0 || !p.lacks(in, w, r) {
		return false
	}
	w.Unload(r)
	return true
}

// hostRules says so of what comes from host memory. It leaves blocks for prompts under way in any release: 0.22 does
// not, and then waits for ever where none of them gets what it lacks.
func (p *Continuous) hostRules(in *sim.Instance) sim.LoadRules {
	rules := p.loadRules(in.Running())
	rules.Reserves = true
	return rules
}

// join admits what KV connectors have loaded, and returns the budget that is left, and whether no request waits for
// blocks or for a row of the others' width, if those that run have alike rows.
func (p *Continuous) join(in *sim.Instance, w *sim.Work, budget int32, alike bool) (left int32, all bool) {
	all = true
	for all && budget > p.DraftSlots && in.Running() < p.MaxNumSeqs {
		r := in.Loaded()
		if r == nil {
			break
		}
		budget, all = p.joinOne(in, w, r, budget, alike)
	}
	return budget, all
}

// joinOne admits r, which has been loaded, and returns the budget that is left, and whether r has joined.
func (p *Continuous) joinOne(in *sim.Instance, w *sim.Work, r *sim.Request, budget int32, alike bool) (int32, bool) {
	if in.FromHost(r) {
		return p.joinPrompt(in, w, r, budget)
	}
	w.Find(r)
	fill, joins := p.joins(in, w, r, budget, alike)
	if !joins {
		return budget, false
	}
	return budget - w.Join(r, fill, budget-p.DraftSlots) - p.DraftSlots, true
}

// joins reports whether there are budget and blocks for r, which has been loaded, and how many wrong drafts stand
// beside the last token of its prompt.
func (p *Continuous) joins(in *sim.Instance, w *sim.Work, r *sim.Request, budget int32, alike bool) (int32, bool) {
	fill, room := int32(0), budget-p.DraftSlots
	if alike && r.Pending() == 0 && (in.Decoding() > 0 || r.Computed > 1) {
		fill = p.filler(w, r.Computed-1)
	}
	return fill, fill < room && w.BlocksToJoin(r, fill, room) <= w.FreeBlocks()-p.leaves(in)
}

// lacks reports whether there are no blocks for r, the first that has been loaded while none runs, and none to come.
func (p *Continuous) lacks(in *sim.Instance, w *sim.Work, r *sim.Request) bool {
	if !in.FromHost(r) {
		_, joins := p.joins(in, w, r, p.MaxNumBatchedTokens, true)
		return !joins
	}
	a, fits := p.admission(w, r, 0, 0, p.MaxNumBatchedTokens, 0)
	return fits && in.Sending() == 0 && w.BlocksToExtend(r, a.need) > w.FreeBlocks()
}

// joinPrompt admits r, whose prompt goes on from what has come from host memory, and returns what joinOne does.
func (p *Continuous) joinPrompt(in *sim.Instance, w *sim.Work, r *sim.Request, budget int32) (int32, bool) {
	w.Find(r)
	a, fits := p.admission(w, r, 0, 0, budget, in.Prefilling())
	if !fits || w.BlocksToExtend(r, a.need) > w.FreeBlocks()-p.leaves(in) {
		return budget, false
	}
	w.JoinPrompt(r)
	w.Chunk(r, a.tokens)
	return budget - a.tokens - p.DraftSlots, true
}

// ahead is what Continuous makes of the step after the one that has been composed, as far as the engine can tell: an
// engine that queues batches composes it while that one runs, and begins loads with it.
type ahead struct {
	budget  int32 // tokens that it leaves
	blocks  int64 // that it takes
	lacking int64 // blocks that prompts under way lack behind it
	running int   // requests in its batch
	joined  int   // of which so many have just been loaded
	chunks  int   // prompts that have tokens in it
}

// LoadAhead implements sim.Loader.
func (p *Continuous) LoadAhead(in *sim.Instance, w *sim.Work) {
	a, ordered := ahead{budget: p.MaxNumBatchedTokens, running: in.Running()}, in.LoadsInOrder()
	if !p.runAhead(in, w, &a) || !p.joinAhead(in, w, &a) {
		return
	}
	w.SetAside(a.blocks)
	resumes, all := p.resumeAhead(in, w, &a)
	if all && !ordered && a.budget > p.DraftSlots && a.running < p.MaxNumSeqs {
		w.AllowLoads(p.rulesAhead(&a, resumes))
	}
}

// rulesAhead says which caches may be loaded with that step when it has admitted so many that run again.
func (p *Continuous) rulesAhead(a *ahead, resumes int) sim.LoadRules {
	rules := p.loadRules(a.running)
	rules.Leave += a.blocks
	rules.Resumes, rules.Lacking = resumes, a.lacking
	return rules
}

// runAhead gives those that run their tokens and blocks, and reports whether no request is preempted for them.
func (p *Continuous) runAhead(in *sim.Instance, w *sim.Work, a *ahead) bool {
	missed := false
	for r := in.FirstAdmitted(); r != nil; r = in.AdmittedAfter(r) {
		decodes, blocks := in.DecodesNext(r), int64(0)
		n := p.share(in.WantsNext(r), decodes, a.budget)
		if n > 0 && !missed {
			blocks = w.BlocksNextOf(r, n)
			if a.blocks+blocks > w.FreeBlocks() {
				if w.FreesNext(p.Victim.of(in)) {
					return false
				}
				missed, blocks = true, 0
			}
		}
		a.lacking += w.LacksNextOf(r, blocks)
		if n <= 0 || missed {
			continue
		}
		a.blocks += blocks
		a.budget -= n + p.DraftSlots
		if !decodes {
			a.chunks++
		}
	}
	return true
}

// joinAhead admits what has been loaded, and reports whether none of it waits for blocks or for a place.
func (p *Continuous) joinAhead(in *sim.Instance, w *sim.Work, a *ahead) bool {
	for {
		r := in.LoadedNext(a.joined)
		if r == nil {
			return true
		}
		if a.budget <= p.DraftSlots || a.running >= p.MaxNumSeqs || !p.joinNext(in, w, r, a) {
			return false
		}
	}
}

// joinNext admits r, which has been loaded, and reports whether there are blocks for it.
func (p *Continuous) joinNext(in *sim.Instance, w *sim.Work, r *sim.Request, a *ahead) bool {
	w.Find(r)
	blocks := w.BlocksToJoin(r, 0, 1)
	if a.blocks+blocks > w.FreeBlocks()-p.leavesBeside(a.running) {
		return false
	}
	a.blocks += blocks
	a.running++
	a.joined++
	a.budget -= 1 + p.DraftSlots
	return true
}

// resumeAhead admits those that have been preempted, and returns how many, and whether they are all.
func (p *Continuous) resumeAhead(in *sim.Instance, w *sim.Work, a *ahead) (n int, all bool) {
	ordered := in.LoadsInOrder()
	for ; ; n++ {
		r, all := in.ResumesNext(n)
		if ordered && a.budget > p.DraftSlots && a.running < p.MaxNumSeqs && !w.LoadBefore(r, p.rulesAhead(a, n)) {
			return n, all // which counts only where loads have no order
		}
		if r == nil || a.budget <= p.DraftSlots || a.running >= p.MaxNumSeqs {
			return n, all
		}
		cached := w.CachedTokens(r)
		x, fits := p.admission(w, r, cached, 0, a.budget, a.chunks)
		if !fits || w.BlocksToAdmit(x.need) > w.FreeBlocks()-a.blocks-p.leavesBeside(a.running) {
			return n, false
		}
		a.blocks += w.AdmitNext(r, x.tokens, x.takes)
		a.lacking += w.LacksNext(r, cached+x.tokens)
		a.running++
		a.chunks++
		a.budget -= x.tokens + p.DraftSlots
	}
}
