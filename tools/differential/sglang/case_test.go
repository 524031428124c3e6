package sglang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// testCase is what both sides are given.
type testCase struct {
	Kind               string      `json:"kind"`
	Overlap            bool        `json:"overlap"`
	Radix              bool        `json:"radix"`
	Mixed              bool        `json:"mixed"`
	Policy             string      `json:"policy"`
	RetractionPolicy   string      `json:"retraction_policy"`
	Conservativeness   float64     `json:"conservativeness"`
	IgnoreEOS          bool        `json:"ignore_eos"`
	PageSize           int32       `json:"page_size"`
	NumPages           int64       `json:"num_pages"`
	Context            int32       `json:"context"`
	MaxRunningRequests int         `json:"max_running_requests"`
	Ranks              int         `json:"ranks"`                // data-parallel, in lock step
	PreemptionMargin   *int32      `json:"preemption_threshold"` // nil: no request takes the place of another
	MaxPrefillTokens   int32       `json:"max_prefill_tokens"`
	ChunkedPrefillSize int32       `json:"chunked_prefill_size"`
	StepNS             int64       `json:"step_ns"`
	TokenNS            int64       `json:"token_ns"`
	Contents           [][2]int32  `json:"contents"`
	Requests           []query     `json:"requests"`
	Decode             *decodeSide `json:"pd"` // nil: the engine computes prompts itself
}

type query struct {
	ID        int32 `json:"id"`
	Arrival   int64 `json:"arrival"`
	Prompt    int32 `json:"prompt"`
	Output    int32 `json:"output"`
	MaxOutput int32 `json:"max_output"`
	Content   int32 `json:"content"`
	Priority  int8  `json:"priority"`
}

// step is one step as it is composed: of each member its ID, tokens, and tokens computed before.
type step struct {
	T         int64      `json:"t"`
	Batch     [][3]int32 `json:"batch"`
	Preempted []int32    `json:"preempted"`
	Free      int64      `json:"free"` // tokens of the cache that no request has
}

// linear prices a step by its tokens.
type linear struct{ step, token sim.Duration }

func (l linear) Price(ranks []sim.Shape, g *sim.Segment) {
	most := int64(0)
	for i := range ranks {
		most = max(most, ranks[i].DecodeTokens+ranks[i].PrefillTokens)
	}
	*g = sim.Segment{First: l.step + l.token*sim.Duration(most), Steps: 1 << 30}
	g.Part[sim.Overhead] = sim.Affine{A: g.First}
}

// requests is a source of the requests of a case.
type requests struct {
	list []query
}

func (s *requests) Next(r *sim.Request) bool {
	if len(s.list) == 0 {
		return false
	}
	q := s.list[0]
	s.list = s.list[1:]
	*r = sim.Request{ID: q.ID, Arrival: sim.Time(q.Arrival * 1000), Prompt: q.Prompt, Output: q.Output, Content: q.Content,
		MaxOutput: q.MaxOutput, Priority: q.Priority}
	return true
}

// scheduler returns the policy of a case, with the defaults of SGLang's environment.
func (c *testCase) scheduler() *schedulers.SGLang {
	const decaySteps, minFactor = 600, 0.14
	first := min(0.7*c.Conservativeness, 1)
	least := first * minFactor
	policy := &schedulers.SGLang{
		MaxRunningRequests: c.MaxRunningRequests, MaxPrefillTokens: c.MaxPrefillTokens,
		ChunkedPrefillSize: c.ChunkedPrefillSize, EnableMixedChunk: c.Mixed,
		InitNewTokenRatio: schedulers.Ratio(first), MinNewTokenRatio: schedulers.Ratio(least),
		NewTokenRatioDecay: schedulers.Ratio((first - least) / decaySteps),
		ClipMaxNewTokens:   4096, RetractDecodeSteps: 20, IgnoreEOS: c.IgnoreEOS,
		Order: schedulers.CacheOrderNamed(c.Policy), ByPriority: c.RetractionPolicy == "priority",
	}
	if c.PreemptionMargin != nil {
		policy.Preemption, policy.PreemptionMargin = true, *c.PreemptionMargin
	}
	return policy
}

// run simulates a case; step by step, and watched, or in segments of as many steps as possible.
func (c *testCase) run(t *testing.T, stepwise bool) *sink {
	policy := c.scheduler()
	require.NoError(t, policy.Validate())
	pool := &sim.PoolSpec{
		Name: "p", Size: 1, KVBlocks: c.NumPages, BlockSize: c.PageSize, MaxModelLen: c.Context,
		PrefixCaching: c.Radix, RadixCache: c.Radix,
		AsyncScheduling: c.Overlap, Scheduler: policy, Router: &routers.RoundRobin{},
		Model: linear{sim.Duration(c.StepNS * 1000), sim.Duration(c.TokenNS * 1000)},
	}
	if c.Policy == "priority" {
		pool.Order = schedulers.Priority{}
	}
	if c.Overlap {
		pool.BatchQueue = 2
	}
	if c.Ranks > 1 {
		pool.Ranks, pool.Balancer = c.Ranks, func() sim.Router { return &routers.RoundRobin{} }
	}
	tree := &sim.Contents{}
	for _, n := range c.Contents {
		tree.Add(n[0], n[1])
	}
	s := newSink()
	cfg := sim.Config{Source: &requests{c.Requests}, Sink: s, Pools: []*sim.PoolSpec{pool}, Contents: tree,
		TraceEvery: 1}
	if c.Decode != nil {
		c.Decode.behind(&cfg, c)
	}
	if stepwise {
		s.watched = &watched{policy, map[int32]*composed{}}
		pool.Scheduler, cfg.MaxRun = s.watched, 1
	}
	cluster, err := sim.New(cfg)
	require.NoError(t, err)
	cluster.Run()
	return s
}
