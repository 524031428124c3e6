package views_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// TestASampleCountsWhatEnds: every request, be it in the sample or not, by what its client saw. Limits on single
// requests are met by what is as long as they are.
func TestASampleCountsWhatEnds(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		f, stream := &metrics.Full{}, views.Stream{RTT: sim.Duration(2 * r.Int64N(3))}
		limit := func() sim.Duration { return sim.Duration(r.Int64N(2) * r.Int64N(12)) }
		f.SLO, f.Warmup = metrics.Limits{TTFT: limit(), TPOT: limit(), E2E: limit()}, sim.Time(r.Int64N(4))
		s := views.NewSample(f, 2, views.NewWire(stream, 1))
		want, e2e, ended := views.Counts{First: sim.Forever}, sim.Duration(0), []int32(nil)
		within := func(d, limit sim.Duration) bool { return limit == 0 || d <= limit }
		for id := range int32(12) {
			q := &sim.Request{ID: id, Prompt: 1 + r.Int32N(9), Output: 9, Traced: id%2 == 0, Arrival: sim.Time(r.Int64N(30))}
			n, o := 1+r.Int32N(3), sim.Outcome(r.IntN(int(sim.NumOutcomes)))
			q.First = q.Arrival.Add(1 + sim.Duration(r.Int64N(6)))
			at := q.First.Add(sim.Duration(r.Int64N(5)) * sim.Duration(n-1))
			q.Last, q.Emitted = q.First, n
			s.First(q)
			s.Done(q, at, o)
			if q.Arrival < f.Warmup {
				continue
			}
			want.First, want.LastSent = min(want.First, q.Arrival), max(want.LastSent, q.Arrival)
			if q.Traced && o != sim.Unfinished {
				ended = append(ended, id)
			}
			switch o {
			case sim.Unfinished:
				want.Unfinished++
				continue
			case sim.Completed:
			default:
				want.Failed++
				continue
			}
			toFirst, toLast, each := q.First.Sub(q.Arrival)+stream.RTT/2, at.Sub(q.Arrival)+stream.RTT/2, sim.Duration(0)
			good := int64(0)
			if n > 1 {
				each = at.Sub(q.First) / sim.Duration(n-1)
			}
			if within(toFirst, f.SLO.TTFT) && within(each, f.SLO.TPOT) && within(toLast, f.SLO.E2E) {
				good = 1
			}
			v := &want.Verdicts
			if n > 1 {
				v.Many, v.GoodMany = v.Many+1, v.GoodMany+good
			} else {
				v.Single, v.GoodSingle = v.Single+1, v.GoodSingle+good
			}
			want.Completed, want.Prompt, want.Output = want.Completed+1, want.Prompt+int64(q.Prompt), want.Output+int64(n)
			e2e += toLast
		}
		got := s.Counts()
		require.InDelta(t, e2e.Seconds(), got.E2ES, 1e-18)
		want.E2ES = got.E2ES
		require.Equal(t, want, got, "seed %d", seed)
		var ids []int32
		for _, record := range s.Records() {
			ids = append(ids, record.ID)
		}
		require.Equal(t, ended, ids, "seed %d", seed)
	}
}

// TestASampleIsThinnedAtItsLimit: as more than 4,000 of its records have a token, of which every other request goes.
// Those without one take no room.
func TestASampleIsThinnedAtItsLimit(t *testing.T) {
	s := views.NewSample(&metrics.Full{}, 1, views.NewWire(views.Stream{}, 1))
	every, counted := int32(1), []int32(nil)
	for id := range int32(20_000) {
		r := &sim.Request{ID: id, Prompt: 1, Output: 1, Traced: true}
		o := sim.Failed
		if id%12 != 8 {
			r.First, r.Emitted, o = 5, 1, sim.Completed
			s.First(r)
			if id%every == 0 {
				counted = append(counted, id)
			}
		}
		s.Done(r, 5, o)
		if len(counted) > 4000 {
			every *= 2
			counted = slices.DeleteFunc(counted, func(of int32) bool { return of%every != 0 })
		}
		require.Equal(t, every, s.Every(), "after request %d", id)
	}
	assert.EqualValues(t, 4, every)
}

// TestTokensOfTheFirstStepAreOneChunk, where drafts have been accepted with it.
func TestTokensOfTheFirstStepAreOneChunk(t *testing.T) {
	s := views.NewSample(&metrics.Full{}, 1, views.NewWire(views.Stream{}, 1))
	r := &sim.Request{Prompt: 1, Output: 3, Traced: true, Record: sim.Record{First: 5, Last: 5, Emitted: 1}}
	s.First(r)
	s.Accepted(r, 1, 5, 2)
	s.Done(r, 5, sim.Completed)
	assert.Equal(t, []views.Chunk{{At: 5, Tokens: 3}}, s.Records()[0].Steps)
}

// sampledRows names the rows of a tool that only the sample has.
func sampledRows(t *testing.T, tool string, run *views.Run) (names []string) {
	t.Helper()
	named, ok := views.Named(tool)
	require.True(t, ok)
	for _, row := range views.Of(named, run).Rows {
		if row.Sampled {
			names = append(names, row.Key)
		}
	}
	return names
}

// TestWhatTheRecorderKnowsIsOfAllRequests: latencies are, unless a client's times are not the engine's or some requests
// had a token and were not completed; gaps are while chunks are steps, or where chunks are followed.
func TestWhatTheRecorderKnowsIsOfAllRequests(t *testing.T) {
	of := func(change func(*views.Run)) *views.Run {
		f := &metrics.Full{}
		f.TTFT.One(sim.Second)
		f.E2E.One(3 * sim.Second)
		f.TPOT.One(sim.Second)
		f.ITL.Add(sim.Second, 2)
		r := &views.Run{Full: f, Every: 1, DurationS: 3, Counts: views.Counts{Completed: 1}}
		change(r)
		return r
	}
	named, _ := views.Named("vllm")
	keys := map[views.Kind]string{}
	for _, m := range named.Measures {
		keys[m.Kind] = m.Key
	}
	all := []string{keys[views.TTFT], keys[views.TPOT], keys[views.ITL], keys[views.E2E]}
	failed := func(r *views.Run) { r.Full.TTFT.One(sim.Second) }
	followed := func(r *views.Run) {
		r.Stream.Interval, r.Full.Stream = 3, metrics.NewChunks(3)
		r.Full.Stream.First(&sim.Request{})
		for i := range 3 {
			r.Full.Stream.One(&sim.Request{}, sim.Time(i+1)*sim.Time(sim.Second))
		}
	}
	assert.Empty(t, sampledRows(t, "vllm", of(func(*views.Run) {})))
	assert.ElementsMatch(t, all, sampledRows(t, "vllm", of(func(r *views.Run) { r.Stream.Jitter = 1 })))
	assert.ElementsMatch(t, []string{keys[views.TTFT], keys[views.ITL]}, sampledRows(t, "vllm", of(failed)))
	assert.Equal(t, []string{keys[views.ITL]}, sampledRows(t, "vllm", of(func(r *views.Run) { r.Stream.Interval = 3 })))
	chunks := of(followed)
	assert.Empty(t, sampledRows(t, "vllm", chunks))
	assert.InDelta(t, 3, views.Of(named, chunks).Row(views.ITL).Mean(), 1e-9, "three tokens of a second are a chunk")
	server := of(func(r *views.Run) { r.Stream.Jitter = 1 })
	assert.Empty(t, sampledRows(t, "prometheus", server), "no server sees what is between it and its clients")
	server.Full = nil
	assert.NotEmpty(t, sampledRows(t, "prometheus", server))
	for single, want := range map[int64]bool{0: false, 1: true, 2: true} {
		r := of(func(r *views.Run) { r.Counts.Verdicts.Single = single })
		got := false
		for _, key := range sampledRows(t, "inference-perf", r) {
			got = got || key == "time_to_first_token"
		}
		assert.Equal(t, want, got, "%d have one token, of which it has no TTFT", single)
	}
}

// TestQuantilesOfBucketsAreLinear between what is at their ends: a quarter is below 25 ms and the rest below 50 ms. Of
// nothing there is none.
func TestQuantilesOfBucketsAreLinear(t *testing.T) {
	tool, _ := views.Named("prometheus")
	itl := views.Of(tool, run(record(0, 5, 45, 85, 125))).Keyed("vllm:inter_token_latency_seconds")
	assert.InDelta(t, .025+.025*(.5-.25)/.75, itl.Percentile(.5), 1e-12)
	assert.InDelta(t, .01*.2/.25, itl.Percentile(.2), 1e-12, "from 0 in the first")
	none := views.Of(tool, run()).Keyed("vllm:inter_token_latency_seconds")
	got := none.Percentile(.5)
	assert.True(t, got != got, "not a number")
}

// TestTheSecondTokenComesAfterTheFirst, if there is one.
func TestTheSecondTokenComesAfterTheFirst(t *testing.T) {
	m := measure(t, "aiperf", "time_to_second_token")
	one, two := record(10), record(10, 35)
	values, _ := m.Values(&one)
	assert.Empty(t, values)
	values, _ = m.Values(&two)
	require.Len(t, values, 1)
	assert.InDelta(t, .025, values[0], 1e-12)
}

// TestAnAnswerOfTwoTokensHasAFirst for inference-perf, and one of a single token has none.
func TestAnAnswerOfTwoTokensHasAFirst(t *testing.T) {
	m := measure(t, "inference-perf", "time_to_first_token")
	one, two := record(10), record(10, 35)
	values, _ := m.Values(&one)
	assert.Empty(t, values)
	values, _ = m.Values(&two)
	assert.Equal(t, []float64{.010}, values)
}

// TestSomeToolsHaveASchema: those whose results can be written as they write them.
func TestSomeToolsHaveASchema(t *testing.T) {
	var names []string
	for _, tool := range append(views.Tools(), views.Others()...) {
		if tool.Schema {
			names = append(names, tool.Name)
		}
	}
	assert.Equal(t, []string{"vllm", "aiperf", "guidellm", "inference-perf"}, names)
}

// TestUnitsAreWhatTheyAreCalled.
func TestUnitsAreWhatTheyAreCalled(t *testing.T) {
	for _, tool := range append(views.Tools(), views.Others()...) {
		for _, m := range tool.Measures {
			want := map[string]float64{"ms": 1e-3}[m.Unit.Name]
			if want == 0 {
				want = 1
			}
			assert.Equal(t, want, m.Unit.Size, "%s %s in %s", tool.Name, m.Key, m.Unit.Name)
		}
	}
	_, outputs := views.Tokens([]views.Record{record(1, 2), record(3)})
	assert.EqualValues(t, 2, outputs.Weight())
	assert.InDelta(t, 1, outputs.Mode(), 0, "the least of two that come once each")
}

// TestWhatIsAtABoundIsBelowIt, as in the buckets of a server: of answers with 1, 2, 2 and 4 tokens three have no more
// than two.
func TestWhatIsAtABoundIsBelowIt(t *testing.T) {
	_, outputs := views.Tokens([]views.Record{record(1), record(1, 2), record(3, 4), record(1, 2, 3, 4)})
	for x, want := range map[float64]float64{0.5: 0, 1: .25, 1.5: .25, 2: .75, 3: .75, 4: 1, 9: 1} {
		assert.InDelta(t, want, outputs.Below(x), 1e-12, "%g tokens", x)
	}
	_, none := views.Tokens(nil)
	of := none.Below(1)
	assert.True(t, of != of, "not a number")
}
