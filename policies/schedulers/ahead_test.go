package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// ahead has an engine compose each step while the one before runs.
func ahead(p *sim.PoolSpec) { p.AsyncScheduling, p.BatchQueue = true, 2 }

// TestSGLangRetractsWhileAStepRuns: in 6 blocks of 4 tokens, two sequences of 8 decode four times. Which of them goes
// then is decided after its fifth token, or while that is computed: it is dropped then, and computed again with the
// prompt and the four tokens before it.
func TestSGLangRetractsWhileAStepRuns(t *testing.T) {
	for _, c := range []struct {
		name           string
		rule           func(*schedulers.SGLang)
		requests       []sim.Request
		blocks         int64
		knowing, ahead []string
	}{
		{"the later", func(*schedulers.SGLang) {}, twice(), 6,
			[]string{"2 × p1:8", "4 × d2", "3 × d1", "p1:13", "2 × d1"},
			[]string{"2 × p1:8", "4 × d2", "3 × d1", "p1:12", "3 × d1"}},
		{"the less urgent", func(p *schedulers.SGLang) { p.ByPriority = true },
			[]sim.Request{{Prompt: 8, Output: 8, Priority: 1}, {Prompt: 8, Output: 9}}, 6,
			[]string{"2 × p1:8", "4 × d2", "4 × d1", "p1:13", "2 × d1"},
			[]string{"2 × p1:8", "4 × d2", "4 × d1", "p1:12", "3 × d1"}},
		{"two, one after the other", func(*schedulers.SGLang) {},
			[]sim.Request{{Prompt: 4, Output: 12}, {Prompt: 4, Output: 12}, {Prompt: 4, Output: 12}}, 6,
			[]string{"p2:8", "p1:4", "4 × d3", "4 × d2", "3 × d1", "p1:9", "6 × d1", "p1:13", "2 × d1"},
			[]string{"p2:8", "p1:4", "4 × d3", "4 × d2", "3 × d1", "p1:8", "7 × d1", "p1:12", "3 × d1"}},
		{"in chunks", func(p *schedulers.SGLang) { p.ChunkedPrefillSize = 4 },
			[]sim.Request{{Prompt: 8, Output: 8}, {Prompt: 12, Output: 8}}, 7,
			[]string{"5 × p1:4", "4 × d2", "3 × d1", "4 × p1:4", "p1:1", "2 × d1"},
			[]string{"5 × p1:4", "4 × d2", "3 × d1", "4 × p1:4", "3 × d1"}},
		{"none, as one ends", func(*schedulers.SGLang) {},
			[]sim.Request{{Prompt: 8, Output: 8}, {Prompt: 8, Output: 5}}, 6,
			[]string{"2 × p1:8", "4 × d2", "3 × d1"}, []string{"2 × p1:8", "4 × d2", "3 × d1"}},
	} {
		p := sglang()
		p.ClipMaxNewTokens = 1
		c.rule(p)
		assert.Equal(t, c.knowing, stepsOf(t, p, c.blocks, nil, c.requests...), c.name)
		assert.Equal(t, c.ahead, stepsOf(t, p, c.blocks, ahead, c.requests...), "%s, ahead", c.name)
	}
}

// all is an acceptance of every draft.
type all struct{}

// Verify implements sim.Acceptance.
func (all) Verify(drafts []sim.Draft) {
	for i := range drafts {
		drafts[i].Accepted = drafts[i].Drafts
	}
}

// TestDraftsTakeTheBudgetOfAStep: two drafts of each request, all of them accepted, so that three tokens come at once.
func TestDraftsTakeTheBudgetOfAStep(t *testing.T) {
	three := []sim.Request{{Prompt: 2, Output: 10}, {Prompt: 2, Output: 10}, {Prompt: 2, Output: 10}}
	for _, c := range []struct {
		budget int32
		want   []string
	}{
		{9, []string{"p3:6", "3 × d3:9"}},
		{8, []string{"p3:6", "3 × d3:8", "d1:3"}},     // the third has a draft less: it emits 1 + 3 · 2 tokens meanwhile
		{6, []string{"p3:6", "3 × d2:6", "3 × d1:3"}}, // the third misses three steps
		// the second has no drafts, and the third waits for a token of the budget
		{4, []string{"p2:4", "3 × d2:4", "2 × p1:1+d1:3", "3 × d1:3"}},
	} {
		p := &schedulers.Continuous{MaxNumSeqs: 3, MaxNumBatchedTokens: c.budget}
		assert.Equal(t, c.want, stepsOf(t, p, 100, func(pool *sim.PoolSpec) {
			pool.Speculation = &sim.Speculation{Tokens: 2, Acceptance: all{}}
		}, three...), "%d tokens a step", c.budget)
	}
}

// TestARowIsFilledUpToTheWidthOfOthers: a prompt of one token joins a decode with two drafts. It computes three tokens,
// too, of which two are wrong; with no room for them it waits. A sequence that they would make longer than the longest
// is not filled.
func TestARowIsFilledUpToTheWidthOfOthers(t *testing.T) {
	requests := []sim.Request{{Prompt: 4, Output: 7}, {Prompt: 1, Output: 4, Arrival: testcluster.At(1)}}
	waits := []string{"p1:4", "2 × d1:3", "p1:1", "d1:3"}
	for _, c := range []struct {
		budget, longest int32
		fills           bool
		want            []string
	}{
		{6, 40, false, []string{"p1:4", "p1:1+d1:3", "d2:6"}},
		{6, 40, true, []string{"p1:4", "p1:3+d1:3", "d2:6"}},
		{5, 40, true, waits},
		{5, 4, true, waits},
		{5, 3, true, []string{"p1:4", "p1:1+d1:3", "d2:5", "d1"}},
	} {
		p := &schedulers.Continuous{MaxNumSeqs: 3, MaxNumBatchedTokens: c.budget, MaxModelLen: c.longest}
		assert.Equal(t, c.want, stepsOf(t, p, 100, func(pool *sim.PoolSpec) {
			pool.Speculation = &sim.Speculation{Tokens: 2, Acceptance: all{}, Fills: c.fills}
		}, requests...), "%+v", c)
	}
}

// TestAPromptGetsWhatDraftsLeave: of 8 tokens a decode with two drafts takes three.
func TestAPromptGetsWhatDraftsLeave(t *testing.T) {
	p := &schedulers.Continuous{MaxNumSeqs: 3, MaxNumBatchedTokens: 8}
	assert.Equal(t, []string{"p1:4", "p1:5+d1:3", "p1:3+d1:3", "2 × d1:3"}, stepsOf(t, p, 100, func(pool *sim.PoolSpec) {
		pool.Speculation = &sim.Speculation{Tokens: 2, Acceptance: all{}}
	}, sim.Request{Prompt: 4, Output: 13}, sim.Request{Prompt: 8, Output: 1, Arrival: testcluster.At(1)}))
}
