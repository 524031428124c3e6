package routers

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

var (
	_ sim.Router = (*KVAware)(nil)
	_ sim.Router = (*Weighted)(nil)
)

// Weights are what routers that weigh several things against each other give to each. They are not negative.
type Weights struct {
	Queue  float64 // requests queued or running
	Tokens float64 // Σ tokens of their prompts
	KV     float64 // share of the cache in use
	Prefix float64 // prompt tokens that the cache does not hold
}

// EqualWeights are ones.
func EqualWeights() Weights { return Weights{1, 1, 1, 1} }

// weightUnit is 1 as an integer weight: decisions rest on no float.
const weightUnit = 1 << 10

// weightMax keeps a weight times the tokens of an instance's requests within 63 bits.
const weightMax = 1 << 10

// integers returns the weights in 1/weightUnit, or says which makes no sense.
func (w Weights) integers() (queue, tokens, kv, prefix int64, err error) {
	round := func(name string, x float64) int64 {
		if err == nil && (!(x >= 0) || x > weightMax) {
			err = fmt.Errorf("policies: routing weight %s is %g, must be from 0 to %d", name, x, weightMax)
		}
		return int64(math.Round(x * weightUnit))
	}
	queue, tokens, kv, prefix = round("queue", w.Queue), round("tokens", w.Tokens), round("kv", w.KV), round("prefix", w.Prefix)
	return queue, tokens, kv, prefix, err
}

// KVAware routes to the least cost, the first of equals, as Dynamo's KV router does:
//
//	cost = Prefix · (prompt tokens that the instance's cache does not hold) + Tokens · (Σ prompt tokens of its requests)
//
// What its cache holds is what it holds now, as if its events came without delay; loads may be known late.
type KVAware struct {
	prefix, tokens int64
	known          view
}

// NewKVAware returns the router with these weights, of which it uses Prefix and Tokens.
func NewKVAware(w Weights, staleness sim.Duration) (*KVAware, error) {
	_, tokens, _, prefix, err := w.integers()
	if err == nil && tokens+prefix == 0 {
		err = fmt.Errorf("policies: routing weights tokens and prefix are %g and %g, one must be above 0", w.Tokens, w.Prefix)
	}
	return &KVAware{prefix, tokens, view{staleness: staleness}}, err
}

// Route implements sim.Router.
func (p *KVAware) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	best, lowest := 0, int64(math.MaxInt64)
	for i, load := range p.known.read(PromptTokens, now, pool) {
		cost := p.prefix*int64(r.Prompt-hit(pool.Instance(i), r)) + p.tokens*load
		if cost < lowest {
			best, lowest = i, cost
		}
	}
	return p.known.send(PromptTokens, r, pool, best)
}

// hit returns how many of r's prompt tokens the cache of in holds.
func hit(in *sim.Instance, r *sim.Request) int32 { return min(r.Prompt, in.CachedTokens(r)) }

// Weighted routes to the least weighted sum of scores, the first of equals. Requests and tokens score as shares of the most
// that any instance has, the cache as the share in use, the prefix as the share of the prompt that is not in the cache, as
// gateways combine scorers of their own range. KV and prefix are as they are now, requests and tokens may be known late.
type Weighted struct {
	queue, tokens, kv, prefix int64
	requests, prompts         view
}

// NewWeighted returns the router with these weights.
func NewWeighted(w Weights, staleness sim.Duration) (*Weighted, error) {
	p := &Weighted{requests: view{staleness: staleness}, prompts: view{staleness: staleness}}
	var err error
	p.queue, p.tokens, p.kv, p.prefix, err = w.integers()
	if err == nil && p.queue+p.tokens+p.kv+p.prefix == 0 {
		err = fmt.Errorf("policies: routing weights are all 0, one of queue, tokens, kv and prefix must be above")
	}
	return p, err
}

// scoreUnit is a score of 1: scores are integers.
const scoreUnit = 1 << 16

// share returns part of whole in 1/scoreUnit; nothing of nothing is nothing.
func share(part, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	return part * scoreUnit / whole // below 2⁴⁶ tokens or blocks
}

// Route implements sim.Router.
func (p *Weighted) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	requests, prompts := p.requests.read(Requests, now, pool), p.prompts.read(PromptTokens, now, pool)
	requestsMost, promptsMost := most(requests), most(prompts)
	best, lowest := 0, int64(math.MaxInt64)
	for i := range requests {
		in := pool.Instance(i)
		score := p.queue*share(requests[i], requestsMost) + p.tokens*share(prompts[i], promptsMost)
		if p.kv > 0 {
			score += p.kv * share(in.BlocksUsedAt(now), in.Cache().Total())
		}
		if p.prefix > 0 {
			score += p.prefix * share(int64(r.Prompt-hit(in, r)), int64(r.Prompt))
		}
		if score < lowest {
			best, lowest = i, score
		}
	}
	p.requests.send(Requests, r, pool, best)
	return p.prompts.send(PromptTokens, r, pool, best)
}

// most returns the largest load.
func most(loads []int64) int64 {
	n := loads[0]
	for _, m := range loads {
		n = max(n, m)
	}
	return n
}
