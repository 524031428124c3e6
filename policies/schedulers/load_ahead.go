package schedulers

import "github.com/decodesim/decodesim/sim"

var _ sim.Loader = (*Continuous)(nil)

// ahead is what Continuous makes of the step after the one that has been composed, as far as the engine can tell: an
// engine that queues batches composes it while that one runs, and begins loads with it.
type ahead struct {
	budget  int32 // tokens that it leaves
	blocks  int64 // that it takes
	lacking int64 // blocks that prompts under way lack behind it
	running int   // requests in its batch
	chunks  int   // prompts that have tokens in it
}

// LoadAhead implements sim.Loader.
func (p *Continuous) LoadAhead(in *sim.Instance, w *sim.Work) {
	a := ahead{budget: p.MaxNumBatchedTokens, running: in.Running()}
	if !p.runAhead(in, w, &a) || !p.joinAhead(in, w, &a) {
		return
	}
	w.SetAside(a.blocks)
	resumes, all := p.resumeAhead(in, w, &a)
	if all && a.budget > p.DraftSlots && a.running < p.MaxNumSeqs {
		w.AllowLoads(sim.LoadRules{
			Leave: p.leavesBeside(a.running) + a.blocks, Reserves: p.LoadsReserve, Whole: p.SchedulerReserveFullISL,
			Resumes: resumes, Lacking: a.lacking,
		})
	}
}

// runAhead gives those that run their tokens and blocks, and reports whether no request is preempted for them.
func (p *Continuous) runAhead(in *sim.Instance, w *sim.Work, a *ahead) bool {
	missed := false
	for r := in.FirstAdmitted(); r != nil; r = in.AdmittedAfter(r) {
		n, decodes, blocks := in.WantsNext(r), in.DecodesNext(r), int64(0)
		if !decodes {
			n = p.chunk(n, a.budget-p.DraftSlots)
		}
		n = min(n, a.budget-p.DraftSlots)
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
	for i := 0; ; i++ {
		r := in.LoadedNext(i)
		if r == nil {
			return true
		}
		if a.budget <= p.DraftSlots || a.running >= p.MaxNumSeqs {
			return false
		}
		w.Find(r)
		a.blocks += w.BlocksToJoin(r, 0, 1)
		if a.blocks > w.FreeBlocks()-p.leavesBeside(a.running) {
			return false
		}
		a.running++
		a.budget -= 1 + p.DraftSlots
	}
}

// resumeAhead admits those that have been preempted, and returns how many, and whether they are all.
func (p *Continuous) resumeAhead(in *sim.Instance, w *sim.Work, a *ahead) (n int, all bool) {
	for ; ; n++ {
		r, all := in.ResumesNext(n)
		if r == nil || a.budget <= p.DraftSlots || a.running >= p.MaxNumSeqs {
			return n, all
		}
		cached := w.CachedTokens(r)
		pending, room := r.Pending()-cached, a.budget-p.DraftSlots
		chunk := p.chunk(pending, room)
		if p.Unchunked {
			chunk = pending
			if chunk > room && a.chunks > 0 {
				return n, false
			}
		}
		need, reserve := chunk, int32(0)
		if p.Reserve != AsComputed || p.SchedulerReserveFullISL {
			need, reserve = p.need(r, pending)
		}
		takes := max(chunk, w.Slots(chunk), reserve-cached)
		if w.BlocksToAdmit(max(need, takes)) > w.FreeBlocks()-a.blocks-p.leavesBeside(a.running) {
			return n, false
		}
		a.blocks += w.AdmitNext(r, chunk, takes)
		a.lacking += w.LacksNext(r, cached+chunk)
		a.running++
		a.chunks++
		a.budget -= chunk + p.DraftSlots
	}
}
