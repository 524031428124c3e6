package policies_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
)

// TestContinuousRefusesWhatVLLMRefuses: limits that no engine starts with.
func TestContinuousRefusesWhatVLLMRefuses(t *testing.T) {
	good := policies.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8}
	assert.NoError(t, good.Validate())
	for _, bad := range []policies.Continuous{
		{MaxNumSeqs: 0, MaxNumBatchedTokens: 8}, {MaxNumSeqs: 9, MaxNumBatchedTokens: 8},
		{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, LongPrefillTokenThreshold: -1},
	} {
		assert.Error(t, bad.Validate(), "%+v", bad)
	}
}

// story is a sink that keeps when requests got their first token and whether they were preempted.
type story struct {
	first   map[int32]sim.Time
	resumed []int32
}

func (s *story) First(r *sim.Request)                                { s.first[r.ID] = r.First }
func (s *story) Run(*sim.Instance, sim.Time, *sim.Segment, int, int) {}
func (s *story) Held(*sim.Instance, sim.Time, sim.Time, *sim.Segment, int) {
}
func (s *story) Burst(*sim.Instance, sim.Time, int) {}
func (s *story) Gap(_ *sim.Instance, r *sim.Request, _ sim.Time, _ sim.Cause) {
	s.resumed = append(s.resumed, r.ID)
}
func (s *story) Done(*sim.Request, sim.Time, sim.Outcome) {}

// second is a step model: a step takes a second.
type second struct{}

func (second) Price(_ []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second, Steps: 1 << 30}
}

type list []sim.Request

func (l *list) Next(r *sim.Request) bool {
	if len(*l) == 0 {
		return false
	}
	*r, *l = (*l)[0], (*l)[1:]
	return true
}

func tell(t *testing.T, policy policies.Continuous, blocks int64, requests ...sim.Request) *story {
	t.Helper()
	s, source := &story{first: map[int32]sim.Time{}}, list(requests)
	c, err := sim.New(sim.Config{Sink: s, Source: &source, Pools: []*sim.Pool{{
		Name: "p", Size: 1, KVBlocks: blocks, BlockSize: 4, MaxModelLen: 40, Model: second{}, Scheduler: &policy, Router: policies.LeastLoaded{},
	}}})
	require.NoError(t, err)
	c.Run()
	return s
}

func at(seconds int64) sim.Time { return sim.Time(seconds) * sim.Time(sim.Second) }

// TestPromptsAreChunked: a prompt of 20 tokens takes three steps of 8, and the next shares the last of them.
func TestPromptsAreChunked(t *testing.T) {
	s := tell(t, policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 8}, 100,
		sim.Request{ID: 0, Prompt: 20, Output: 1}, sim.Request{ID: 1, Prompt: 4, Output: 1})
	assert.Equal(t, map[int32]sim.Time{0: at(3), 1: at(3)}, s.first)
}

// TestALongPrefillThresholdLetsOthersIn: with chunks of at most 4, the second prompt runs beside the first.
func TestALongPrefillThresholdLetsOthersIn(t *testing.T) {
	s := tell(t, policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 8, LongPrefillTokenThreshold: 4}, 100,
		sim.Request{ID: 0, Prompt: 20, Output: 1}, sim.Request{ID: 1, Prompt: 4, Output: 1})
	assert.Equal(t, map[int32]sim.Time{0: at(5), 1: at(1)}, s.first)
}

// TestTheLatestIsPreempted: 10 blocks of 4 tokens hold two sequences of 16 until one grows; the later one goes back, and
// the client that has its first token sees a gap, not another first token.
func TestTheLatestIsPreempted(t *testing.T) {
	s := tell(t, policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 64}, 10,
		sim.Request{ID: 0, Prompt: 16, Output: 12}, sim.Request{ID: 1, Prompt: 16, Output: 12})
	assert.Equal(t, map[int32]sim.Time{0: at(1), 1: at(1)}, s.first)
	assert.Equal(t, []int32{1}, s.resumed)
}

// TestReservingTheWholePrompt: a chunk would fit beside the first request, the whole prompt does not.
func TestReservingTheWholePrompt(t *testing.T) {
	first, second := sim.Request{ID: 0, Prompt: 24, Output: 1}, sim.Request{ID: 1, Prompt: 28, Output: 1}
	chunked := tell(t, policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 26}, 10, first, second)
	whole := tell(t, policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 26, SchedulerReserveFullISL: true}, 10, first, second)
	assert.Equal(t, at(2), chunked.first[1])
	assert.Equal(t, at(3), whole.first[1])
}

// TestFewestRequestsFirst: the third request joins the replica whose request has ended.
func TestFewestRequestsFirst(t *testing.T) {
	var routed []int32
	source := list{{ID: 0, Prompt: 1, Output: 30}, {ID: 1, Prompt: 1, Output: 2}, {ID: 2, Prompt: 1, Output: 1, Arrival: at(5)}}
	c, err := sim.New(sim.Config{Sink: &story{first: map[int32]sim.Time{}}, Source: &source, Pools: []*sim.Pool{{
		Name: "p", Size: 2, KVBlocks: 100, BlockSize: 4, MaxModelLen: 40, Model: second{},
		Scheduler: &policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 64}, Router: spy{&routed},
	}}})
	require.NoError(t, err)
	c.Run()
	assert.Equal(t, []int32{0, 1, 1}, routed)
}

// spy is LeastLoaded, watched.
type spy struct{ to *[]int32 }

func (s spy) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	in := policies.LeastLoaded{}.Route(now, r, pool)
	*s.to = append(*s.to, in.ID)
	return in
}
