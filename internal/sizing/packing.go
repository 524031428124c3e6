package sizing

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// packing is the least time that a replica needs for work, if its GPUs are at the peaks of their data sheet at all
// times and nothing ever waits: the roofline limit. No step takes less than its bytes over the bandwidth, nor less than
// its FLOPs over their peak; so neither does a sum of steps, however prompts and decodes are mixed in them:
//
//	compute  Σ over prompts  (tokens·f_t + pairs·f_p + f_o)  +  Σ over decode steps of sequences  (f_d + context·f_c)
//	memory   max(N/B·M(B), S_kv·M(1)) + Σ context·k
//
// with N decode steps of sequences, at most B of them in one step, M(B) the bytes that do not depend on contexts, and
// S_kv = Σ context / cache tokens, for no step has more context than the cache holds. A drafted step may emit 1 +
// drafts tokens. Layers with a window count as if it held one token, and what a prefix cache had needs no prefill: both
// make the bound looser, never wrong.
type packing struct {
	promptTokenS, pairS, promptS float64 // f_t, f_p, f_o
	decodeS, contextS            float64 // f_d, f_c
	stepS, stepOfOneS, cacheS    float64 // M(B)/B, M(1), k
	cacheTokens                  float64
	steps                        float64 // 1 + drafts
	shares                       bool    // prompts may find some of their cache, and contexts share blocks
}

// newPacking derives the terms from the prices of single steps.
func newPacking(m *hardware.Roofline, p *configs.Pool, pool *sim.PoolSpec, drafts int) packing {
	d := m.Deployment()
	shares := d.Parallel.Ranks() * d.Parallel.Pipeline
	sequences := max(1, p.SequencesMax())
	cacheTokens := pool.KVBlocks * int64(max(1, pool.Ranks)) * int64(pool.BlockSize)
	if limit := cacheTokens; int64(sequences) > limit {
		sequences = int(limit)
	}
	sequences = (sequences + shares - 1) / shares * shares
	k := packing{
		cacheTokens: float64(cacheTokens), steps: 1 + float64(drafts),
	}
	// Contexts at which every window holds one token: those of chunks start over, those that slide are full at both.
	near, far := 1, 1
	for _, w := range d.Windows() {
		far *= int(w.Tokens)
	}
	near, far = far+1, 2*far+1
	nearCosts, farCosts := costsOf(m, shares, near), costsOf(m, shares, far)
	per := float64(shares) * float64(far-near)
	k.cacheS, k.contextS = (farCosts.memoryS-nearCosts.memoryS)/per, (farCosts.computeS-nearCosts.computeS)/per
	flat := func(batch int) costs {
		c := costsOf(m, batch, 1)
		c.memoryS -= float64(float64(batch) * k.cacheS)
		c.computeS -= float64(float64(batch) * k.contextS)
		return c
	}
	k.decodeS = flat(shares).computeS / float64(shares)
	k.stepS, k.stepOfOneS = flat(sequences).memoryS/float64(sequences), flat(1).memoryS
	k.prompts(m, int64(d.Parallel.Ranks()))
	return k
}

// prompts derives what prompts compute from steps with so many of their tokens that arithmetic decides.
func (k *packing) prompts(m *hardware.Roofline, ranks int64) {
	const tokens = 1 << 22
	at := func(tokens, pairs, outputs int64) float64 {
		var g sim.Segment
		m.Price([]sim.Shape{{Prefills: int(ranks), PrefillTokens: tokens, PrefillPairs: pairs, Outputs: int(outputs)}}, &g)
		if !g.ComputeBound {
			return 0
		}
		return g.Bound.A.Seconds()
	}
	one := at(tokens, 0, 0)
	if one == 0 {
		return // no arithmetic that matters
	}
	k.promptTokenS = max(0, at(2*tokens, 0, 0)-one) / tokens
	k.pairS = max(0, at(tokens, tokens, 0)-one) / tokens
	k.promptS = max(0, at(tokens, 0, tokens)-one) / tokens
}

// costs is the least time of a step, by what takes it.
type costs struct{ memoryS, computeS float64 }

func costsOf(m *hardware.Roofline, batch, context int) costs {
	var c costs
	for _, p := range m.Parts(batch, context) {
		c.memoryS += p.MemoryPeakS
		c.computeS += p.ComputePeakS
	}
	return c
}

// work is what requests asked for, in sums.
type work struct {
	Requests, Prompts   int64 // that ended, and of the ones with a token
	PromptTokens, Pairs int64 // without what a cache held
	Decodes, Contexts   int64 // tokens after the first ones, and Σ of the tokens that they attended to
}

// add counts a request that has ended.
func (w *work) add(r *sim.Request) {
	w.Requests++
	if r.Emitted == 0 {
		return
	}
	t, c, n := int64(r.Prompt-r.Cached), int64(r.Cached), int64(r.Emitted-1)
	w.Prompts++
	w.PromptTokens += t
	w.Pairs += t*c + t*(t+1)/2
	w.Decodes += n
	w.Contexts += n*int64(r.Prompt) + n*(n+1)/2
}

// prefillS is the least time for the prompts of w.
func (k *packing) prefillS(w *work) float64 {
	return float64(float64(w.PromptTokens)*k.promptTokenS) + float64(float64(w.Pairs)*k.pairS) +
		float64(float64(w.Prompts)*k.promptS)
}

// decodeBoundS returns the least times for the decodes of w.
func (k *packing) decodeBoundS(w *work) (memoryS, computeS float64) {
	n, contexts := float64(w.Decodes), float64(w.Contexts)
	memoryS = n * k.stepS
	if !k.shares {
		memoryS = max(memoryS, (contexts-n)/k.cacheTokens*k.stepOfOneS)
	}
	return (memoryS + float64(contexts*k.cacheS)) / k.steps, float64(n*k.decodeS) + float64(contexts*k.contextS)
}

// perfect returns the requests/s that a deployment of s sustains under the roofline limit of requests like those of w,
// its own or another's, whose cache may have had less; and which of its pools would be full then.
func (s *shape) perfect(w *work, replicas []int, own bool) (perS float64, narrow string) {
	n := float64(w.Requests)
	if n == 0 {
		return 0, ""
	}
	first, last := &s.packing[0], &s.packing[len(s.packing)-1]
	memoryS, computeS := last.decodeBoundS(w)
	prompts := first.prefillS(w)
	if first.shares && !own {
		prompts = 0
	}
	if s.topology == configs.Colocated {
		return float64(replicas[0]) * n / max(memoryS, computeS+prompts), "serve"
	}
	prefill, decode := float64(replicas[0])*n/prompts, float64(replicas[1])*n/max(memoryS, computeS)
	if prefill < decode {
		return prefill, "prefill"
	}
	return decode, "decode"
}

// poolLimits returns the requests/s that one replica of the prefill pool and one of the decode pool sustain under the
// roofline limit, beside plenty of the other; own as perfect has it.
func (s *shape) poolLimits(w *work, own bool) [2]float64 {
	const plenty = 1 << 30
	prefill, _ := s.perfect(w, []int{1, plenty}, own)
	decode, _ := s.perfect(w, []int{plenty, 1}, own)
	return [2]float64{prefill, decode}
}
