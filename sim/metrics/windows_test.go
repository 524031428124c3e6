package metrics

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// drawSegment draws steps that grow, or do not.
func drawSegment(t *rapid.T) *sim.Segment {
	return &sim.Segment{
		First:  sim.Duration(rapid.Int64Range(1e6, 5e10).Draw(t, "first")),
		Growth: sim.Duration(rapid.SampledFrom([]int64{0, 1, 1e4, 3e8}).Draw(t, "growth")), Steps: 1 << 20,
	}
}

// TestStepsFallIntoTheWindowsOfTheirTokens: a run of steps that crosses windows is recorded as if each of its steps
// were recorded by itself in the window in which it ends, for any order of runs and any width, and all windows together
// are the histogram of the whole run.
func TestStepsFallIntoTheWindowsOfTheirTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := WindowArguments{
			Width:  sim.Duration(rapid.SampledFrom([]int64{1e7, 3e9, 1e12}).Draw(t, "width")),
			Egress: sim.Duration(rapid.SampledFrom([]int64{0, 7e8}).Draw(t, "egress")),
		}
		w, twin, all := NewWindows(a), map[int64]*Hist{}, new(Hist)
		for range rapid.IntRange(1, 8).Draw(t, "runs") {
			g, n := drawSegment(t), rapid.IntRange(1, 100).Draw(t, "steps")
			at, tokens := sim.Time(rapid.Int64Range(0, 3e12).Draw(t, "start")), uint64(rapid.IntRange(1, 9).Draw(t, "tokens"))
			w.steps(at, g, n, tokens)
			all.AddRun(g, n, tokens)
			for i := range n {
				at = at.Add(g.Step(i))
				key := int64(at.Add(a.Egress)) / int64(a.Width)
				if twin[key] == nil {
					twin[key] = new(Hist)
				}
				twin[key].Add(g.Step(i), tokens)
			}
		}
		together, doubled, wide := new(Hist), int64(w.width)/int64(a.Width), map[int64]*Hist{}
		for key, x := range twin {
			if wide[key/doubled] == nil {
				wide[key/doubled] = new(Hist)
			}
			wide[key/doubled].Merge(x)
		}
		for i := range w.list {
			x := &w.list[i].of[RuleITL]
			x.addTo(together)
			if want := wide[int64(i)]; want != nil {
				h := new(Hist)
				x.addTo(h)
				require.Equal(t, want.Counts(), h.Counts(), "window %d", i)
			} else {
				require.Zero(t, x.n)
			}
		}
		require.Equal(t, all.Counts(), together.Counts())
		require.LessOrEqual(t, len(w.list), windowsMax)
	})
}

// TestWindowsOfPartsMerge: what several recorders saw of a run, in any order of time, is what one would have seen, even
// where one of them had to double its windows.
func TestWindowsOfPartsMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		span := rapid.SampledFrom([]int64{1e8, 1e9, 1e9, 1e10}).Draw(t, "span")
		newRecorder := func() *Recorder {
			m := &Recorder{Egress: 5 * sim.Microsecond, SLO: Limits{TTFT: sim.Duration(span), TPOT: sim.Duration(span / 2)}}
			m.Windows = NewWindows(WindowArguments{Width: 10 * sim.Microsecond, Egress: m.Egress, Limits: m.SLO,
				Attainment: .9, Rules: Rules{rule(RuleE2E, 95, sim.Duration(span)), rule(RuleQueue, Max, sim.Duration(span/2))}})
			return m
		}
		one, parts := newRecorder(), []*Recorder{newRecorder(), newRecorder()}
		for range 50 {
			r := &sim.Request{Output: 3, Arrival: sim.Time(rnd.Int64N(span))}
			r.Admitted = r.Arrival.Add(sim.Duration(rnd.Int64N(span)))
			r.First = r.Admitted.Add(sim.Duration(rnd.Int64N(span)))
			r.Emitted = 3
			end, outcome := r.First.Add(sim.Duration(rnd.Int64N(2*span))), sim.Outcome(rnd.IntN(int(sim.NumOutcomes)))
			if outcome == sim.Rejected {
				r.Emitted = 0
			}
			for _, m := range []*Recorder{one, parts[rnd.IntN(2)]} {
				if r.Emitted > 0 {
					m.First(r)
				}
				m.Done(r, end, outcome)
				m.Burst(nil, end, 2)
			}
		}
		merged := newRecorder()
		for _, m := range parts {
			merged.Merge(m)
		}
		end := sim.Time(10 * sim.Second)
		require.Equal(t, one.Windows.Results(end), merged.Windows.Results(end))
	})
}

// TestOneWindowOfTheWholeRunJudgesAsTheRun.
func TestOneWindowOfTheWholeRunJudgesAsTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		limit := sim.Duration(1 + rnd.Int64N(2e12))
		m := &Recorder{Thinks: true, Rules: Rules{
			rule(RuleTTFT, 95, limit), rule(RuleITL, 90, limit/10), rule(RuleTPOT, 50, limit), rule(RuleE2E, 99, 2*limit),
			rule(RuleQueue, Mean, limit), rule(RuleTask, 80, 3*limit), rule(RuleTTFO, 90, limit),
			{Share: .5, Terms: []Term{{Metric: RuleE2E, Limit: limit}}},
		}}
		m.Windows = NewWindows(WindowArguments{Width: 100 * sim.Second, Rules: m.Rules})
		for i := range 1 + rnd.IntN(200) {
			r := &sim.Request{Output: 3, Arrival: sim.Time(rnd.Int64N(1e12))}
			r.Admitted = r.Arrival.Add(sim.Duration(rnd.Int64N(1e12)))
			r.First, r.Emitted = r.Admitted.Add(sim.Duration(rnd.Int64N(1e12))), 3
			if i > 0 && rnd.IntN(10) == 0 {
				r.Emitted = 0
				m.Done(r, r.Admitted, sim.Rejected)
				continue
			}
			r.Reasoning = int32(rnd.IntN(4)) // three of three: there is nothing to read
			if r.Reasoning%3 > 0 {
				r.Visible = r.First.Add(sim.Duration(rnd.Int64N(1e12)))
			}
			m.First(r)
			m.Run(nil, r.First, &sim.Segment{First: sim.Duration(1 + rnd.Int64N(1e11)), Steps: 9}, 1, 1)
			m.Burst(nil, r.First, 1)
			m.Done(r, r.First.Add(sim.Duration(rnd.Int64N(2e12))), sim.Completed)
		}
		for i := range 1 + rnd.IntN(30) {
			task := &Task{Begun: sim.Time(rnd.Int64N(1e12)), Requests: 2}
			if i > 0 {
				task.Ending = Ending(rnd.IntN(int(numEndings)))
			}
			task.Ended = task.Begun.Add(sim.Duration(rnd.Int64N(6e12)))
			m.Task(task)
		}
		m.Gather()
		verdicts, missed := m.Verdicts(), []string(nil)
		for _, v := range verdicts {
			if !v.Met {
				missed = append(missed, v.Rule)
			}
		}
		o := m.Windows.Results(sim.Time(50 * sim.Second))
		require.Len(t, o.Windows, 1)
		require.Equal(t, missed, o.Windows[0].Missed)
		require.Equal(t, m.TTFT.Quantiles().P99, o.Windows[0].TTFT.P99)
		require.Equal(t, m.ChunkGaps().Quantiles().P95, o.Windows[0].ITLChunk.P95)
	})
}

// answered sends a request that arrives at one second and has its first token at another, of which it has no more.
func answered(m *Recorder, arrivalS, firstS float64) {
	r := &sim.Request{Output: 1, Arrival: sim.Time(sim.Seconds(arrivalS))}
	r.Admitted, r.First, r.Emitted = r.Arrival, sim.Time(sim.Seconds(firstS)), 1
	m.First(r)
	m.Done(r, r.First, sim.Completed)
}

// burstOf records a request a second that is answered after half a second and, from 20 s to 30 s, ten a second more
// that are answered one a second from 30 s on.
func burstOf(m *Recorder) {
	for s := range 200 {
		answered(m, float64(s)+.1, float64(s)+.6)
	}
	for i := range 100 {
		answered(m, 20+float64(i)/10, 30.7+float64(i))
	}
}

// TestNothingIsBrokenWhileNobodyWaits: windows without anything to judge go on with a break while requests wait.
func TestNothingIsBrokenWhileNobodyWaits(t *testing.T) {
	m := &Recorder{}
	m.Windows = NewWindows(WindowArguments{Width: 10 * sim.Second, Rules: Rules{rule(RuleTTFT, Max, sim.Second)}})
	answered(m, 1, 5)
	answered(m, 6, 35) // nothing between 10 s and 30 s, and it waits
	answered(m, 61, 65)
	o := m.Windows.Results(sim.Time(70 * sim.Second))
	assert.Equal(t, []Span{{0, 40}, {60, 70}}, o.Broken)
	at := func(s float64) *float64 { return &s }
	assert.Equal(t, []Firing{{10, at(50)}, {70, nil}}, o.Alerts[0].Fired)
}

func TestABurstBreaksTheSLOUntilItsBacklogIsGone(t *testing.T) {
	slow := rule(RuleTTFT, 90, sim.Second)
	m := &Recorder{}
	m.Windows = NewWindows(WindowArguments{Width: 10 * sim.Second, Rules: Rules{slow}, Alerts: []Alert{
		{Rule: slow, Over: 10 * sim.Second}, {Rule: slow, Over: 10 * sim.Second, For: 25 * sim.Second},
		{Rule: slow, Over: 40 * sim.Second, For: 30 * sim.Second}, {Rule: rule(RuleTTFT, Max, 99*sim.Second)},
	}})
	burstOf(m)
	o := m.Windows.Results(sim.Time(sim.Seconds(199.6)))
	require.Len(t, o.Windows, 20)
	assert.Equal(t, []Span{{30, 130}}, o.Broken, "the last of the burst has its token at 129.7 s")
	endS := 120.0 // ten wait
	assert.Equal(t, &Backlog{Requests: 100, PeakS: 30, EndS: &endS}, o.Backlog)
	assert.Equal(t, 199.6, o.Windows[19].ToS)
	at := func(s float64) *float64 { return &s }
	assert.Equal(t, []Firing{{40, at(140)}}, o.Alerts[0].Fired, "at the end of the first window that breaks it")
	assert.Equal(t, []Firing{{70, at(140)}}, o.Alerts[1].Fired, "broken since 40 s")
	assert.Equal(t, []Firing{{70, at(170)}}, o.Alerts[2].Fired, "four windows have a slow one among ten until 160 s")
	assert.Empty(t, o.Alerts[3].Fired)
}

// TestAWindowMayBeginWithAnArrival, of which nothing else is known when it is over, since the run has ended.
func TestAWindowMayBeginWithAnArrival(t *testing.T) {
	for _, egress := range []sim.Duration{0, 3 * sim.Millisecond} {
		m := Recorder{Egress: egress, Windows: NewWindows(WindowArguments{Width: sim.Second, Egress: egress})}
		for i := range 5 {
			at := sim.Time(i) * sim.Time(sim.Second)
			m.Done(&sim.Request{Arrival: at}, at, sim.Unfinished)
			m.Done(&sim.Request{Arrival: at.Add(sim.Second - 1)}, at, sim.Unfinished)
		}
		windows := m.Windows.Results(sim.Time(5 * sim.Second)).Windows
		require.Len(t, windows, 5)
		for i, w := range windows {
			assert.EqualValues(t, 2, w.Arrived, "window %d", i)
			assert.EqualValues(t, 2*(i+1), w.Waiting, "window %d: none has been answered", i)
		}
	}
}

// TestWindowsDoubleWhereTheyAreTooMany: the instant at which one more would begin. None has no width.
func TestWindowsDoubleWhereTheyAreTooMany(t *testing.T) {
	require.NotPanics(t, func() { NewWindows(WindowArguments{Width: 1}) })
	require.Panics(t, func() { NewWindows(WindowArguments{}) })
	w := NewWindows(WindowArguments{Width: 10})
	w.at(10*windowsMax - 1)
	require.Equal(t, sim.Duration(10), w.width)
	require.Len(t, w.list, windowsMax)
	w.at(10 * windowsMax)
	require.Equal(t, sim.Duration(20), w.width)
	require.Len(t, w.list, windowsMax/2+1)
}

// TestATokenAtTheEndOfAWindowIsOfTheNext, and one a picosecond before is not: of steps that take a quarter of a window.
func TestATokenAtTheEndOfAWindowIsOfTheNext(t *testing.T) {
	for early, want := range map[sim.Duration][]uint64{0: {0, 3, 4, 4, 1}, 1: {0, 4, 4, 4}} {
		w := NewWindows(WindowArguments{Width: 4 * sim.Millisecond})
		w.steps(sim.Time(4*sim.Millisecond-early), &sim.Segment{First: sim.Millisecond, Steps: 12}, 12, 1)
		var got []uint64
		for i := range w.list {
			got = append(got, w.list[i].of[RuleITL].n)
		}
		require.Equal(t, want, got, "%d ps", early)
	}
}

// TestABacklogIsFarMoreThanUsuallyWait: compared with its definition, over runs of windows that meet the SLO, break it
// or have nothing to judge. Half of the windows that met it had no more waiting than the usual number.
func TestABacklogIsFarMoreThanUsuallyWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var windows []WindowResult
		var met []int64
		missed := false
		for i := range rapid.IntRange(1, 12).Draw(t, "windows") {
			w := WindowResult{FromS: float64(i), ToS: float64(i + 1), Waiting: rapid.Int64Range(0, 40).Draw(t, "waiting")}
			if kind := rapid.IntRange(0, 4).Draw(t, "kind"); kind > 0 {
				good := kind > 1
				w.Met = &good
				missed = missed || !good
				if good {
					met = append(met, w.Waiting)
				}
			}
			windows = append(windows, w)
		}
		few := int64(10)
		for _, usual := range met {
			below, upTo := 0, 0
			for _, n := range met {
				if n < usual {
					below++
				}
				if n <= usual {
					upTo++
				}
			}
			if below <= len(met)/2 && upTo > len(met)/2 {
				few = 10 + 2*usual
			}
		}
		var want *Backlog
		for i := range windows {
			if n := windows[i].Waiting; missed && n > few && (want == nil || n > want.Requests) {
				want = &Backlog{Requests: n, PeakS: windows[i].ToS}
			} else if want != nil && want.EndS == nil && n <= few {
				want.EndS = &windows[i].ToS
			}
		}
		require.Equal(t, want, backlog(windows), "%d are few: %+v", few, windows)
	})
}

// TestTheUsualQueueIsTheMedian of windows in any order: of 9, 1 and 5 it is 5, so that more than 20 are many.
func TestTheUsualQueueIsTheMedian(t *testing.T) {
	good, bad := true, false
	for many, want := range map[int64]*Backlog{20: nil, 21: {Requests: 21, PeakS: 4}} {
		for _, usual := range [][]int64{{1, 5, 9}, {5, 1, 9}, {9, 1, 5}, {1, 9, 5}, {9, 5, 1}, {5, 9, 1}} {
			var windows []WindowResult
			for i, n := range usual {
				windows = append(windows, WindowResult{ToS: float64(i + 1), Waiting: n, Met: &good})
			}
			require.Equal(t, want, backlog(append(windows, WindowResult{ToS: 4, Waiting: many, Met: &bad})), usual)
		}
	}
}

// TestTokensThatComeTogetherAreOneChunk, be it one of them: the gaps between chunks are those that are not zero.
func TestTokensThatComeTogetherAreOneChunk(t *testing.T) {
	for together := range 3 {
		m := &Recorder{Windows: NewWindows(WindowArguments{Width: 10 * sim.Second, Rules: Rules{
			rule(RuleITL, 50, sim.Second/2)}})}
		answered(m, 1, 2)
		m.Run(nil, sim.Time(2*sim.Second), &sim.Segment{First: sim.Second, Steps: 9}, 2, 1)
		if together > 0 {
			m.Burst(nil, sim.Time(4*sim.Second), together)
		}
		w := m.Windows.Results(sim.Time(5 * sim.Second)).Windows[0]
		assert.EqualValues(t, 2+together, w.ITL.N)
		assert.Equal(t, []string{"itl p50 <= 500ms"}, w.Missed, "of chunks, %d tokens came with another", together)
		if together == 0 {
			assert.Nil(t, w.ITLChunk)
			continue
		}
		assert.EqualValues(t, 2, w.ITLChunk.N)
		assert.InEpsilon(t, 1, float64(w.ITLChunk.P50), .02)
	}
}
