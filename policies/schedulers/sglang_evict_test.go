package schedulers_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// hits is a sink that keeps what the cache had of each request.
type hits struct {
	*testcluster.Log
	cached map[int32]int32
}

// Done implements sim.Sink.
func (h *hits) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	h.cached[r.ID] = r.Cached
	h.Log.Done(r, at, o)
}

// TestPrefixesOfWaitingRequestsAreEvictedLast, that of the first in the queue after all others. Of 24 pages of 4 tokens
// a tree has 4 for each of three prompts, the first two of which no request has had since; at the 32nd attempt after
// the first to admit a request, two wait that begin with them, behind a long output that takes page by page. At any
// other attempt only the first of them is asked about, and what the second would find goes before what is newer.
func TestPrefixesOfWaitingRequestsAreEvictedLast(t *testing.T) {
	for _, c := range []struct {
		attempts int
		output   int32
		want     [2]int32
	}{
		{32, 52, [2]int32{16, 16}}, {32, 56, [2]int32{16, 0}}, {32, 68, [2]int32{16, 0}}, {32, 72, [2]int32{0, 0}},
		{31, 36, [2]int32{16, 16}}, {31, 40, [2]int32{16, 0}}, {33, 36, [2]int32{16, 16}}, {33, 40, [2]int32{16, 0}},
	} {
		tree := new(sim.Contents)
		nodes := [3]int32{tree.Add(0, 16), tree.Add(0, 16), tree.Add(0, 16)}
		var requests []sim.Request
		for i := range c.attempts - 1 {
			requests = append(requests, sim.Request{Content: nodes[min(i, 2)], Prompt: 16, Output: 1,
				Arrival: testcluster.At(int64(2 * i))})
		}
		requests = append(requests, sim.Request{Prompt: 8, Output: c.output, Arrival: testcluster.At(100)})
		for _, node := range nodes[:2] {
			requests = append(requests, sim.Request{Content: node, Prompt: 17, Output: 1, MaxOutput: 70,
				Arrival: testcluster.At(101)})
		}
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		p := sglang()
		p.IgnoreEOS, p.MaxRunningRequests = true, 2
		pool.Scheduler, pool.KVBlocks, pool.MaxModelLen = p, 24, 96
		pool.PrefixCaching, pool.RadixCache = true, true
		sink := &hits{testcluster.NewLog(), map[int32]int32{}}
		cluster, _ := testcluster.New(func(c *sim.Config) { c.Contents, c.Sink = tree, sink }, requests, pool)
		cluster.Run()
		n := int32(len(requests))
		assert.Equal(t, c.want, [2]int32{sink.cached[n-2], sink.cached[n-1]}, "%+v", c)
	}
}

// TestARetractionMakesRoomForStepsToCome: of three requests in 16 pages of 4 tokens, or four in 19, the one with the
// longest prompt, of six pages which a tree keeps, is retracted first, when each wants its third page of output, or its
// second. Two pages are free then, or four. Of the prompt as many are evicted as the others need beside them for so
// many steps, whether or not the engine composes ahead.
func TestARetractionMakesRoomForStepsToCome(t *testing.T) {
	for i := range 2 * 2 * 19 {
		others, steps := int32(2+i%2), int32(1+i/4)
		tree := new(sim.Contents)
		node, requests := int32(0), []sim.Request(nil)
		for j := range int32(6) { // page by page, so that the tree may evict it so
			node = tree.Add(node, 4)
			requests = append(requests, sim.Request{Content: node, Prompt: 4 * (j + 1), Output: 1,
				Arrival: testcluster.At(int64(2 * j))})
		}
		requests = append(requests, sim.Request{Content: node, Prompt: 24, Output: 24, Arrival: testcluster.At(50)})
		for range others {
			requests = append(requests, sim.Request{Prompt: 8, Output: 30, Arrival: testcluster.At(50)})
		}
		p := sglang()
		p.ClipMaxNewTokens, p.RetractDecodeSteps = 1, steps
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		pool.Scheduler, pool.KVBlocks, pool.MaxModelLen = p, int64(10+3*others), 64
		pool.PrefixCaching, pool.RadixCache = true, true
		if i/2%2 == 1 {
			ahead(pool)
		}
		evicted := int64(-1)
		cluster, _ := testcluster.New(func(c *sim.Config) {
			c.Contents, c.MaxRun = tree, 1
			c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
				if all := c.PoolTotals(0); all.Preemptions == 1 && evicted < 0 {
					evicted = all.Evictions
				}
				return now.Add(sim.Second)
			}
		}, requests, pool)
		cluster.Run()
		want := (others*steps+3)/4 - 2*(others-1)
		assert.EqualValues(t, min(6, max(0, want)), evicted, "%d others, %d steps", others, steps)
	}
}

// TestAStepThatWaitsForAnEndEvictsWhatItWants: three sequences of 12 tokens in a page each decode, and the engine, as
// it composes ahead, wants two pages for two of them before it knows that the third has ended. A tree has a page for
// the prompt that waits for the place of that one. With 36 pages it has lost it before, and with 38 two are free, too.
// With 37 it is the only one, and is evicted although the end makes room for both. From 39 on it stays.
func TestAStepThatWaitsForAnEndEvictsWhatItWants(t *testing.T) {
	waits, knows := []string{"p1:1", "p3:24", "4 × d3"}, []string{"p1:1", "p3:24", "4 × d3", "d2"}
	for blocks, want := range map[int64][]string{
		36: slices.Concat(waits, []string{"p1:3", "3 × d2"}), 37: slices.Concat(waits, []string{"p1:3", "3 × d2"}),
		38: slices.Concat(knows, []string{"p1:3", "2 × d2"}), 39: slices.Concat(knows, []string{"p1:2", "2 × d2"}),
	} {
		tree, model := new(sim.Contents), new(steps)
		node, at := tree.Add(0, 1), testcluster.At(5)
		p := sglang()
		p.ClipMaxNewTokens, p.MaxRunningRequests = 1, 3
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		pool.Scheduler, pool.Model, pool.KVBlocks = p, model, blocks
		pool.BlockSize, pool.MaxModelLen = 1, 24
		pool.PrefixCaching, pool.RadixCache = true, true
		ahead(pool)
		cluster, _ := testcluster.New(func(c *sim.Config) { c.Contents = tree }, []sim.Request{
			{Content: node, Prompt: 1, Output: 1},
			{Prompt: 8, Output: 8, Arrival: at}, {Prompt: 8, Output: 8, Arrival: at}, {Prompt: 8, Output: 5, Arrival: at},
			{Content: node, Prompt: 3, Output: 1, Arrival: testcluster.At(6)},
		}, pool)
		cluster.Run()
		assert.Equal(t, want, model.all, "%d pages", blocks)
	}
}
