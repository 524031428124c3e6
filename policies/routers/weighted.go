package routers

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

var (
	_ sim.Router = (*KVAware)(nil)
	_ sim.Router = (*Weighted)(nil)
)

// Weights say how much each quantity counts for a router that weighs several. They are not negative.
type Weights struct {
	Queue  float64 // requests, waiting or running
	Tokens float64 // Σ prompt tokens of these requests
	KV     float64 // allocated share of the KV cache
	Prefix float64 // prompt tokens that are not in the prefix cache
}

// EqualWeights are ones.
func EqualWeights() Weights { return Weights{1, 1, 1, 1} }

// weightUnit is a weight of 1: weights are integers, so that no decision rests on a float.
const weightUnit = 1 << 10

// weightMax keeps a weight times the tokens of an instance's requests within 63 bits.
const weightMax = 1 << 10

// integerWeights are Weights in 1/weightUnit.
type integerWeights struct{ queue, tokens, kv, prefix int64 }

// integers returns the weights as integers, or an error that names the first weight out of range.
func (w Weights) integers() (integerWeights, error) {
	var all [4]int64
	for i, one := range []struct {
		name string
		x    float64
	}{{"queue", w.Queue}, {"tokens", w.Tokens}, {"kv", w.KV}, {"prefix", w.Prefix}} {
		if !(one.x >= 0) || one.x > weightMax {
			return integerWeights{}, fmt.Errorf("policies: routing weight %s is %g, must be from 0 to %d",
				one.name, one.x, weightMax)
		}
		all[i] = int64(math.Round(one.x * weightUnit))
	}
	return integerWeights{all[0], all[1], all[2], all[3]}, nil
}

// KVAware routes to the instance of the least cost, the first of equals, as Dynamo's KV router does:
//
//	cost = Prefix · (prompt tokens that are not in its prefix cache) + Tokens · (Σ prompt tokens of its requests)
//
// The contents of prefix caches are known as they are now, as if cache events came without delay. Loads may be stale.
type KVAware struct {
	weight integerWeights
	known  view
}

// NewKVAware returns the router with these weights, of which it uses Prefix and Tokens.
func NewKVAware(w Weights, staleness sim.Duration) (*KVAware, error) {
	weight, err := w.integers()
	if err == nil && weight.tokens+weight.prefix == 0 {
		err = fmt.Errorf("policies: routing weights tokens and prefix are %g and %g, one must be above 0",
			w.Tokens, w.Prefix)
	}
	return &KVAware{weight, view{staleness: staleness}}, err
}

// Route implements sim.Router.
func (p *KVAware) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	best, lowest := 0, int64(math.MaxInt64)
	for i, load := range p.known.read(PromptTokens, now, pool) {
		cost := p.weight.prefix*int64(r.Prompt-cachedPrompt(pool.Instance(i), r)) + p.weight.tokens*load
		if cost < lowest {
			best, lowest = i, cost
		}
	}
	return p.known.send(PromptTokens, r, pool, best)
}

// Weighted routes to the instance with the least weighted sum of scores, the first of equals. Each score is a share:
// requests and tokens of the most that any instance has, allocated blocks of the KV cache, and prompt tokens that are
// not in the prefix cache of the prompt. Gateways combine scorers that each have a range of their own in the same way.
// The caches are known as they are now, requests and tokens may be stale.
type Weighted struct {
	weight            integerWeights
	requests, prompts view
}

// NewWeighted returns the router with these weights.
func NewWeighted(w Weights, staleness sim.Duration) (*Weighted, error) {
	weight, err := w.integers()
	if err == nil && weight == (integerWeights{}) {
		err = errors.New("policies: routing weights are all 0, one of queue, tokens, kv and prefix must be above")
	}
	return &Weighted{weight, view{staleness: staleness}, view{staleness: staleness}}, err
}

// scoreUnit is a score of 1: scores are integers.
const scoreUnit = 1 << 16

// share returns part/whole in 1/scoreUnit, and 0 for 0/0. It is exact for less than 2⁴⁶ tokens or blocks.
func share(part, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	return part * scoreUnit / whole
}

// Route implements sim.Router.
func (p *Weighted) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	requests, prompts := p.requests.read(Requests, now, pool), p.prompts.read(PromptTokens, now, pool)
	requestsMax, promptsMax := slices.Max(requests), slices.Max(prompts)
	best, lowest := 0, int64(math.MaxInt64)
	for i := range requests {
		in := pool.Instance(i)
		score := p.weight.queue*share(requests[i], requestsMax) + p.weight.tokens*share(prompts[i], promptsMax)
		if p.weight.kv > 0 {
			score += p.weight.kv * share(in.BlocksUsedAt(now), in.Cache().Total()*int64(in.Ranks()))
		}
		if p.weight.prefix > 0 {
			score += p.weight.prefix * share(int64(r.Prompt-cachedPrompt(in, r)), int64(r.Prompt))
		}
		if score < lowest {
			best, lowest = i, score
		}
	}
	p.requests.send(Requests, r, pool, best)
	return p.prompts.send(PromptTokens, r, pool, best)
}
