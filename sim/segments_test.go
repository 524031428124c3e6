package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// counted counts how often steps are priced, each of which lasts a second, however many are alike.
type counted struct{ n *int }

func (m counted) Price(_ []sim.Shape, g *sim.Segment) {
	*m.n++
	*g = sim.Segment{First: sim.Second, Steps: 1 << 30}
}

// TestNothingCutsARunThatNothingChanges: steps are taken together until a sequence that decodes ends, a client cancels
// one, or a request comes that may join; a full block or another instance is no reason to look.
func TestNothingCutsARunThatNothingChanges(t *testing.T) {
	at := func(s int64) sim.Time { return sim.Time(s) * sim.Time(sim.Second) }
	one := sim.Request{Prompt: 10, Output: 500}
	plain := func(*sim.PoolSpec) {}
	for _, c := range []struct {
		name     string
		change   func(*sim.PoolSpec)
		requests []sim.Request
		want     int // a prompt and the decodes after it
	}{
		{"one request", plain, []sim.Request{one}, 1 + 1},
		{"ends one after the other", plain,
			[]sim.Request{{Prompt: 10, Output: 100}, {Prompt: 9, Output: 300}, {Prompt: 8, Output: 200}}, 1 + 3},
		{"ends at once", plain, []sim.Request{one, one, one}, 1 + 1},
		{"a prompt alone", plain, []sim.Request{{Prompt: 10, Output: 1}}, 1},
		{"one that comes in between", plain,
			[]sim.Request{one, {Prompt: 10, Output: 100, Arrival: at(50)}}, 1 + 1 + 1 + 2},
		{"a full batch", func(p *sim.PoolSpec) {
			p.Scheduler = &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 64}
		}, []sim.Request{one, {Prompt: 10, Output: 100, Arrival: at(50)}, {Prompt: 10, Output: 9, Arrival: at(60)}},
			3 * 2},
		{"another instance", func(p *sim.PoolSpec) { p.Size = 2 },
			[]sim.Request{one, {Prompt: 10, Output: 100, Arrival: at(50)}}, 2 + 2},
		{"a client that cancels", plain, []sim.Request{{Prompt: 10, Output: 500, Deadline: at(100)}, one}, 1 + 2},
		{"a client that would have", plain, []sim.Request{{Prompt: 10, Output: 50, Deadline: at(100)}, one}, 1 + 2},
		{"a window until it is full", func(p *sim.PoolSpec) { p.Windows = []sim.Window{{Tokens: 64}} },
			[]sim.Request{one}, 1 + 1 + 1},
		{"blocks of windows until these are full", func(p *sim.PoolSpec) {
			p.Windowed = sim.Windowed{Blocks: 1, BlocksMax: 4}
		}, []sim.Request{one}, 1 + 1 + 1},
		{"cached prefixes", func(p *sim.PoolSpec) { p.PrefixCaching = true }, []sim.Request{one}, 1 + 1},
		{"prompts first", func(p *sim.PoolSpec) {
			p.Scheduler = &schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 64}
		}, []sim.Request{one, {Prompt: 10, Output: 100, Arrival: at(50)}}, 1 + 1 + 1 + 2},
		{"static batches", func(p *sim.PoolSpec) {
			p.Scheduler = &schedulers.Static{MaxBatchSize: 2, MaxNumBatchedTokens: 64}
		}, []sim.Request{one, {Prompt: 10, Output: 100, Arrival: at(50)}}, 2 + 2},
		{"two ranks", func(p *sim.PoolSpec) { p.Ranks, p.Balancer = 2, (&scenario{}).balancer },
			[]sim.Request{one, one}, 1 + 1},
	} {
		n := 0
		sc := scenario{size: 1, blocks: 500, blockSize: 4, maxLen: 600, model: counted{&n}}
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64}
		for i, r := range c.requests {
			r.ID = int32(i)
			sc.requests = append(sc.requests, r)
		}
		j := newJournal()
		config := sc.config(j)
		c.change(config.Pools[0])
		if config.Pools[0].PrefixCaching {
			config.Contents = new(sim.Contents)
		}
		cl := run(t, config)
		require.EqualValues(t, len(c.requests), cl.Totals().Arrived, c.name)
		assert.Equal(t, c.want, n, c.name)
	}
}

// TestAStepTakesAPicosecondAtLeast, with which a prompt and nine tokens after it take ten; none takes no time.
func TestAStepTakesAPicosecondAtLeast(t *testing.T) {
	sc := scenario{size: 1, blocks: 500, blockSize: 4, maxLen: 600, model: ticks(1),
		policy:   &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64},
		requests: []sim.Request{{Prompt: 10, Output: 10}}}
	require.Equal(t, sim.Time(10), run(t, sc.config(newJournal())).Now())
	sc.model = ticks(0)
	require.Panics(t, func() { run(t, sc.config(newJournal())) })
}
