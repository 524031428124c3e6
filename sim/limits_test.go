package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim/kv"
)

// What a pool must have, of which validation asks no more than that they are there.
type (
	anyModel     struct{ StepModel }
	anyScheduler struct{ Scheduler }
	committing   struct{ Scheduler }
	anyLoader    struct {
		anyScheduler
		Loader
	}
	anyRouter     struct{ Router }
	anyAcceptance struct{ Acceptance }
	anySource     struct{ Source }
	anySink       struct{ Sink }
)

func possiblePool() *PoolSpec {
	return &PoolSpec{Name: "p", Size: 1, KVBlocks: 4096, BlockSize: 1, MaxModelLen: 16, Model: anyModel{},
		Scheduler: anyScheduler{}, Router: anyRouter{}}
}

// Counts implements Counter.
func (committing) Counts() Counts { return CountCommitted }

// TestLimitsOfPoolsBelongToThem: a pool with the least and the greatest that an error names is accepted, and one with
// the next value is not.
func TestLimitsOfPoolsBelongToThem(t *testing.T) {
	type change = func(*PoolSpec)
	for i, c := range []struct {
		ok     bool
		change change
	}{
		{true, func(*PoolSpec) {}},
		{true, func(p *PoolSpec) { p.MaxModelLen = 2 }}, {false, func(p *PoolSpec) { p.MaxModelLen = 1 }},
		{true, func(p *PoolSpec) { p.MaxModelLen = 4096 }}, {false, func(p *PoolSpec) { p.MaxModelLen = 4097 }},
		{true, func(p *PoolSpec) { p.Size, p.SizeMax = 0, 1 }}, {false, func(p *PoolSpec) { p.Size = 0 }},
		{false, func(p *PoolSpec) { p.Size, p.SizeMax = -1, 3 }}, {true, func(p *PoolSpec) { p.Size, p.SizeMax = 3, 3 }},
		{false, func(p *PoolSpec) { p.Size, p.SizeMax = 3, 2 }}, {false, func(p *PoolSpec) { p.BlockSize = 0 }},
		{false, func(p *PoolSpec) { p.SequenceBlocks = -1 }}, {false, func(p *PoolSpec) { p.MaxNumSeqs = -1 }},
		{true, func(p *PoolSpec) { p.Ranks, p.Balancer = 2, func() Router { return anyRouter{} } }},
		{false, func(p *PoolSpec) { p.Ranks = 2 }},
		{true, func(p *PoolSpec) { p.Ranks = 1 }}, {false, func(p *PoolSpec) { p.Ranks = -1 }},
		{true, func(p *PoolSpec) { p.Stages = layers(256) }}, {false, func(p *PoolSpec) { p.Stages = layers(257) }},
		{false, func(p *PoolSpec) { p.Stages = []int32{1, 0} }},
		{true, func(p *PoolSpec) { p.Stages, p.AsyncScheduling = layers(1), true }},
		{false, func(p *PoolSpec) { p.Stages, p.AsyncScheduling = layers(2), true }},
		{true, stagesAhead(func(*PoolSpec) {})}, {true, stagesAhead(func(p *PoolSpec) { p.FillsQueue = false })},
		{false, stagesAhead(func(p *PoolSpec) {
			p.FillsQueue, p.Speculation = false, &Speculation{Tokens: 1, Acceptance: anyAcceptance{}}
		})},
		{false, stagesAhead(func(p *PoolSpec) { p.BatchQueue = 1 })},
		{false, stagesAhead(func(p *PoolSpec) { p.MaxNumSeqs = 1 })},
		{false, stagesAhead(func(p *PoolSpec) { p.RecvInterval = 2 })},
		{false, func(p *PoolSpec) { p.Stages, p.Ranks, p.Balancer = layers(2), 2, func() Router { return anyRouter{} } }},
		{true, func(p *PoolSpec) { p.PrefixCaching, p.OffloadBlocks = true, 1 }},
		{false, func(p *PoolSpec) { p.OffloadBlocks = 1 }},
		{false, func(p *PoolSpec) { p.PrefixCaching, p.OffloadBlocks = true, -1 }},
		{true, func(p *PoolSpec) { p.PrefixCaching, p.RadixCache = true, true }},
		{false, func(p *PoolSpec) { p.RadixCache = true }},
		{false, func(p *PoolSpec) { p.PrefixCaching, p.RadixCache, p.OffloadBlocks = true, true, 1 }},
		{true, func(p *PoolSpec) { p.SwapBlocks = 1 }}, {false, func(p *PoolSpec) { p.SwapBlocks = -1 }},
		{false, func(p *PoolSpec) { p.SwapBlocks, p.PrefixCaching = 1, true }},
		{true, func(p *PoolSpec) { p.BatchQueue, p.AsyncScheduling = 2, true }},
		{false, func(p *PoolSpec) { p.BatchQueue = 2 }},
		{true, func(p *PoolSpec) { p.BatchQueue = 1 }}, {false, func(p *PoolSpec) { p.BatchQueue = -1 }},
		{false, func(p *PoolSpec) { p.BatchQueue, p.AsyncScheduling = 3, true }},
		{false, func(p *PoolSpec) { p.ColdStart = -1 }}, {false, func(p *PoolSpec) { p.PromptMax = -1 }},
		{true, func(p *PoolSpec) { p.Classes = 256 }}, {false, func(p *PoolSpec) { p.Classes = 257 }},
		{false, func(p *PoolSpec) { p.Classes = -1 }},
		{false, func(p *PoolSpec) { p.Model = nil }}, {false, func(p *PoolSpec) { p.Scheduler = nil }},
		{false, func(p *PoolSpec) { p.Router = nil }},
		{true, func(p *PoolSpec) { p.Windows = []Window{{Tokens: 1}, {Tokens: 9}} }},
		{false, func(p *PoolSpec) { p.Windows = make([]Window, 3) }},
		{false, func(p *PoolSpec) { p.Windows = make([]Window, 1) }},
		{true, func(p *PoolSpec) { p.Windowed = Windowed{Blocks: 1, BlocksMax: 1} }},
		{false, func(p *PoolSpec) { p.Windowed = Windowed{Blocks: -1, BlocksMax: 1} }},
		{false, func(p *PoolSpec) { p.Windowed = Windowed{Blocks: 1, BlocksMax: -1} }},
		{false, func(p *PoolSpec) { p.Windowed = Windowed{Blocks: 1 << 20, BlocksMax: 1 << 11} }},
		{true, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1, Window: 1, TokensMax: 1} }},
		{false, func(p *PoolSpec) { p.Passing = Passing{Blocks: -1, Window: 1, TokensMax: 1} }},
		{false, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1, Window: 0, TokensMax: 1} }},
		{false, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1, Window: 1, TokensMax: 0} }},
		{true, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1, Window: 1<<30 - 2, TokensMax: 1} }},
		{false, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1, Window: 1<<30 - 1, TokensMax: 1} }},
		{false, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1, Window: math.MaxInt32, TokensMax: math.MaxInt32} }},
		{true, func(p *PoolSpec) { p.PrefixCaching, p.KVBlocks = true, math.MaxInt32 }},
		{false, func(p *PoolSpec) { p.PrefixCaching, p.KVBlocks = true, math.MaxInt32+1 }},
	} {
		p := possiblePool()
		c.change(p)
		err := p.validate()
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
	}
}

// TestLimitsOfPortsAndLoadsBelongToThem, and what excludes another is refused beside it.
func TestLimitsOfPortsAndLoadsBelongToThem(t *testing.T) {
	for i, c := range []struct {
		ok     bool
		change func(*PoolSpec)
	}{
		{true, func(p *PoolSpec) { p.RecvInterval = 1 }}, {false, func(p *PoolSpec) { p.RecvInterval = -1 }},
		{true, func(p *PoolSpec) { p.RecvInterval, p.AsyncScheduling = 1000, true }},
		{false, func(p *PoolSpec) { p.RecvInterval, p.AsyncScheduling = 1001, true }},
		{false, func(p *PoolSpec) { p.RecvInterval = 2 }},
		{false, func(p *PoolSpec) {
			p.RecvInterval, p.AsyncScheduling = 2, true
			p.Ranks, p.Balancer = 2, func() Router { return anyRouter{} }
		}},
		{true, func(p *PoolSpec) { p.ConnectorLoads, p.Scheduler = true, anyLoader{} }},
		{false, func(p *PoolSpec) { p.ConnectorLoads = true }},
		{false, func(p *PoolSpec) {
			p.MaxNumSeqs, p.RecvInterval, p.AsyncScheduling = 1, 2, true
		}},
		{true, func(p *PoolSpec) { p.MaxNumSeqs, p.SwapBlocks, p.Reserved = 1, 1, Reserved{Tokens: 1, Restores: true} }},
		{false, func(p *PoolSpec) { p.MaxNumSeqs, p.Reserved = 1, Reserved{Tokens: 1, Restores: true} }},
		{false, func(p *PoolSpec) { p.Reserved = Reserved{Tokens: 1} }},
		{false, func(p *PoolSpec) { p.MaxNumSeqs, p.Reserved = 1, Reserved{Slots: 1} }},
		{true, func(p *PoolSpec) { p.NetworkReserved = FullPort - 1 }},
		{false, func(p *PoolSpec) { p.NetworkReserved = FullPort }},
		{true, func(p *PoolSpec) { p.SizeMax = 1 }}, {false, func(p *PoolSpec) { p.Size = -1 }},
		{true, func(p *PoolSpec) { p.ColdStart = 1 }},
		{false, func(p *PoolSpec) {
			p.Passing, p.PrefixCaching = Passing{Blocks: 1, Window: 1, TokensMax: 1}, true
			p.RadixCache = true
		}},
		{true, func(p *PoolSpec) { p.Passing, p.MaxModelLen = Passing{Blocks: 1, Window: 1, TokensMax: 1}, 4094 }},
		{false, func(p *PoolSpec) { p.Passing, p.MaxModelLen = Passing{Blocks: 1, Window: 1, TokensMax: 1}, 4095 }},
		{false, func(p *PoolSpec) {
			p.Passing, p.SwapBlocks = Passing{Blocks: 1, Window: 1, TokensMax: 1}, 1
		}},
		{false, func(p *PoolSpec) {
			p.Passing, p.Windowed = Passing{Blocks: 1, Window: 1, TokensMax: 1}, Windowed{Blocks: 1, BlocksMax: 1}
		}},
		{false, func(p *PoolSpec) {
			p.Passing, p.Scheduler = Passing{Blocks: 1, Window: 1, TokensMax: 1}, committing{}
		}},
		{false, func(p *PoolSpec) { p.Passing = Passing{Blocks: 1 << 27, Window: 1, TokensMax: 1} }},
	} {
		p := possiblePool()
		c.change(p)
		err := p.validate()
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
	}
}

// TestLimitsOfWhatAPoolMayHaveBelongToThem: of drafts, tiers and adapters.
func TestLimitsOfWhatAPoolMayHaveBelongToThem(t *testing.T) {
	type change = func(*PoolSpec)
	tiers := func(n int, of ...func(*Tier)) change {
		return func(p *PoolSpec) {
			p.PrefixCaching, p.OffloadBlocks = true, 5
			for range n {
				tier := Tier{Blocks: 1, Share: 1}
				for _, f := range of {
					f(&tier)
				}
				p.Tiers = append(p.Tiers, tier)
			}
		}
	}
	tier := func(f func(*Tier)) change { return tiers(1, f) }
	adapters := func(slots, host int, copies, reads []Duration) change {
		return func(p *PoolSpec) { p.Adapters = Adapters{Slots: slots, Host: host, Copies: copies, Reads: reads} }
	}
	drafts := func(s Speculation) change {
		return func(p *PoolSpec) { s.Acceptance, p.Speculation = anyAcceptance{}, &s }
	}
	both := func(a, b change) change { return func(p *PoolSpec) { a(p); b(p) } }
	two, three := make([]Duration, 2), make([]Duration, 3)
	for i, c := range []struct {
		ok     bool
		change change
	}{
		{true, drafts(Speculation{})}, {true, drafts(Speculation{Tokens: DraftsMax, LookAhead: DraftsMax})},
		{false, drafts(Speculation{Tokens: -1})}, {false, drafts(Speculation{Tokens: DraftsMax + 1})},
		{false, drafts(Speculation{LookAhead: -1})}, {false, drafts(Speculation{LookAhead: DraftsMax + 1})},
		{false, func(p *PoolSpec) { p.Speculation = &Speculation{} }},
		{true, tiers(kv.TiersMax)}, {false, tiers(kv.TiersMax + 1)},
		{false, func(p *PoolSpec) { p.Tiers = []Tier{{Blocks: 1, Share: 1}} }},
		{false, tier(func(t *Tier) { t.Blocks = 0 })}, {false, tier(func(t *Tier) { t.Link.Latency = -1 })},
		{false, tier(func(t *Tier) { t.Link.Fixed = -1 })}, {false, tier(func(t *Tier) { t.Link.Token = -1 })},
		{true, tier(func(t *Tier) { t.Link.Token = Second })}, {false, tier(func(t *Tier) { t.Link.Token = Second + 1 })},
		{false, tier(func(t *Tier) { t.Share = 0 })},
		{true, tier(func(t *Tier) { t.Share, t.ReceivingShare = FullPort, FullPort })},
		{false, tier(func(t *Tier) { t.Share = FullPort + 1 })},
		{false, tier(func(t *Tier) { t.ReceivingShare = FullPort + 1 })},
		{false, tier(func(t *Tier) { t.Write.Latency = -1 })}, {false, tier(func(t *Tier) { t.Write.Fixed = -1 })},
		{false, tier(func(t *Tier) { t.Write.Token = -1 })}, {false, tier(func(t *Tier) { t.Write.Token = Second + 1 })},
		{true, tier(func(t *Tier) { t.Write.Token, t.WriteShare, t.SendingShare = Second, FullPort, FullPort })},
		{false, tier(func(t *Tier) { t.WriteShare = FullPort + 1 })},
		{false, tier(func(t *Tier) { t.SendingShare = FullPort + 1 })},
		{true, adapters(1, 1, two[:1], nil)}, {true, adapters(1, 2, two, nil)}, {false, adapters(1, 2, three, nil)},
		{true, adapters(1, 2, three, three)}, {false, adapters(1, 3, three, two)}, {false, adapters(0, 1, two, two)},
		{false, adapters(2, 1, two, two)}, {false, adapters(1, 2, []Duration{-1}, nil)},
		{false, adapters(1, 2, two, []Duration{0, -1})},
		{false, both(adapters(1, 1, two[:1], nil), func(p *PoolSpec) { p.Stages = layers(2) })},
		{true, both(adapters(1, 1, two[:1], nil), func(p *PoolSpec) { p.Stages = layers(1) })},
		{false, both(adapters(1, 1, two[:1], nil), func(p *PoolSpec) { p.PrefixCaching, p.RadixCache = true, true })},
		{true, both(adapters(1, 1, two[:1], nil), func(p *PoolSpec) { p.PrefixCaching = true })},
		{false, both(adapters(1, 1, two[:1], nil), func(p *PoolSpec) { p.MaxNumSeqs = 1 })},
		{true, adapters(1, 1, make([]Duration, AdaptersMax), make([]Duration, AdaptersMax))},
		{false, adapters(1, 1, make([]Duration, AdaptersMax+1), make([]Duration, AdaptersMax+1))},
	} {
		p := possiblePool()
		c.change(p)
		err := p.validate()
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
	}
}

// stagesAhead has a pipeline scheduled asynchronously, but for what change does.
func stagesAhead(change func(*PoolSpec)) func(*PoolSpec) {
	return func(p *PoolSpec) {
		p.Stages, p.FillsQueue = layers(2), true
		p.AsyncScheduling, p.BatchQueue = true, 2
		change(p)
	}
}

// layers is stages of a layer each.
func layers(n int) (all []int32) {
	for range n {
		all = append(all, 1)
	}
	return all
}

// TestLimitsOfRowsBelongToThem: drafts by batch size come in order.
func TestLimitsOfRowsBelongToThem(t *testing.T) {
	for i, c := range []struct {
		ok   bool
		rows []DraftRow
	}{
		{true, nil}, {true, []DraftRow{{1, 0}}}, {true, []DraftRow{{1, DraftsMax}, {2, 0}}}, {false, []DraftRow{{0, 1}}},
		{false, []DraftRow{{2, 1}, {2, 0}}}, {false, []DraftRow{{1, -1}}}, {false, []DraftRow{{1, DraftsMax + 1}}},
	} {
		s := Speculation{Tokens: 7, Adaptive: c.rows}
		assert.Equal(t, c.ok, s.validate() == nil, i)
	}
	s := Speculation{Tokens: 7, Adaptive: []DraftRow{{4, 5}, {8, 3}, {9, 2}}}
	assert.Equal(t, int32(5), s.draftsMax())
	for n, want := range map[int]int32{1: 5, 4: 5, 5: 3, 8: 3, 9: 2, 10: 0} {
		assert.Equal(t, want, s.drafts(n), n)
	}
	s.Adaptive = nil
	assert.EqualValues(t, 7, s.drafts(1000))
}

// TestLimitsOfRoutesBelongToThem.
func TestLimitsOfRoutesBelongToThem(t *testing.T) {
	link := func(l Link) Route { return Route{{Link: l}, {Pool: 1}} }
	push := func(l Link, cache bool) Route { return Route{{Push: true, Cache: cache, Link: l}, {Pool: 1}} }
	for i, c := range []struct {
		ok    bool
		route Route
	}{
		{true, Route{{}}}, {false, Route{}}, {true, make(Route, 255)}, {false, make(Route, 256)},
		{true, Route{{Pool: 1}}}, {false, Route{{Pool: 2}}}, {false, Route{{Pool: -1}}},
		{true, Route{{Tokens: 1, Cache: true}, {Pool: 1}}}, {false, Route{{Tokens: 1}, {Pool: 1}}},
		{false, Route{{Tokens: 2, Cache: true}, {Pool: 1}}}, {false, Route{{Tokens: -1}, {Pool: 1}}},
		{true, Route{{Cache: true}, {Pool: 1}}}, {false, Route{{Cache: true}, {Pool: 0}}},
		{true, link(Link{Token: Second, Windowed: Second})}, {false, link(Link{Token: Second + 1})},
		{false, link(Link{Windowed: Second + 1})}, {false, link(Link{Latency: -1})}, {false, link(Link{Fixed: -1})},
		{false, link(Link{Token: -1})}, {false, link(Link{Windowed: -1})}, {false, link(Link{Window: -1})},
		{true, push(Link{Layers: 1}, true)}, {false, push(Link{}, true)}, {false, push(Link{Layers: 1}, false)},
		{false, Route{{}, {Push: true, Cache: true, Link: Link{Layers: 1}}, {Pool: 1}}},
	} {
		receiving, passing := possiblePool(), possiblePool()
		receiving.MaxNumSeqs, passing.MaxNumSeqs = 1, 1
		passing.Passing = Passing{Blocks: 1, Window: 1, TokensMax: 1}
		err := c.route.validate(0, []*PoolSpec{possiblePool(), receiving})
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
		if c.ok && len(c.route) > 1 && c.route[0].Cache {
			assert.ErrorContains(t, c.route.validate(0, []*PoolSpec{possiblePool(), passing}), "Passing", i)
		}
		config := Config{Source: anySource{}, Sink: anySink{}, Pools: []*PoolSpec{possiblePool(), receiving},
			Routes: []Route{c.route}}
		assert.Equal(t, c.ok, config.validate() == nil, i)
	}
}

// TestPushesAndPullsDoNotMix between two pools: what is to be pulled may have the blocks that what is to be pushed
// needs before it leaves, and wait for those that are kept for it.
func TestPushesAndPullsDoNotMix(t *testing.T) {
	hop := func(push bool, to int) Route {
		return Route{{Push: push, Cache: true, Link: Link{Layers: 1}}, {Pool: to}}
	}
	receiving := possiblePool()
	receiving.MaxNumSeqs = 1
	for i, c := range []struct {
		ok     bool
		routes []Route
	}{
		{true, []Route{hop(true, 1), hop(true, 1)}}, {true, []Route{hop(false, 1), hop(false, 1)}},
		{false, []Route{hop(true, 1), hop(false, 1)}}, {false, []Route{hop(false, 1), {{}}, hop(true, 1)}},
		{true, []Route{hop(true, 1), hop(false, 2)}}, {true, []Route{hop(true, 1), {{Pool: 1}}}},
		{true, []Route{hop(true, 1), {{}, {Pool: 1}}}},
	} {
		config := Config{Source: anySource{}, Sink: anySink{}, Pools: []*PoolSpec{possiblePool(), receiving, receiving},
			Routes: c.routes}
		if err := config.validate(); c.ok {
			assert.NoError(t, err, i)
		} else {
			assert.ErrorContains(t, err, "want one of the two", i)
		}
	}
}

// TestLimitsOfRunsBelongToThem.
func TestLimitsOfRunsBelongToThem(t *testing.T) {
	for i, c := range []struct {
		ok     bool
		change func(*Config)
	}{
		{true, func(*Config) {}}, {true, func(c *Config) { c.Until = ClockEnd }},
		{false, func(c *Config) { c.Until = ClockEnd + 1 }},
		{false, func(c *Config) { c.Until = -1 }}, {false, func(c *Config) { c.MaxRun = -1 }},
		{false, func(c *Config) { c.Ingress = -1 }}, {false, func(c *Config) { c.Egress = -1 }},
		{false, func(c *Config) { c.TraceEvery = -1 }}, {false, func(c *Config) { c.Cores = -1 }},
		{false, func(c *Config) { c.Source = nil }}, {false, func(c *Config) { c.Sink = nil }},
		{false, func(c *Config) { c.Pools = nil }}, {false, func(c *Config) { c.Pools = append(c.Pools, nil) }},
		{false, func(c *Config) { c.Pools[0].Size = 0 }},
	} {
		config := Config{Source: anySource{}, Sink: anySink{}, Pools: []*PoolSpec{possiblePool()}}
		c.change(&config)
		assert.Equal(t, c.ok, config.validate() == nil, i)
	}
}

// TestWhatIsLeftOfAStepHasItsParts: a step of decodes alone that had begun before consists of the parts of what is left
// of it.
func TestWhatIsLeftOfAStepHasItsParts(t *testing.T) {
	in := &Instance{}
	in.step.price = Segment{First: 100}
	in.step.price.Part[KV].A, in.step.price.Part[Overhead].A = 80, 20
	in.step.wait = -60
	in.shorten()
	assert.Equal(t, Breakdown{KV: 32, Overhead: 8}, in.StepBreakdown())
}
