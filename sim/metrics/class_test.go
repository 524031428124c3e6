package metrics

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestAClassHasItsOwnRequests, judged by its own limits.
func TestAClassHasItsOwnRequests(t *testing.T) {
	f := &Full{}
	f.Warmup, f.SLO = 5, Limits{E2E: 20}
	f.SeparateClasses([]Class{{Name: "chat", SLO: Limits{E2E: 10}}, {Name: "batch"}})
	for i, e2e := range []sim.Time{10, 11, 500} {
		r := sim.Request{Class: uint8(i / 2), Arrival: 6, Output: 2, Prompt: 100}
		r.Record = sim.Record{First: 7, Last: 6 + e2e, Emitted: 2, Cached: 16, Preemptions: 1}
		f.First(&r)
		f.Done(&r, 6+e2e, sim.Completed)
	}
	f.Done(&sim.Request{Class: 1, Arrival: 6, Prompt: 9}, 7, sim.Rejected)
	f.Done(&sim.Request{Class: 1, Arrival: 1, Prompt: 9}, 7, sim.Failed)
	got := f.classResults(2, 600)
	assert.Equal(t, &SLO{E2ES: 10e-12, Attainment: 0.5, GoodputPerS: 0.5}, got[0].SLO)
	assert.Nil(t, got[1].SLO)
	assert.Equal(t, &SLO{E2ES: 20e-12, Attainment: 0.5, GoodputPerS: 1}, f.slo(2), "two of three, and one was rejected")
	assert.Equal(t, Requests{Arrived: 2, Completed: 2, Preemptions: 2}, got[0].Requests)
	assert.Equal(t, Requests{Arrived: 3, Completed: 1, Rejected: 1, Failed: 1, Preemptions: 1}, got[1].Requests)
	assert.Equal(t, Tokens{Prompt: 200, PromptCached: 32, Output: 4}, got[0].Tokens)
	assert.EqualValues(t, 2, got[0].Latency.TTFT.N)
	assert.EqualValues(t, 1, got[1].Latency.E2E.N)
	assert.EqualValues(t, 3, f.E2E.N())
}

// TestOneClassTakesAllTokens: an instance counts no classes where there is one.
func TestOneClassTakesAllTokens(t *testing.T) {
	f := &Full{}
	f.SeparateClasses(nil)
	assert.Empty(t, f.classResults(1, 600))
	f.SeparateClasses([]Class{{Name: "all"}})
	g := &sim.Segment{First: 1000, Steps: 3}
	f.Run(new(sim.Instance), 0, g, 3, 7)
	assert.EqualValues(t, 21, f.classes[0].ITL.N())
	assert.EqualValues(t, 21, f.ITL.N())
}

// TestClassesHaveTheChunksOfTheirRequests: nine tokens after the first come in chunks of four, whose gaps are those of
// the class and of the run, in the windows of either.
func TestClassesHaveTheChunksOfTheirRequests(t *testing.T) {
	f := &Full{}
	f.Stream, f.Windows = NewChunks(4), NewWindows(WindowArguments{Width: 10})
	f.SeparateClasses([]Class{{Name: "chat"}, {Name: "batch"}})
	f.WindowClasses([]WindowArguments{{Width: 10}, {Width: 10}})
	for i := range int32(3) {
		r := sim.Request{ID: i, Class: uint8(i / 2), Output: 10, Traced: true}
		r.Record = sim.Record{First: 7, Last: 7 + 9*5, Emitted: 10}
		f.First(&r)
		f.Tokens(&r, 1, 7, &sim.Segment{First: 5, Steps: 9}, 9)
		f.Done(&r, r.Last, sim.Completed)
	}
	want := func(requests int64) *Hist {
		h := new(Hist)
		h.Add(4*5, uint64(2*requests))
		h.Add(5, uint64(requests))
		return h
	}
	assert.Equal(t, want(3).Counts(), f.Stream.Gaps().Counts())
	tokens := want(3)
	tokens.Add(0, 3*6)
	assert.Equal(t, tokens.Counts(), f.Stream.TokenGaps().Counts(), "six of nine come with another")
	for i, n := range []int64{2, 1} {
		assert.Equal(t, want(n).Counts(), f.classes[i].Stream.Gaps().Counts())
		assert.Same(t, f.classes[i].Windows, f.classes[i].Stream.Windows)
	}
	f.Warmup = 9
	f.SeparateClasses([]Class{{Name: "chat"}})
	assert.Equal(t, sim.Time(9), f.classes[0].Stream.Warmup)
}

// TestClassesByWindowSumToTheRun: in every window the requests of all classes are those of the run, what counts as good
// is judged by the limits of the class, and the classes have the windows of the run, whatever was recorded by shards.
func TestClassesByWindowSumToTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		span := rapid.SampledFrom([]int64{1e7, 1e8}).Draw(t, "span")
		limits := []Limits{{TTFT: sim.Duration(span)}, {E2E: sim.Duration(2 * span)}, {}}
		f := &Full{}
		f.Egress = 3 * sim.Microsecond
		f.Windows = NewWindows(WindowArguments{Width: sim.Microsecond, Egress: f.Egress})
		f.SeparateClasses([]Class{{SLO: limits[0]}, {SLO: limits[1]}, {}})
		var of []WindowArguments
		for _, l := range limits {
			of = append(of, WindowArguments{Width: sim.Microsecond, Egress: f.Egress, Limits: l, Attainment: .5})
		}
		f.WindowClasses(of)
		parts, good := []*Full{f.Shard().(*Full), f.Shard().(*Full)}, make([]int64, len(limits))
		for range 60 {
			r := &sim.Request{Output: 3, Class: uint8(rnd.IntN(len(limits))), Arrival: sim.Time(rnd.Int64N(span))}
			r.Admitted = r.Arrival.Add(sim.Duration(rnd.Int64N(span)))
			r.First, r.Emitted = r.Admitted.Add(sim.Duration(rnd.Int64N(span))), 3
			end, m := r.First.Add(sim.Duration(rnd.Int64N(2*span))), parts[rnd.IntN(2)]
			m.First(r)
			m.Done(r, end, sim.Completed)
			if l := limits[r.Class]; l != (Limits{}) && l.met(m.latenciesOf(r, end)) {
				good[r.Class]++
			}
		}
		f.Merge(parts[0])
		f.Merge(parts[1])
		if rapid.Bool().Draw(t, "longer") {
			f.Windows.double() // as it does where there are too many
		}
		end := sim.Time(10 * sim.Second)
		left := f.Windows.Results(end).Windows
		for k, c := range f.classResults(1, end) {
			require.Len(t, c.OverTime.Windows, len(left))
			counted := 0.0
			for i := range left {
				w := &c.OverTime.Windows[i]
				require.Equal(t, [2]float64{left[i].FromS, left[i].ToS}, [2]float64{w.FromS, w.ToS})
				left[i].Arrived -= w.Arrived
				left[i].Completed -= w.Completed
				left[i].Waiting -= w.Waiting
				left[i].TTFT.N -= w.TTFT.N
				if w.Attainment != nil {
					counted += *w.Attainment * float64(w.Completed)
				}
			}
			require.InDelta(t, good[k], counted, 1e-6)
			require.Equal(t, limits[k] != Limits{}, c.OverTime.SLO)
		}
		for i := range left {
			require.Zero(t, [...]int64{left[i].Arrived, left[i].Completed, left[i].Waiting, left[i].TTFT.N}, "window %d", i)
		}
	})
}

// TestAClassWithWindowsHasTheGapsOfItsTokens in its latencies, which are kept by windows.
func TestAClassWithWindowsHasTheGapsOfItsTokens(t *testing.T) {
	f := &Full{}
	f.Windows = NewWindows(WindowArguments{Width: 10})
	f.SeparateClasses([]Class{{Name: "all"}})
	f.WindowClasses([]WindowArguments{{Width: 10}})
	f.Run(new(sim.Instance), 0, &sim.Segment{First: 10, Steps: 3}, 3, 7)
	got := f.classResults(1, 600)
	require.Len(t, got, 1)
	assert.EqualValues(t, 21, got[0].Latency.ITL.N)
	assert.InEpsilon(t, 10e-12, float64(got[0].Latency.ITL.Mean), 1e-9)
}
