package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestAQueueGrowsWhereServiceFallsBehind: by more than a twentieth of the arrivals, and than three standard deviations
// of their number, over the second half of them; and less than 95 % of what is offered is served.
func TestAQueueGrowsWhereServiceFallsBehind(t *testing.T) {
	of := func(arrivals, before, more int64) []depth {
		return []depth{{1, 0}, {arrivals - 1, 90}, {arrivals, before}, {2 * arrivals, before + more}}
	}
	for i, c := range []struct {
		served float64
		depths []depth
		want   bool
	}{
		{9.5, of(100, 7, 31), false}, {9.49, of(100, 7, 31), true}, {9.49, of(100, 7, 30), false},
		{9, of(10_000, 7, 501), true}, {9, of(10_000, 7, 500), false}, {20, of(100, 7, 31), false},
		{1, []depth{{100, 31}}, true}, {1, []depth{{100, 30}}, false}, {1, nil, false},
	} {
		assert.Equal(t, c.want, grows(10, c.served, c.depths), i)
	}
	var l load
	l.every = 1
	assert.EqualValues(t, 1, l.next(0), "the first arrival is observed")
}

// TestChunksOfRequestsThatFailedHearOfLateTokens: the latest tokens of a request may be reported after its end, while
// others that came before it go on, and when they have ended.
func TestChunksOfRequestsThatFailedHearOfLateTokens(t *testing.T) {
	c := NewChunks(1)
	c.Warmup = 300
	var q [6]sim.Request
	for i := range q {
		q[i] = sim.Request{ID: int32(i), Record: sim.Record{First: 100}}
		c.First(&q[i])
	}
	for i := range 3 {
		c.Done(&q[i], 110, sim.Completed)
	}
	c.Done(&q[4], 120, sim.Failed)
	c.Done(&q[5], 120, sim.Failed)
	c.One(&q[4], 200) // in the warm-up
	c.One(&q[5], 250)
	c.Done(&q[3], 260, sim.Completed)
	c.One(&q[4], 300) // as that ends
	c.Accepted(&q[4], 300, 2)
	c.One(&q[5], 400)
	var want Hist
	want.One(100)
	want.One(150)
	requireSame(t, &want, c.Gaps(), "gaps of 100 and 150")
	assert.EqualValues(t, 4, c.TokenGaps().N(), "two more tokens have come with the third of one")
}

// TestPartsOfARunAreItsSum: what a class has of prompts, and tokens that come together.
func TestPartsOfARunAreItsSum(t *testing.T) {
	f := &Full{}
	f.SeparateClasses([]Class{{Name: "chat"}})
	parts := []*Full{f.Shard().(*Full), f.Shard().(*Full)}
	for i, part := range parts {
		r := sim.Request{ID: int32(i), Prompt: 100, Output: 4,
			Record: sim.Record{Admitted: 1, First: 7, Last: 9, Emitted: 4, Cached: 16, Preemptions: 1}}
		part.First(&r)
		part.Burst(new(sim.Instance), 9, 3)
		part.Done(&r, 9, sim.Completed)
		f.Merge(part)
	}
	got := f.classResults(1, 600)
	assert.Equal(t, Tokens{Prompt: 200, PromptCached: 32, Output: 8}, got[0].Tokens)
	assert.EqualValues(t, 2, got[0].Requests.Preemptions)
	assert.EqualValues(t, 6, f.ITL.N())
	assert.Zero(t, f.StepGaps().N(), "all came with another")
}

// TestWindowsOfAnyWidthMerge: those that are narrower are made as wide.
func TestWindowsOfAnyWidthMerge(t *testing.T) {
	for wide := range 2 {
		var w [2]*Windows
		for i := range w {
			w[i] = NewWindows(WindowArguments{Width: 10})
			for n := range 8 {
				w[i].at(sim.Time(10 * n)).arrived += int64(1 + n)
			}
		}
		w[wide].double()
		w[0].merge(w[1])
		require.EqualValues(t, 20, w[0].width)
		for n, want := range []int64{6, 14, 22, 30} {
			require.Equal(t, want, w[0].list[n].arrived)
		}
	}
}

// TestAttainmentIsOfAllThatEnd in a window: one of three requests is good, one is too long, and one is lost. A rule
// about requests says it where there are no limits on them.
func TestAttainmentIsOfAllThatEnd(t *testing.T) {
	w := NewWindows(WindowArguments{Width: sim.Second, Rules: Rules{rule(RuleTTFT, 50, 9), {Share: .5,
		Terms: []Term{{Metric: RuleE2E, Limit: 9}}}}})
	w.done(1, true, Limits{E2E: 9})
	w.done(1, true, Limits{E2E: 10})
	w.lost(1, false)
	o := w.Results(sim.Time(sim.Second))
	require.NotNil(t, o.Windows[0].Attainment)
	assert.InDelta(t, 1./3, *o.Windows[0].Attainment, 1e-12)
	assert.Len(t, Limits{TTFT: 1, E2E: 1}.Rule(.5).Terms, 2, "a limit of a picosecond is one")
}

// TestNothingWaitsForAnSLOThatHolds: many that wait are no backlog while nothing is broken.
func TestNothingWaitsForAnSLOThatHolds(t *testing.T) {
	yes := true
	assert.Nil(t, backlog([]WindowResult{{ToS: 1, Met: &yes}, {ToS: 2, Waiting: 90}, {ToS: 3, Met: &yes, Waiting: 90}}))
}

// TestRulesCountWhatHasNoResult: of two requests one has a time per token, and one was lost. Where there is neither, a
// rule on gaps holds if something was completed, and one on tasks does not.
func TestRulesCountWhatHasNoResult(t *testing.T) {
	m := Recorder{Rules: Rules{rule(RuleTPOT, 99, 9), rule(RuleTPOT, 50, 9), rule(RuleITL, 99, 9),
		rule(RuleTask, 99, 9)}}
	m.Recorded, m.Unserved = 1, 1
	m.TPOT.One(5)
	assert.False(t, m.verdict(0).Met)
	assert.True(t, m.verdict(1).Met)
	assert.True(t, m.verdict(2).Met)
	assert.False(t, m.verdict(3).Met)
}

// TestTheSlowestGapsHaveAllTheirReasons, of which the rest is decodes; and windows are gathered once.
func TestTheSlowestGapsHaveAllTheirReasons(t *testing.T) {
	var m Recorder
	m.ITL.Add(sim.Second, 10)
	for _, s := range []Stall{Mixed, Paused, Preempted, Transferred, Restarted} {
		m.Stalls[s].Add(sim.Second, 1)
	}
	got := m.tail().Share
	assert.InDelta(t, .5, got.Decode, 1e-12)
	want := TailShare{Decode: got.Decode, Mixed: .1, Paused: .1, Preempted: .1, Transferred: .1, Restarted: .1}
	assert.Equal(t, want, got)
	m = Recorder{Windows: NewWindows(WindowArguments{Width: sim.Second})}
	m.Run(nil, 0, &sim.Segment{First: 10, Steps: 9}, 2, 1)
	m.Gather()
	m.Gather()
	assert.EqualValues(t, 2, m.ITL.N())
}

// TestArrivalsEndWithTheLatest, in whatever order requests end, and the histograms of a series are linear in a bucket.
func TestArrivalsEndWithTheLatest(t *testing.T) {
	s := NewSeries()
	for _, slot := range []sim.Time{7, 3, 11} {
		s.ended(&sim.Request{Arrival: slot << slotShift}, 20<<slotShift, sim.Unfinished, false)
		if slot == 3 {
			assert.Len(t, s.Arrivals(), 7)
		}
	}
	assert.Len(t, s.Arrivals(), 11)
	assert.Len(t, s.Slots(), 21)
	first, second := upper(1<<coarseBits-1), upper(2<<coarseBits-1)
	s.count(OfTTFT, 0, 1, 4)
	assert.InDelta(t, 2, s.Below(OfTTFT, 0, first/2), 1e-9)
	s.count(OfTTFT, 0, first+1, 8)
	assert.InDelta(t, 4+8*.25, s.Below(OfTTFT, 0, first+(second-first)/4), 1e-9)
}

// TestUntracedRequestsHaveNoPositions, and tasks of a window are counted once.
func TestUntracedRequestsHaveNoPositions(t *testing.T) {
	var f Full
	f.Gap(nil, &sim.Request{Record: sim.Record{Last: 5, Emitted: 4}}, 9, sim.Preempted)
	assert.Empty(t, f.positions())
	w := NewWindows(WindowArguments{Width: 10, Rules: Rules{rule(RuleTask, 50, 9)}})
	w.task(5, 7)
	var got Hist
	w.list[0].of[RuleTask].addTo(&got)
	assert.EqualValues(t, 1, got.N())
}

// TestPartsOfASecondDrawPower, and one reserved replica of three is paid as such.
func TestPartsOfASecondDrawPower(t *testing.T) {
	p := Power{IdleW: 100, PrefillW: 600, DecodeW: 300, PeakW: 500}
	of := sim.PoolTotals{UpS: .75, BusyS: .5}
	of.Phases.PrefillS = .25
	assert.Equal(t, Phases{Idle: 25, Prefill: 150, Decode: 75}, p.Joules(&of))
	of.UpS, of.Phases.PrefillS = .5, .5
	assert.Equal(t, Phases{Prefill: 300}, p.Joules(&of))
	pool := PoolDescription{Replicas: 3, USDPerHour: 2, Reserved: Purchase{1, 1}}
	reserved, onDemand, _ := pool.rents(3)
	assert.Equal(t, [2]float64{1, 4}, [2]float64{reserved, onDemand})
}

// TestRatesHaveThreeDigits, or all that stand before the point.
func TestRatesHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", .5: "0.500", 1: "1.00", 12.34: "12.3", 1234: "1234"} {
		assert.Equal(t, want, rate(x))
	}
}

// TestATaskIsOfItsClass, and of the run.
func TestATaskIsOfItsClass(t *testing.T) {
	f := &Full{}
	f.SeparateClasses([]Class{{Name: "chat"}, {Name: "batch"}})
	f.Task(&Task{Class: 1, Begun: 1, Ended: 5, Requests: 2})
	assert.Nil(t, f.classes[0].tasks())
	assert.EqualValues(t, 1, f.classes[1].tasks().Completed)
	assert.EqualValues(t, 1, f.tasks().Completed)
}
