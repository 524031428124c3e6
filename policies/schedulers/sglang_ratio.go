package schedulers

import (
	"math"
	"math/bits"

	"github.com/decodesim/decodesim/sim"
)

// RatioOne is a new-token ratio of 1. A fraction of a token decides which request is admitted, and the ratio falls
// hundreds of times: with 1e-15 no error of rounding reaches a token.
const RatioOne = 1_000_000_000_000_000

// Ratio returns x, from 0 to 1, in 1/RatioOne.
func Ratio(x float64) int64 { return int64(math.Round(x * RatioOne)) }

// remaining returns the tokens that running requests may emit yet.
func (p *SGLang) remaining(in *sim.Instance) int64 {
	remaining := in.RemainingTokens(p.ClipMaxNewTokens)
	for i := range in.Prefilling() {
		if r := in.Prefill(i); completes(in, r) {
			remaining += int64(min(r.Limit()-r.Emitted, p.ClipMaxNewTokens))
		}
	}
	return remaining
}

// reserve returns the tokens of the cache that are kept for requests that may emit so many yet: the whole ones, and
// whether there is a fraction of one more.
func (p *SGLang) reserve(in *sim.Instance, remaining int64) (whole int64, fraction bool) {
	if p.IgnoreEOS || remaining <= 0 {
		return max(0, remaining), false
	}
	high, low := bits.Mul64(uint64(p.ratio(in)), uint64(remaining))
	tokens, rest := bits.Div64(high, low, RatioOne)
	return int64(tokens), rest > 0
}

// What SGLang keeps in an instance's PolicyState.
const (
	ratioSet   = iota // the new-token ratio as it was last set, plus 1; 0: never
	ratioStep         // the decode step in which it was set
	fullSince         // departures, plus 1, when an attempt to admit a request failed for want of room
	refreshes         // attempts to admit requests so far, in an order that the prefix cache has no part in
	aheadState        // what Retract has done of the step that is composed next, see notAhead
)

// ratio returns the new-token ratio of an instance, which falls by NewTokenRatioDecay with every decode step.
func (p *SGLang) ratio(in *sim.Instance) int64 {
	r := p.InitNewTokenRatio
	if set := in.PolicyState[ratioSet]; set > 0 {
		r = set - 1
	}
	steps := in.DecodeSteps() - in.PolicyState[ratioStep]
	if steps <= 0 {
		return r // after a retraction it may be below the minimum
	}
	if p.NewTokenRatioDecay > 0 && steps > RatioOne/p.NewTokenRatioDecay {
		return p.MinNewTokenRatio
	}
	return max(p.MinNewTokenRatio, r-p.NewTokenRatioDecay*steps)
}

func (p *SGLang) setRatio(in *sim.Instance, r int64) {
	in.PolicyState[ratioSet], in.PolicyState[ratioStep] = r+1, in.DecodeSteps()
}

// retract frees blocks for the sequences that decode, and sets the new-token ratio to what they need now:
//
//	ratio = (Σ emitted + decodes · RetractDecodeSteps) / (Σ limits + 1)
func (p *SGLang) retract(in *sim.Instance, w *sim.Work) {
	perDecode := int64(p.RetractDecodeSteps)
	for in.Decoding() > 1 && w.FreeBlocks() < 0 {
		w.EvictFor(demand(in, w))
		w.Preempt(p.victim(in, computes), sim.Retract)
		page := int64(in.Cache().BlockSize())
		w.EvictFor((int64(in.Decoding())*perDecode + page - 1) / page)
	}
	if w.FreeBlocks() < 0 && in.Prefilling() > 0 {
		w.Preempt(in.Prefill(0), sim.Retract)
	}
	if w.FreeBlocks() < 0 { // the other blocks are those of pending transfers
		w.Preempt(p.victim(in, computes), sim.Retract)
	}
	p.estimate(in, computes)
	in.PolicyState[ratioStep]++ // the step at hand does not decay the ratio
}

// estimate sets the new-token ratio to what the requests of a batch need.
func (p *SGLang) estimate(in *sim.Instance, member func(*sim.Instance, *sim.Request) bool) {
	n, limits := int64(0), int64(1)
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if member(in, r) {
			n += int64(p.RetractDecodeSteps) + int64(in.Emitted(r)-in.Unknown(r))
			limits += int64(r.Limit())
		}
	}
	p.setRatio(in, ratioOf(n, limits))
}

// computes reports whether r, which runs, computes a token in a step of decodes.
func computes(in *sim.Instance, r *sim.Request) bool { return !in.Prefills(r) && in.Wants(r) > 0 }

// demand returns the blocks that the step takes.
func demand(in *sim.Instance, w *sim.Work) int64 { return in.Cache().Free() - w.FreeBlocks() }

// ratioOf returns n/limits in 1/RatioOne, rounded down, and RatioOne for more than 1.
func ratioOf(n, limits int64) int64 {
	high, low := bits.Mul64(uint64(n), RatioOne)
	if high >= uint64(limits) {
		return RatioOne
	}
	ratio, _ := bits.Div64(high, low, uint64(limits))
	return int64(min(ratio, RatioOne))
}

// victim returns the sequence of a batch that has emitted the fewest tokens; of equals the one with the longest prompt,
// and of these the last of the batch. By priority only the sequences with the lowest one count.
func (p *SGLang) victim(in *sim.Instance, member func(*sim.Instance, *sim.Request) bool) (worst *sim.Request) {
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if member(in, r) && (worst == nil || p.retractedBefore(in, r, worst)) {
			worst = r
		}
	}
	for i := 0; in.Accepted(i) != nil; i++ {
		if r := in.Accepted(i); worst == nil || p.retractedBefore(in, r, worst) {
			worst = r
		}
	}
	return worst
}

// retractedBefore reports whether a is retracted rather than b.
func (p *SGLang) retractedBefore(in *sim.Instance, a, b *sim.Request) bool {
	if p.ByPriority && a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	x, y := in.Emitted(a)-in.Unknown(a), in.Emitted(b)-in.Unknown(b)
	return x < y || x == y && (a.Prompt > b.Prompt || a.Prompt == b.Prompt && !in.PlacedBefore(a, b))
}
