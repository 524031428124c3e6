package sim

// Wait is something that a token waits for. The first are the parts of a step.
type Wait uint8

// What a gap between two tokens is made of.
const (
	Prefill     Wait = Wait(NumParts) + iota // prompts in the same step, or in steps of their own before it
	Drafting                                 // drafting tokens, and verifying them
	Copying                                  // between host memory and the GPU's
	Queueing                                 // after a preemption, until the next admission
	Recomputing                              // from there to the next token
	NumWaits
)

var waitNames = [NumWaits]string{"weights", "kv", "compute", "communication", "overhead", "prefill", "speculation", "copying", "queueing", "recomputing"}

func (w Wait) String() string { return waitNames[w] }

// Split is a gap by what it is made of: parts that sum to it exactly.
type Split [NumWaits]Duration

// Split returns what the first step under way, of which a sink is being told, is made of. What prompts, drafts and copies
// add is what the step would be shorter without: copies are taken out first, then prompts, then drafts, and the parts are
// those of the step that remains.
func (in *Instance) Split() (s Split) {
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
func (in *Instance) Plain() bool {
	b := &in.shapes[0]
	return b.Prefills == 0 && b.Drafts == 0 && b.SwapBlocks == 0
}
