package sim

// Wait is something that a token waits for. The first are the parts of a step.
type Wait uint8

// What a gap between two tokens is made of.
const (
	Prefill      Wait = Wait(NumParts) + iota // prompts in the same step, or in steps of their own before it
	Drafting                                  // drafting tokens, and verifying them
	Copying                                   // between host memory and the GPU's
	Queueing                                  // for a seat, or for room in the cache: after a preemption, a failure, or a hand-over
	Recomputing                               // what was dropped, from the next admission on
	Transferring                              // the KV cache from one instance to another
	NumWaits
)

var waitNames = [NumWaits]string{
	"weights", "kv", "compute", "communication", "overhead", "prefill", "speculation", "copying", "queueing", "recomputing", "kv_transfer",
}

func (w Wait) String() string { return waitNames[w] }

// Split is a gap by what it is made of: parts that sum to it exactly.
type Breakdown [NumWaits]Duration

// Split returns what the first step under way, of which a sink is being told, is made of. What prompts, drafts and copies
// add is what the step would be shorter without: copies are taken out first, then prompts, then drafts, and the parts are
// those of the step that remains.
func (in *Instance) StepBreakdown() (s Breakdown) {
	b, g := in.shapes[0], in.seg
	left := g.First - in.noise
	g.First, g.Part[Overhead].A = left, g.Part[Overhead].A-in.noise
	without := func(w Wait) {
		in.shapes[1] = b
		in.pool.Model.Price(in.shapes[1:], &in.alone)
		if d := left - in.alone.First; d > 0 { // padding may make the smaller batch the longer step
			s[w], left, g = d, in.alone.First, in.alone
		}
	}
	if b.SwapBlocks > 0 {
		b.SwapBlocks = 0
		without(Copying)
	}
	if b.Prefills > 0 {
		b.Prefills, b.PrefillTokens, b.PrefillPairs, b.PrefillCtx, b.Outputs = 0, 0, 0, 0, int(b.DecodeTokens)
		for i := range b.Capped {
			b.Capped[i].PrefillPairs, b.Capped[i].PrefillCtx = 0, 0
		}
		without(Prefill)
	}
	if b.Drafts > 0 {
		b.DecodeTokens, b.DecodeCtx, b.Outputs, b.Drafts = int64(b.Decodes), b.DecodeCtx-b.Drafts, b.Decodes, 0
		without(Drafting)
	}
	for p, part := range g.Part {
		s[p] = part.A
	}
	s[Overhead] += in.noise
	return s
}

// Plain reports whether the steps under way are of decodes alone, without drafts and copies: they are made of the parts of
// their segment.
func (in *Instance) DecodeOnly() bool {
	b := &in.shapes[0]
	return b.Prefills == 0 && b.Drafts == 0 && b.SwapBlocks == 0
}

// SplitGap returns what the gap before the token of r that came at t is made of; a sink is being told of it, and of its cause.
func (in *Instance) GapBreakdown(r *Request, t Time, c Cause) Breakdown {
	if c == Preempted || c == Restarted {
		return r.splitRecomputed(t)
	}
	s, wait := in.StepBreakdown(), in.start.Sub(r.Last) // and then a step
	switch c {
	case Transferred:
		moved := r.transfer()
		s[Transferring] += moved
		s[Queueing] += r.Resumed.Sub(r.Last) - moved
		s[Prefill] += in.start.Sub(r.Resumed)
	case Swapped:
		moved := r.transfer() // if it was swapped out before it could decode where it had come to
		s[Transferring] += moved
		s[Queueing] += wait - moved
	default:
		s[Prefill] += wait
	}
	return s
}

// splitRecomputed takes a gap apart in which the cache of r was computed anew, perhaps to be handed over before the token
// at t: what is neither that nor the transfer was spent in queues.
func (r *Request) splitRecomputed(t Time) (s Breakdown) {
	readmitted := Time(r.joined)
	s[Recomputing] = t.Sub(readmitted)
	if readmitted <= r.PendingTransfer && r.PendingTransfer <= r.Transferred {
		s[Recomputing] = r.PendingTransfer.Sub(readmitted) + t.Sub(r.Resumed)
	}
	s[Transferring] = r.transfer()
	s[Queueing] = t.Sub(r.Last) - s[Recomputing] - s[Transferring]
	return s
}

// transfer returns how long the cache of r has been on its way since its latest token, while it did nothing else.
func (r *Request) transfer() Duration {
	return max(0, r.Transferred.Sub(max(r.PendingTransfer, r.Allocated, r.Last)))
}

// Shape returns what the first step under way, of which a sink is being told, computes.
func (in *Instance) Shape() Shape { return in.shapes[0] }
