package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// drawnRequest draws a request that has ended, when and how, of a run whose instants are few, so that they are often
// equal.
func drawnRequest(r *rand.Rand) (q sim.Request, at sim.Time, o sim.Outcome) {
	later := func() sim.Duration { return sim.Duration(r.Int64N(6)) }
	q.Arrival, o = sim.Time(r.Int64N(20)), sim.Outcome(r.IntN(int(sim.NumOutcomes)))
	q.Output = 1 + r.Int32N(4)
	if r.IntN(2) == 0 {
		q.Reasoning = r.Int32N(q.Output + 1)
	}
	q.Emitted = r.Int32N(q.Output + 1)
	switch o {
	case sim.Completed:
		q.Emitted = q.Output
	case sim.Rejected:
		q.Emitted = 0
	}
	q.Tokenizing = max(0, later()-3)
	q.Admitted = q.Arrival.Add(3 + later() + q.Tokenizing)
	q.First = q.Admitted.Add(later())
	at = q.First.Add(later() * sim.Duration(q.Emitted))
	if q.Reasoning > 0 && q.Emitted > q.Reasoning {
		q.Visible = q.First.Add(1 + later())
	}
	return q, at, o
}

// recorderTwin goes by the definitions: it asks of each request what counts, and has no state but lists and counts.
type recorderTwin struct {
	*Recorder
	ttft, queue, tokenizing, ttfo, tpot, e2e, waited              Hist
	recorded, attained, unserved, unanswered, hidden, keep, first int64
	lastToken                                                     sim.Time

	// of the warm-up, too
	allTTFT, allTPOT, allE2E Hist
	goodInAll                int64
}

// ended counts a request that has ended.
func (w *recorderTwin) ended(q *sim.Request, at sim.Time, o sim.Outcome) {
	toFirst, queued := q.First.Sub(q.Arrival)+w.Egress, q.Admitted.Sub(q.Arrival)-w.Ingress-q.Tokenizing
	if q.Emitted > 0 {
		w.lastToken = max(w.lastToken, q.First.Add(w.Egress))
		if q.First >= w.Warmup {
			w.first++
		}
	}
	if q.Emitted > 0 {
		w.allTTFT.One(toFirst)
	}
	if o == sim.Completed {
		w.lastToken = max(w.lastToken, at.Add(w.Egress))
		w.allE2E.One(at.Sub(q.Arrival) + w.Egress)
		if q.Emitted > 1 {
			w.allTPOT.One(at.Sub(q.First) / sim.Duration(q.Emitted-1))
		}
		if w.good(q, at) {
			w.goodInAll++
		}
	}
	if q.Arrival < w.Warmup {
		return
	}
	if q.Emitted > 0 {
		w.ttft.One(toFirst)
		w.queue.One(queued)
		if q.Tokenizing != 0 {
			w.tokenizing.One(q.Tokenizing)
		}
	}
	toOutput := toFirst
	if q.Reasoning > 0 {
		toOutput = q.Visible.Sub(q.Arrival) + w.Egress
	}
	if q.Emitted > q.Reasoning {
		w.ttfo.One(toOutput)
	} else if o != sim.Unfinished {
		w.hidden++
	}
	switch o {
	case sim.Unfinished:
	case sim.Completed:
		w.completed(q, at)
	default:
		w.unserved++
		if q.Emitted == 0 {
			w.unanswered++
		}
		if q.Emitted == 0 && o == sim.Failed {
			w.waited.One(at.Sub(q.Arrival))
		}
	}
}

func (w *recorderTwin) completed(q *sim.Request, at sim.Time) {
	w.recorded++
	toLast, each := at.Sub(q.Arrival)+w.Egress, sim.Duration(0)
	if q.Emitted > 1 {
		each = at.Sub(q.First) / sim.Duration(q.Emitted-1)
		w.tpot.One(each)
	}
	w.e2e.One(toLast)
	if w.good(q, at) {
		w.attained++
	}
	if toLast <= 9 && each <= 3 {
		w.keep++
	}
}

// good reports whether a request that has completed meets the SLO.
func (w *recorderTwin) good(q *sim.Request, at sim.Time) bool {
	within := func(d, limit sim.Duration) bool { return limit == 0 || d <= limit }
	toFirst, each := q.First.Sub(q.Arrival)+w.Egress, sim.Duration(0)
	toOutput := toFirst
	switch {
	case q.Reasoning == q.Output:
		toOutput = sim.Duration(sim.Forever)
	case q.Reasoning > 0:
		toOutput = q.Visible.Sub(q.Arrival) + w.Egress
	}
	if q.Emitted > 1 {
		each = at.Sub(q.First) / sim.Duration(q.Emitted-1)
	}
	return within(toFirst, w.SLO.TTFT) && within(each, w.SLO.TPOT) && within(at.Sub(q.Arrival)+w.Egress, w.SLO.E2E) &&
		within(toOutput, w.SLO.TTFO) && within(q.Admitted.Sub(q.Arrival)-w.Ingress-q.Tokenizing, w.SLO.Queue)
}

// compareSeries compares the series, which has the requests of the warm-up, too, and is the same without one.
func (w *recorderTwin) compareSeries(t *testing.T, outcomes [sim.NumOutcomes]int64) {
	var all Slot
	for _, slot := range w.Series.Slots() {
		all.add(&slot)
	}
	n := int64(0)
	for _, of := range outcomes {
		n += of
	}
	ended := n - outcomes[sim.Unfinished]
	require.Equal(t, []int64{n, ended, ended, w.goodInAll},
		[]int64{int64(all.Arrived), int64(all.Ended), int64(all.Judged), int64(all.Good)})
	for of, want := range map[Of]*Hist{OfTTFT: &w.allTTFT, OfTPOT: &w.allTPOT, OfE2E: &w.allE2E} {
		require.EqualValues(t, want.N(), all.Sum[of].N)
	}
}

// compareWindows compares the sums over all windows.
func (w *recorderTwin) compareWindows(t *testing.T, n int) {
	var of [NumRuleMetrics]Hist
	var all window
	for i := range w.Windows.list {
		x := &w.Windows.list[i]
		for k := range of {
			x.of[k].addTo(&of[k])
		}
		all.arrived, all.completed = all.arrived+x.arrived, all.completed+x.completed
		all.unserved, all.unanswered = all.unserved+x.unserved, all.unanswered+x.unanswered
		all.hidden += x.hidden
	}
	require.Equal(t, []int64{int64(n), w.recorded, w.unserved, w.unanswered, w.hidden},
		[]int64{all.arrived, all.completed, all.unserved, all.unanswered, all.hidden})
	for m, want := range map[Metric]*Hist{RuleTTFT: &w.ttft, RuleTTFO: &w.ttfo, RuleE2E: &w.e2e, RuleTPOT: &w.tpot,
		RuleQueue: &w.queue} {
		require.Equal(t, want.Counts(), of[m].Counts(), "%v", m)
	}
}

// TestEachRequestCountsAsTheDefinitionsSay, whenever it came and however it ended.
func TestEachRequestCountsAsTheDefinitionsSay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 300 {
		m := Recorder{Warmup: sim.Time(r.Int64N(12)), Thinks: true}
		m.Ingress, m.Egress = sim.Duration(r.Int64N(3)), sim.Duration(r.Int64N(5))
		limit := func() sim.Duration { return sim.Duration(r.Int64N(3) * r.Int64N(12)) }
		m.SLO = Limits{TTFT: limit(), TPOT: limit(), E2E: limit(), Queue: limit(), TTFO: limit()}
		m.Rules = Rules{{Share: 0.5, Terms: []Term{{Metric: RuleE2E, Limit: 9}, {Metric: RuleTPOT, Limit: 3}}}}
		m.Series, m.Windows = NewSeries(), NewWindows(WindowArguments{Width: 7, Egress: m.Egress, Rules: Rules{
			rule(RuleTTFO, 50, 9), rule(RuleE2E, 50, 9), rule(RuleTPOT, 50, 9), rule(RuleQueue, 50, 9)}})
		rows, n := 0, r.IntN(30)
		m.Rows = func(*sim.Request, sim.Time, sim.Outcome) { rows++ }
		w := recorderTwin{Recorder: &m}
		var outcomes [sim.NumOutcomes]int64
		for range n {
			q, at, o := drawnRequest(r)
			outcomes[o]++
			if q.Emitted > 0 {
				m.First(&q)
			}
			m.Done(&q, at, o)
			w.ended(&q, at, o)
		}
		w.compareSeries(t, outcomes)
		w.compareWindows(t, n)
		for i, pair := range [][2]*Hist{{&w.ttft, &m.TTFT}, {&w.queue, &m.Queue}, {&w.tokenizing, &m.Tokenizing},
			{&w.ttfo, &m.TTFO}, {&w.tpot, &m.TPOT},
			{&w.e2e, &m.E2E}, {&w.waited, &m.Waited}} {
			require.Equal(t, pair[0].Counts(), pair[1].Counts(), "distribution %d", i)
		}
		require.Equal(t, n, rows)
		require.Equal(t, outcomes, m.Outcomes)
		require.Equal(t,
			[]int64{w.recorded, w.attained, w.unserved, w.unanswered, w.hidden, w.first, w.recorded + w.unserved - w.keep},
			[]int64{m.Recorded, m.Attained, m.Unserved, m.unanswered, m.hidden, m.Output(), m.Missed(0)})
		require.Equal(t, w.lastToken, m.LastToken)
		_, missing := m.of(RuleTTFO)
		require.Equal(t, w.hidden, missing)
	}
}

// TestTokensOfTheWarmUpAreLeftOut: those that come before its end, to the picosecond, however they come.
func TestTokensOfTheWarmUpAreLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 300 {
		var want Hist
		m := Recorder{Warmup: sim.Time(r.Int64N(100))}
		one := func(at sim.Time, gap sim.Duration, tokens int) {
			if at >= m.Warmup && tokens > 0 {
				want.Add(gap, uint64(tokens))
			}
		}
		for range 6 {
			g := sim.Segment{First: 1 + sim.Duration(r.Int64N(20)), Growth: sim.Duration(r.Int64N(3)), Steps: 100}
			g.Part[sim.Weights] = sim.Affine{A: g.First, B: g.Growth}
			start, n, tokens := sim.Time(r.Int64N(120)), 1+r.IntN(10), r.IntN(4)
			m.Run(nil, start, &g, n, tokens)
			for i := range n {
				one(start.Add(g.Span(i+1)), g.Step(i), tokens)
			}
			since := start - sim.Time(r.Int64N(10))
			m.Paused(nil, since, start, &g, 2)
			one(start.Add(g.First), g.First+start.Sub(since), 2)
			m.Burst(nil, start, 3)
			one(start, 0, 3)
			q := sim.Request{Record: sim.Record{Last: since}}
			m.Gap(nil, &q, start, sim.Preempted)
			one(start, start.Sub(since), 1)
		}
		require.Equal(t, want.Counts(), m.ITL.Counts())
		require.Equal(t, want.N(), m.Output(), "no first token, and one for each gap")
	}
}

// TestTasksCountAsTheyEnd: those that began before the warm-up, or were under way at its end, among their kind alone.
func TestTasksCountAsTheyEnd(t *testing.T) {
	m := Recorder{Warmup: 100, Rules: Rules{rule(RuleTask, Max, 7)}}
	h, missing := m.of(RuleTask)
	assert.Zero(t, h.N()+missing, "there are no agents")
	assert.Nil(t, m.tasks())
	for _, k := range []Task{
		{Begun: 100, Ended: 107, Requests: 3, Agents: 1, Waiting: 1, Prompts: 2, Generation: 4},
		{Begun: 200, Ended: 203, Requests: 5, Agents: 2, Tools: 3},
		{Begun: 99, Ended: 999, Requests: 9, Agents: 9, Tools: 900},
		{Begun: 150, Ended: 160, Ending: TaskFailed}, {Begun: 150, Ended: 160, Ending: TaskFull},
		{Begun: 99, Ended: 160, Ending: TaskFailed}, {Begun: 150, Ended: 160, Ending: TaskUnfinished},
	} {
		m.Task(&k)
	}
	h, missing = m.of(RuleTask)
	assert.Equal(t, []int64{2, 2}, []int64{h.N(), missing})
	assert.InEpsilon(t, 5e-12, h.MeanS(), 1e-12)
	want := TaskResult{Begun: 7, Completed: 3, Failed: 2, Full: 1, Unfinished: 1, Requests: 4, Agents: 1.5,
		Parts: TaskParts{Waiting: .5e-12, Prompts: 1e-12, Generation: 2e-12, Tools: 1.5e-12}}
	assert.Equal(t, &want, m.tasks())
	m.TasksBegun(12)
	want.Begun, want.Unfinished = 12, 6
	assert.Equal(t, &want, m.tasks())
	assert.False(t, m.Verdicts()[0].Met, "two have no result")
}

// TestARequestMustKeepTheLeastOfLimits: of several on one latency, and a picosecond less where it must be below.
func TestARequestMustKeepTheLeastOfLimits(t *testing.T) {
	r := Rule{Share: 1, Terms: []Term{
		{Metric: RuleTTFT, Limit: 7}, {Metric: RuleTTFT, Limit: 5}, {Metric: RuleTTFT, Limit: 6},
		{Metric: RuleTPOT, Limit: 4, Below: true}, {Metric: RuleE2E, Limit: 9}, {Metric: RuleQueue, Limit: 2},
		{Metric: RuleTTFO, Limit: 8, Below: true}}}
	want := Limits{TTFT: 5, TPOT: 3, E2E: 9, Queue: 2, TTFO: 7}
	assert.Equal(t, want, r.Limits())
	assert.True(t, r.MetBy(want), "they are those that just keep the rule")
	for _, l := range []Limits{{TTFT: 6}, {TPOT: 4}, {E2E: 10}, {Queue: 3}, {TTFO: 8}} {
		assert.False(t, r.MetBy(l), "%+v", l)
	}
	broken := func(v Verdict) bool { return v.Broken() }
	assert.Equal(t, []bool{true, false, false}, []bool{broken(Verdict{}), broken(Verdict{Met: true}),
		broken(Verdict{Unmeasured: "no request arrived"})})
}

// TestLatenciesAreNamedInTheOrderOfTables, and those that a run does not have are left out.
func TestLatenciesAreNamedInTheOrderOfTables(t *testing.T) {
	names := func(l Latency) (all []string) {
		for _, q := range l.Named() {
			all = append(all, q.Name)
		}
		return all
	}
	assert.Equal(t, []string{"TTFT", "ITL", "TPOT", "E2E", "queue"}, names(Latency{}))
	assert.Equal(t, []string{"TTFT", "TTFO", "ITL, chunks", "ITL, tokens", "TPOT", "E2E", "queue", "task"},
		names(Latency{TTFO: &Quantiles{}, Task: &Quantiles{}, ITL: Quantiles{N: 2}, ITLChunk: Quantiles{N: 1}}))
}

// TestAnIntervalWithoutAnEndHasNoneInJSON, since JSON has no infinity.
func TestAnIntervalWithoutAnEndHasNoneInJSON(t *testing.T) {
	for r, want := range map[Range]string{
		{1, 2}: `{"low":1,"high":2}`, {0.5, math.Inf(1)}: `{"low":0.5,"high":null}`,
	} {
		data, err := json.Marshal(r)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(data))
	}
}

// TestTheLimitIsWhatMostTokensWaitFor: half of the tokens in compute-bound steps are not most.
func TestTheLimitIsWhatMostTokensWaitFor(t *testing.T) {
	for tokens, want := range map[int]string{1: "memory", 4: "memory", 5: "compute", 9: "compute"} {
		var m Recorder
		g := sim.Segment{First: 1000, Steps: 1}
		g.Part[sim.Weights].A, g.Bound.A = 1000, 800
		m.Run(nil, 0, &g, 1, 4)
		g.ComputeBound = true
		m.Run(nil, 0, &g, 1, tokens)
		b := m.Bound()
		assert.Equal(t, want, b.Limit, "%d of %d", tokens, tokens+4)
		assert.InEpsilon(t, 0.8, b.FractionOfBound, 1e-12)
		assert.InEpsilon(t, 1, b.Share.Weights, 1e-12)
	}
	assert.Equal(t, Bound{}, new(Recorder).Bound())
}

// TestBucketsAreVisitedInOrder: each with its number of values, all of which a bucket is within a thousandth of.
func TestBucketsAreVisitedInOrder(t *testing.T) {
	var h Hist
	h.Add(2*sim.Second, 3)
	h.Add(sim.Millisecond, 2)
	h.Add(5*sim.Second, 1)
	var at []float64
	var n []int64
	h.Each(func(seconds float64, count int64) { at, n = append(at, seconds), append(n, count) })
	assert.Equal(t, []int64{2, 3, 1}, n)
	assert.InEpsilonSlice(t, []float64{0.001, 2, 5}, at, 1e-3)
	assert.LessOrEqual(t, at[2], 5.0, "no bucket lies beyond the longest value")
}

// TestCachedTokensAreThoseOfATier: of 1,000 prompt tokens 500 were cached, of which host memory had 200, and tiers
// below it 60 and 40 of these.
func TestCachedTokensAreThoseOfATier(t *testing.T) {
	pool := &sim.Pool{PoolSpec: sim.PoolSpec{Tiers: []sim.Tier{{Name: "disk"}, {Name: "store"}}}}
	var r PoolResult
	r.countTiers(pool, &sim.PoolTotals{Prompted: 1000, Cached: 500, CachedBelow: 200, Recomputed: 10,
		Tiers: []sim.TierTotals{{Cached: 60, Fetched: 7, Written: 8}, {Cached: 40, Fetched: 9}}})
	assert.Equal(t, []TierHits{{Tier: "gpu", HitRate: .3}, {Tier: "host", HitRate: .1},
		{Tier: "disk", HitRate: .06, FetchedTokens: 7, WrittenTokens: 8},
		{Tier: "store", HitRate: .04, FetchedTokens: 9}}, r.KVTiers)
	assert.InDelta(t, .01, r.RecomputedShare, 1e-15)
	r = PoolResult{}
	r.countTiers(pool, &sim.PoolTotals{Prompted: 1000, Cached: 500})
	assert.Nil(t, r.KVTiers, "there are none")
}

// TestAdaptersAreCountedByRequests: three of four had theirs resident, and two waited for 3 s in all.
func TestAdaptersAreCountedByRequests(t *testing.T) {
	pool := &sim.Pool{PoolSpec: sim.PoolSpec{Adapters: sim.Adapters{Slots: 2, Copies: make([]sim.Duration, 5)}}}
	var r PoolResult
	totals := sim.PoolTotals{BusyS: 8, Adapters: sim.AdapterTotals{Requests: 4, Resident: 3, Copies: 7, Reads: 6,
		CopyingS: 2, Waited: 2, WaitedS: 3}}
	r.countAdapters(pool, &totals)
	assert.Equal(t, &Adapters{N: 5, Slots: 2, Requests: 4, HitRate: .75, Copies: 7, Reads: 6, CopyShare: .25,
		WaitedShare: .5, WaitMeanS: .75}, r.Adapters)
	r = PoolResult{}
	r.countAdapters(new(sim.Pool), &totals)
	assert.Nil(t, r.Adapters, "there are none")
}

// TestTasksThatBeginAreCounted, though none has ended, and are under way then.
func TestTasksThatBeginAreCounted(t *testing.T) {
	m := new(Recorder)
	require.Nil(t, m.tasks())
	m.TasksBegun(3)
	require.Equal(t, []int64{3, 3}, []int64{m.tasks().Begun, m.tasks().Unfinished})
}
