package schedulers

import (
	"math/bits"

	"github.com/decodesim/decodesim/sim"
)

// ratio returns the new-token ratio of an instance.
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

// retract makes room for the sequences that decode, and learns from it what to expect of them.
func (p *SGLang) retract(in *sim.Instance, w *sim.Work) {
	size := int64(in.Cache().BlockSize())
	for first := true; in.Decoding() > 1 && (first || w.FreeBlocks()*size < int64(in.Decoding())*int64(p.RetractDecodeSteps)); first = false {
		w.Preempt(p.victim(in), sim.Retract)
	}
	if w.FreeBlocks() < 0 && in.Prefilling() > 0 {
		w.Preempt(in.Prefill(0), sim.Retract)
	}
	if w.FreeBlocks() < 0 { // the rest of the cache is of requests that are handed over
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
		in.PolicyState[ratioStep]++ // the step at hand decays nothing
	}
}

// ratioOf returns n/limits in 1e-9, rounded down.
func ratioOf(n, limits int64) int64 {
	high, low := bits.Mul64(uint64(n), RatioOne)
	if high >= uint64(limits) {
		return RatioOne // far beyond it
	}
	ratio, _ := bits.Div64(high, low, uint64(limits))
	return int64(min(ratio, RatioOne))
}
