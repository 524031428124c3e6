package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// gapBreakdowns checks every gap that is reported by request, and sums what it is made of by cause.
type gapBreakdowns struct {
	breakdownSink
	by [sim.Restarted + 1]sim.Breakdown
}

func (s *gapBreakdowns) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	s.journal.Gap(in, r, t, c)
	var sum sim.Duration
	for p, d := range in.GapBreakdown(r, t, c) {
		require.GreaterOrEqual(s.t, d, sim.Duration(0), "%v of request %d", sim.Wait(p), r.ID)
		sum += d
		s.by[c][p] += d
	}
	require.Equal(s.t, t.Sub(r.Last), sum, "the parts of a gap sum to it")
}

// outages fails an instance in turn, every so often, and starts it again a little later.
type outages struct {
	every sim.Duration
	left  int
	retry bool
}

func (o *outages) Control(now sim.Time, c *sim.Cluster) sim.Time {
	if now == 0 {
		return now.Add(o.every)
	}
	p := c.Pool(o.left % c.Pools())
	o.left--
	if o.left < 0 {
		return sim.Forever
	}
	if p.Len() > 0 {
		c.Fail(p.Instance(o.left%p.Len()), o.retry)
		c.Start(p, 20*sim.Millisecond)
	}
	return now.Add(o.every)
}

// drawFleet draws a prefill pool that transfers KV to a decode pool: tight or not, pulled or pushed, and with failures.
func drawFleet(t *rapid.T, sink sim.Sink) sim.Config {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	model := drawModel(t, 0)
	var requests []sim.Request
	at := sim.Time(0)
	longest := one("longest", 20, 100, 300)
	for i := range int32(rapid.IntRange(1, 60).Draw(t, "requests")) {
		at = at.Add(sim.Duration(rapid.IntRange(0, 40).Draw(t, "pause_ms")) * sim.Millisecond)
		r := sim.Request{
			ID: i, Prompt: 1 + i*37%longest, Output: 1 + i*61%longest, Traced: true, Arrival: at,
		}
		if i%7 == 3 {
			r.Deadline = at.Add(300 * sim.Millisecond)
		}
		requests = append(requests, r)
	}
	pool := func(name string, maxNumSeqs int32) *sim.PoolSpec {
		scheduler, chunks := drawFleetPolicy(t, name, int(maxNumSeqs))
		return &sim.PoolSpec{
			Name: name, Size: int(one(name, 1, 1, 2, 3)), BlockSize: 16, KVBlocks: int64(one(name+" blocks", 40, 60, 4000)),
			MaxModelLen: 600,
			MaxNumSeqs:  int(maxNumSeqs), AsyncScheduling: rapid.Bool().Draw(t, name+" ahead"), RecomputeLastToken: chunks &&
				rapid.Bool().Draw(t, name+" recompute"),
			Model: model, Router: routers.LeastLoaded{}, Scheduler: scheduler,
		}
	}
	maxNumSeqs := one("max_num_seqs", 1, 3, 100)
	stage := sim.Stage{
		Tokens: one("tokens", 0, 1), Cache: true, Push: rapid.Bool().Draw(t, "push"),
		Link: sim.Link{Latency: sim.Duration(one("latency_us", 0, 5, 3000)) * sim.Microsecond,
			Fixed: sim.Duration(one("fixed_us", 0, 70)) * sim.Microsecond,
			Token: sim.Duration(one("token_us", 0, 1, 400)) * sim.Microsecond, Layers: one("layers", 1, 32)},
	}
	c := sim.Config{
		Source: &open{requests: requests}, Sink: sink,
		Pools:  []*sim.PoolSpec{pool("prefill", maxNumSeqs), pool("decode", maxNumSeqs)},
		Routes: []sim.Route{{stage, {Pool: 1}}},
	}
	if rapid.Bool().Draw(t, "failures") {
		c.Controller = &outages{sim.Duration(one("every_ms", 7, 100, 500)) * sim.Millisecond, int(one("failures", 1, 5, 20)),
			true}
	}
	return c
}

// drawFleetPolicy draws a scheduler, and says whether it goes on with a prompt of which a part has been computed.
func drawFleetPolicy(t *rapid.T, name string, maxNumSeqs int) (s sim.Scheduler, chunks bool) {
	if rapid.Bool().Draw(t, name+" prefill first") {
		return &schedulers.PrefillFirst{MaxNumSeqs: maxNumSeqs, MaxNumBatchedTokens: 700}, false
	}
	return &schedulers.Continuous{MaxNumSeqs: maxNumSeqs, MaxNumBatchedTokens: 128}, true
}

// TestGapsOfAFleetAreTheSumOfTheirParts: also across a KV transfer and a failure, whatever waits for what.
func TestGapsOfAFleetAreTheSumOfTheirParts(t *testing.T) {
	t.Parallel()
	var seen [sim.Restarted + 1]sim.Breakdown
	drawn := 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		s := &gapBreakdowns{breakdownSink: breakdownSink{journal: newJournal(), t: t}}
		s.Attribution = new(metrics.Attribution)
		run(t, drawFleet(t, s))
		if gaps := s.Attribution.Gaps(); s.ITL.N() > 0 {
			require.InEpsilon(t, s.ITL.MeanS(), gaps[0].GapS, 1e-9, "all gaps are there")
		}
		for c := range seen {
			for p := range seen[c] {
				seen[c][p] += s.by[c][p]
			}
		}
	})
	cover, least := map[string]int{}, map[string]int{}
	for what, d := range map[string]sim.Duration{
		"transfers": seen[sim.Transferred][sim.Transferring], "waits for them": seen[sim.Transferred][sim.Queueing],
		"waits after a failure": seen[sim.Restarted][sim.Queueing],
		"recomputation":         seen[sim.Restarted][sim.Recomputing],
		"tokens that are withheld until their cache has come": seen[sim.Restarted][sim.Transferring],
	} {
		cover[what], least[what] = min(1, int(d)), 1
	}
	wantCovered(t, drawn, cover, least)
}

// TestAKVTransferIsAttributed: one request alone, by hand.
func TestAKVTransferIsAttributed(t *testing.T) {
	pool := func(name string) *sim.PoolSpec {
		return &sim.PoolSpec{
			Name: name, Size: 1, BlockSize: 16, KVBlocks: 100, MaxModelLen: 100, MaxNumSeqs: 1, Router: routers.LeastLoaded{},
			Model:     prices{overhead: 5 * sim.Millisecond},
			Scheduler: &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 100},
		}
	}
	for _, push := range []bool{false, true} {
		s := &gapBreakdowns{breakdownSink: breakdownSink{journal: newJournal(), t: t}}
		two := []sim.Request{{ID: 0, Prompt: 10, Output: 3}, {ID: 1, Prompt: 10, Output: 3}}
		run(t, sim.Config{
			Source: &open{requests: two}, Sink: s, Pools: []*sim.PoolSpec{pool("prefill"), pool("decode")},
			Routes: []sim.Route{{{Tokens: 1, Cache: true, Push: push,
				Link: sim.Link{Latency: sim.Millisecond, Fixed: 2 * sim.Millisecond, Layers: 2}}, {Pool: 1}}},
		})
		got := s.by[sim.Transferred]
		if push { // the second begins when the first has ended: both send half of it while they prefill
			require.Equal(t, 2*sim.Millisecond, got[sim.Transferring])
			require.Zero(t, got[sim.Queueing])
			// the second waits 8 ms to be admitted: the first leaves after 1 + 2 + 2·5 ms, and it was prefilled 5 ms after that
		} else {
			require.Equal(t, 6*sim.Millisecond, got[sim.Transferring])
			require.Equal(t, 8*sim.Millisecond, got[sim.Queueing])
		}
		require.Equal(t, 10*sim.Millisecond, got[sim.Overhead], "and then a step")
	}
}
