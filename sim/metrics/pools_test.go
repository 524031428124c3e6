package metrics_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// even prices every step at 10 ms.
type even struct{}

func (even) Price(_ []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: 10 * sim.Millisecond, Steps: 1 << 20}
	g.Part[sim.Weights].A, g.Bound.A = g.First, g.First
}

const failsAt = sim.Time(6 * sim.Second / 5)

// halfway fails the second replica at 1.2 s and starts it again at 3 s.
type halfway struct{ retry bool }

func (h halfway) Control(now sim.Time, c *sim.Cluster) sim.Time {
	switch now {
	case 0:
		return failsAt
	case failsAt:
		c.Fail(c.Pool(0).Instance(1), h.retry)
		return sim.Time(3 * sim.Second)
	}
	c.Start(c.Pool(0), 0)
	return sim.Forever
}

// few admits those with an even ID.
type few struct{}

func (few) Admit(_ sim.Time, r *sim.Request, _ *sim.Cluster) bool { return r.ID%2 == 0 }

// beat sends a request of 100 tokens at once, and then one every half a second.
type beat struct{ n int32 }

func (b *beat) Next(r *sim.Request) bool {
	if b.n == 20 {
		return false
	}
	*r = sim.Request{ID: b.n, Prompt: 10, Output: 100, Arrival: sim.Time(b.n) * sim.Time(sim.Second) / 2}
	b.n++
	return true
}

// TestAFleetThatChangesIsPaidByTheHour: a replica that was down for 1.8 s costs that much less, and requests that are
// rejected or restarted are counted.
func TestAFleetThatChangesIsPaidByTheHour(t *testing.T) {
	describe := metrics.Description{
		GPUs: 4, USDPerHour: 8, Pools: []metrics.PoolDescription{{Role: "serve", GPU: "toy", GPUs: 2, USDPerHour: 4}},
	}
	simulated := func(changes, retry bool) (*metrics.Summary, *sim.Cluster, []metrics.Sample) {
		f, line := &metrics.Full{}, metrics.NewTimeline(0)
		config := sim.Config{
			Source: new(beat), Sink: f, Observe: line.Observe, Pools: []*sim.PoolSpec{{
				Name: "serve", Size: 2, BlockSize: 16, KVBlocks: 100, MaxModelLen: 200, Model: even{},
				Router: new(routers.RoundRobin), Scheduler: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64},
			}},
		}
		if changes {
			config.Controller, config.Admission = halfway{retry}, few{}
		}
		c, err := sim.New(config)
		require.NoError(t, err)
		f.Watch(c)
		c.Run()
		return f.Summary(describe), c, line.Samples(c)
	}
	still, _, _ := simulated(false, false)
	assert.InEpsilon(t, 8, still.Cost.USDPerHour, 1e-12)
	assert.Zero(t, still.Pools[0].ReplicasMean)
	assert.Nil(t, still.Transfers)
	s, c, samples := simulated(true, true)
	now := c.Now().Seconds()
	assert.InEpsilon(t, 2-1.8/now, s.Pools[0].ReplicasMean, 1e-9)
	assert.InEpsilon(t, 2*(2-1.8/now), s.Pools[0].GPUsMean, 1e-9)
	assert.InEpsilon(t, c.PoolTotals(0).BusyS/(2*now-1.8), s.Pools[0].Utilization, 1e-9)
	assert.InEpsilon(t, 4*(2-1.8/now), s.Cost.USDPerHour, 1e-9)
	assert.InEpsilon(t, s.Throughput.OutputTokensPerS/(2*(2-1.8/now)), s.Throughput.OutputTokensPerSPerGPU, 1e-9)
	assert.Equal(t, 2, s.Pools[0].Replicas)
	assert.Equal(t, 4, s.Pools[0].GPUs)
	assert.Positive(t, s.Requests.Restarted)
	s.Requests.Restarted = 0
	assert.Equal(t, metrics.Requests{Arrived: 20, Completed: 10, Rejected: 10, NotAdmitted: 10}, s.Requests)
	assert.Equal(t, "10 of 20 requests were not admitted", s.Warnings[0])
	s, _, _ = simulated(true, false)
	assert.Positive(t, s.Requests.Failed, "they do not begin again")
	assert.Contains(t, strings.Join(s.Warnings, "; "), " failed, for their clients disconnected, or their replica failed")
	live := map[int]bool{}
	for _, m := range samples {
		live[m.Pools[0].Live] = true
	}
	assert.Equal(t, map[int]bool{1: true, 2: true}, live)
}

// TestAPoolSaysWhatItsStepsDid: with three drafts that are all accepted, four tokens come with each of 12 steps, and
// the last of 50 with one more, whose drafts come too late; without drafts nothing is said of them. Two ranks share
// requests.
func TestAPoolSaysWhatItsStepsDid(t *testing.T) {
	_, s, _ := run(t)
	assert.Nil(t, s.Pools[0].Speculation)
	assert.Nil(t, s.Pools[0].Ranks)
	_, s, _ = run(t, "speculation={method: ngram, num_speculative_tokens: 3, acceptance: {rate: 1}}")
	assert.Equal(t, &metrics.Speculation{Drafted: 200 * 13 * 3, Accepted: 200 * 12 * 3, AcceptLength: 49.0 / 13},
		s.Pools[0].Speculation)
	_, s, _ = run(t, "model=mixtral-8x7b", "pools.serve.tensor_parallel=2", "pools.serve.data_parallel=2")
	ranks := s.Pools[0].Ranks
	require.NotNil(t, ranks)
	assert.Equal(t, 2, ranks.N)
	assert.Greater(t, ranks.BusiestTokens, 1.0)
	assert.LessOrEqual(t, ranks.BusiestTokens, 2.0)
	assert.Greater(t, ranks.EmptyShare, 0.0)
	assert.Less(t, ranks.EmptyShare, 1.0)
	assert.GreaterOrEqual(t, ranks.BatchMax, s.Pools[0].BatchMean/2)
}

// longer prices a step at 10 ms, and at 20 ms more with prompts.
type longer struct{ even }

func (m longer) Price(ranks []sim.Shape, g *sim.Segment) {
	m.even.Price(ranks, g)
	if ranks[0].Prefills > 0 {
		g.First += 20 * sim.Millisecond
		g.Part[sim.Weights].A, g.Steps = g.First, 1
	}
}

// TestARentIsDividedByWhatStepsTook: 30 ms of each step that has prompts alone, and 20 ms of one with decodes too, are
// for prompts; the other 10 ms of that, and of each of the others, are for outputs.
func TestARentIsDividedByWhatStepsTook(t *testing.T) {
	f := &metrics.Full{}
	c, err := sim.New(sim.Config{Source: new(beat), Sink: f, Pools: []*sim.PoolSpec{{
		Name: "serve", Size: 1, BlockSize: 16, KVBlocks: 100, MaxModelLen: 200, Model: longer{},
		Router: new(routers.RoundRobin), Scheduler: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64},
	}}})
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	p := c.PoolTotals(0).Phases
	mixed, only := float64(p.MixedSteps), float64(p.PrefillSteps-p.MixedSteps)
	require.Positive(t, mixed)
	require.Positive(t, only)
	decodes := float64(c.PoolTotals(0).Steps) - mixed - only
	describe := metrics.Description{Pools: []metrics.PoolDescription{{GPUs: 2}}}
	for _, usd := range []float64{0.5, 7} {
		split := metrics.SplitOf(c, &describe, usd)
		require.NotNil(t, split)
		assert.InEpsilon(t, (20*mixed+30*only)/(30*mixed+30*only+10*decodes), split.InputShare, 1e-9)
		rent := usd / 3600 * c.Now().Seconds()
		assert.InEpsilon(t, rent*split.InputShare, split.USDPerMillionInputTokens*20*10/1e6, 1e-9)
		assert.InEpsilon(t, rent*(1-split.InputShare), split.USDPerMillionOutputTokens*20*100/1e6, 1e-9)
	}
	assert.Nil(t, metrics.SplitOf(c, &describe, 0))
	assert.Nil(t, f.Summary(describe).Cost, "nothing has a price")
	describe.RejectedFor = "longer than what is for it"
	assert.NotContains(t, strings.Join(f.Summary(describe).Warnings, "; "), "longer", "none was rejected")
	assert.Nil(t, f.Summary(describe).Pools[0].PrefixHitRate, "nothing is cached")
	describe.USDPerHour, describe.Pools[0].USDPerHour = 0.5, 0.5
	assert.InEpsilon(t, 0.5, f.Summary(describe).Cost.USDPerHour, 1e-9, "less than a dollar")
}
