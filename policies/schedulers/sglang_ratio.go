package schedulers

import (
	"math/bits"

	"github.com/decodesim/decodesim/sim"
)

// RatioOne is a new-token ratio of 1.
const RatioOne = 1_000_000_000

// What SGLang keeps in an instance's PolicyState.
const (
	ratioSet  = iota // the new-token ratio as it was last set, plus 1; 0: never
	ratioStep        // the decode step in which it was set
	fullSince        // departures, plus 1, when an attempt to admit a request failed for want of room
)

// ratio returns the new-token ratio of an instance, which falls by NewTokenRatioDecay with every decode step.
func (p *SGLang) ratio(in *sim.Instance) int64 {
	r := p.InitNewTokenRatio
	if set := in.PolicyState[ratioSet]; set > 0 {
		r = set - 1
	}
	steps := in.DecodeSteps() - in.PolicyState[ratioStep]
	if p.NewTokenRatioDecay > 0 && steps > RatioOne/p.NewTokenRatioDecay {
		return p.MinNewTokenRatio
	}
	return max(p.MinNewTokenRatio, r-p.NewTokenRatioDecay*steps)
}

func (p *SGLang) setRatio(in *sim.Instance, r int64) {
	in.PolicyState[ratioSet], in.PolicyState[ratioStep] = r+1, in.DecodeSteps()
}

// retract frees blocks for the sequences that decode, and raises the new-token ratio to what they need now:
//
//	ratio = (Σ emitted + decodes · RetractDecodeSteps) / Σ limits
func (p *SGLang) retract(in *sim.Instance, w *sim.Work) {
	if in.Decoding() > 1 {
		w.Preempt(p.victim(in), sim.Retract)
	}
	for in.Decoding() > 1 && p.short(in, w) {
		w.Preempt(p.victim(in), sim.Retract)
	}
	if w.FreeBlocks() < 0 && in.Prefilling() > 0 {
		w.Preempt(in.Prefill(0), sim.Retract)
	}
	if w.FreeBlocks() < 0 { // the other blocks are those of pending transfers
		w.Preempt(p.victim(in), sim.Retract)
	}
	var emitted, limits int64
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.Decodes(r) {
			emitted += int64(in.Emitted(r))
			limits += int64(r.Limit())
		}
	}
	if limits > 0 {
		n := emitted + int64(in.Decoding())*int64(p.RetractDecodeSteps)
		p.setRatio(in, min(RatioOne, ratioOf(n, limits)))
		in.PolicyState[ratioStep]++ // the step at hand does not decay the ratio
	}
}

// short reports whether the free blocks do not last RetractDecodeSteps steps of all decodes.
func (p *SGLang) short(in *sim.Instance, w *sim.Work) bool {
	return w.FreeBlocks()*int64(in.Cache().BlockSize()) < int64(in.Decoding())*int64(p.RetractDecodeSteps)
}

// ratioOf returns n/limits in 1/RatioOne, rounded down, and RatioOne for more than 1.
func ratioOf(n, limits int64) int64 {
	high, low := bits.Mul64(uint64(n), RatioOne)
	if high >= uint64(limits) {
		return RatioOne
	}
	ratio, _ := bits.Div64(high, low, uint64(limits))
	return int64(min(ratio, RatioOne))
}

// victim returns the decoding sequence that has emitted the fewest tokens; of equals the one with the longest prompt,
// and of these the last admitted.
func (p *SGLang) victim(in *sim.Instance) (worst *sim.Request) {
	fewest := int32(0)
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if !in.Decodes(r) {
			continue
		}
		n := in.Emitted(r)
		if worst == nil || n < fewest || n == fewest && r.Prompt > worst.Prompt {
			worst, fewest = r, n
		}
	}
	return worst
}
