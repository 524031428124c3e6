package workloads

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// listed is a source of given requests.
type listed struct{ list []sim.Request }

func (l *listed) Next(r *sim.Request) bool {
	if len(l.list) == 0 {
		return false
	}
	*r, l.list = l.list[0], l.list[1:]
	return true
}

// numbered returns so many requests, of so many classes in turn.
func numbered(n, classes int) (list []sim.Request) {
	for i := range n {
		list = append(list, sim.Request{ID: int32(i), Prompt: 1, Output: 1, Class: uint8(i % classes)})
	}
	return list
}

// drawn returns the adapters that the requests get.
func drawn(t *testing.T, list []sim.Request, m AdapterMix) (adapters []uint16) {
	source, _, err := NewAdapted(&listed{list}, m, nil, 1)
	require.NoError(t, err)
	for _, r := range sourcetest.Drain(source) {
		adapters = append(adapters, r.Adapter)
	}
	return adapters
}

// TestAdaptersAreAskedForAsTheirLawSays: a share of the requests has none, and the k-th is asked for in proportion to
// k^-zipf or to its weight, within four standard errors.
func TestAdaptersAreAskedForAsTheirLawSays(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		law  Adapters
		want []float64 // of none, of the first and so on
	}{
		{Adapters{Count: 3, Zipf: 1}, []float64{0, 6. / 11, 3. / 11, 2. / 11}},
		{Adapters{Count: 4, BaseShare: .6}, []float64{.6, .1, .1, .1, .1}},
		{Adapters{Count: 3, Weights: []float64{1, 0, 3}, BaseShare: .2}, []float64{.2, .2, 0, .6}},
		{Adapters{Count: 2, BaseShare: 1}, []float64{1, 0, 0}},
	} {
		counts := make([]float64, len(c.want))
		for _, a := range drawn(t, numbered(n, 1), AdapterMix{All: &c.law}) {
			counts[a]++
		}
		for i, p := range c.want {
			require.InDelta(t, n*p, counts[i], 4*math.Sqrt(n*p*(1-p))+1e-9, "adapter %d of %+v", i, c.law)
		}
	}
}

// TestASessionKeepsItsAdapter: as do all answers to a prompt, and others differ.
func TestASessionKeepsItsAdapter(t *testing.T) {
	list := numbered(300, 1)
	for i := range list {
		list[i].Session = int32(1 + i%100)
	}
	law := AdapterMix{All: &Adapters{Count: 50}}
	got := drawn(t, list, law)
	require.Equal(t, got[:100], got[100:200])
	require.Equal(t, got[:100], got[200:])
	law.Answers = 3
	distinct := map[uint16]bool{}
	for i, a := range drawn(t, numbered(300, 1), law) {
		if i%3 == 0 {
			distinct[a] = true
			got[0] = a
		}
		require.Equal(t, got[0], a, "answer %d", i)
	}
	require.Greater(t, len(distinct), 30)
}

// TestPromptsWithOneAnswerHaveTheirOwnAdapters: where nothing is said of answers each prompt has one, and two that
// follow each other have the same of fifty adapters as rarely as chance has it: 6 of 300 times.
func TestPromptsWithOneAnswerHaveTheirOwnAdapters(t *testing.T) {
	law := AdapterMix{All: &Adapters{Count: 50}}
	got := drawn(t, numbered(301, 1), law)
	same := 0
	for i := range 300 {
		if got[i] == got[i+1] {
			same++
		}
	}
	require.Less(t, same, 20)
	law.Answers = 1
	require.Equal(t, got, drawn(t, numbered(301, 1), law))
}

// TestAClassMayHaveAdaptersOfItsOwn: they are numbered behind those of all, and have ranks of their own.
func TestAClassMayHaveAdaptersOfItsOwn(t *testing.T) {
	m := AdapterMix{All: &Adapters{Count: 2, Rank: 8}, Classes: []*Adapters{nil, {Count: 3, Rank: 64}, nil}}
	source, ranks, err := NewAdapted(&listed{numbered(600, 3)}, m, nil, 1)
	require.NoError(t, err)
	require.Equal(t, []int{8, 8, 64, 64, 64}, ranks)
	seen := map[uint8]map[uint16]int{0: {}, 1: {}, 2: {}}
	for _, r := range sourcetest.Drain(source) {
		seen[r.Class][r.Adapter]++
	}
	require.Len(t, seen[1], 3)
	for a := range seen[1] {
		require.Greater(t, a, uint16(2))
	}
	for _, class := range []uint8{0, 2} {
		require.Len(t, seen[class], 2)
		require.Positive(t, seen[class][1])
		require.Positive(t, seen[class][2])
	}
	m.All = nil
	for i, a := range drawn(t, numbered(300, 3), m) {
		require.Equal(t, i%3 == 1, a > 0, "request %d: only the class has some", i)
	}
}

// TestAdaptersOfAllAreThoseOfEachClass, where no class has adapters of its own, and in the same shares.
func TestAdaptersOfAllAreThoseOfEachClass(t *testing.T) {
	seen := [3]map[uint16]int{{}, {}, {}}
	for i, a := range drawn(t, numbered(600, 3), AdapterMix{All: &Adapters{Count: 2, Rank: 8}}) {
		seen[i%3][a]++
	}
	for class, of := range seen {
		require.Len(t, of, 2, "class %d", class)
		require.Positive(t, of[1])
		require.Positive(t, of[2])
	}
}

// TestAdaptersShareNoContents: requests of one adapter share what they shared, and of two nothing; those of the model
// keep theirs.
func TestAdaptersShareNoContents(t *testing.T) {
	var tree sim.Contents
	prefix := tree.Add(0, 100)
	prompt := tree.Add(prefix, 20)
	list := numbered(400, 1)
	for i := range list {
		list[i].Content = prompt
	}
	source, _, err := NewAdapted(&listed{list}, AdapterMix{All: &Adapters{Count: 3, BaseShare: .3}}, &tree, 1)
	require.NoError(t, err)
	node := map[uint16]int32{}
	for _, r := range sourcetest.Drain(source) {
		if n, ok := node[r.Adapter]; ok {
			require.Equal(t, n, r.Content)
		}
		node[r.Adapter] = r.Content
		require.Equal(t, int32(120), tree.Tokens(r.Content))
		require.Equal(t, int32(100), tree.Tokens(tree.Parent(r.Content)))
	}
	require.Len(t, node, 4)
	require.Equal(t, prompt, node[0])
	parents := map[int32]bool{}
	for _, n := range node {
		parents[tree.Parent(n)] = true
	}
	require.Len(t, parents, 4)
}

// TestNamedAdaptersAreNotDrawn: requests keep those that their source names.
func TestNamedAdaptersAreNotDrawn(t *testing.T) {
	list := numbered(3, 1)
	list[0].Adapter, list[2].Adapter = 2, 1
	require.Equal(t, []uint16{2, 0, 1}, drawn(t, list, AdapterMix{All: &Adapters{Count: 2}, Named: true}))
}

// TestAdaptersThatCannotBeAreRefused: by the key that they are in.
func TestAdaptersThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct {
		law  Adapters
		want string
	}{
		{Adapters{}, "adapters.count"},
		{Adapters{Count: sim.AdaptersMax + 1}, "adapters.count"},
		{Adapters{Count: 2, Weights: []float64{1}}, "adapters.weights"},
		{Adapters{Count: 2, Weights: []float64{1, -1}}, "adapters.weights"},
		{Adapters{Count: 2, Weights: []float64{1, math.NaN()}}, "adapters.weights"},
		{Adapters{Count: 2, Weights: []float64{0, 0}}, "adapters.weights"},
		{Adapters{Count: 2, Weights: []float64{1, 2}, Zipf: 1}, "adapters.zipf"},
		{Adapters{Count: 2, Zipf: -1}, "adapters.zipf"},
		{Adapters{Count: 2, Zipf: math.NaN()}, "adapters.zipf"},
		{Adapters{Count: 2, BaseShare: 1.1}, "adapters.base_share"},
	} {
		_, _, err := NewAdapted(nil, AdapterMix{All: &c.law}, nil, 1)
		require.ErrorContains(t, err, c.want, "%+v", c.law)
		_, _, err = NewAdapted(nil, AdapterMix{Classes: []*Adapters{nil, &c.law}}, nil, 1)
		require.ErrorContains(t, err, "classes[1]."+c.want, "%+v", c.law)
	}
	half := &Adapters{Count: sim.AdaptersMax/2 + 1}
	_, _, err := NewAdapted(nil, AdapterMix{All: half, Classes: []*Adapters{half}}, nil, 1)
	require.ErrorContains(t, err, "classes[0].adapters.count", "too many together")
}

// TestAdaptersAreAddedToWhatAnswersBringAbout: a client of a closed loop sends its next request when it has an answer,
// with an adapter as well, and what ended the source is said through it.
func TestAdaptersAreAddedToWhatAnswersBringAbout(t *testing.T) {
	loop, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 1, Requests: 3,
		Mix: requests.Mix{Prompt: lengths.Fixed(8), Output: lengths.Fixed(4)}}, 1)
	require.NoError(t, err)
	source, ranks, err := NewAdapted(loop, AdapterMix{All: &Adapters{Count: 2, Rank: 16}}, nil, 1)
	require.NoError(t, err)
	require.Equal(t, []int{16, 16}, ranks)
	f, ok := source.(sim.Follower)
	require.True(t, ok, "later requests depend on how earlier ones went")
	var r sim.Request
	for _, at := range []sim.Time{0, 5, 10} {
		require.Equal(t, at, f.When())
		r = sim.Request{}
		require.True(t, source.Next(&r))
		require.NotZero(t, r.Adapter)
		require.Equal(t, at, r.Arrival)
		require.Equal(t, sim.Forever, f.When(), "it waits for the answer")
		f.Done(at+5, &r)
	}
	require.False(t, source.Next(&r))
	require.NoError(t, source.(*AdaptedFollower).Err())
	require.Equal(t, sim.Source(loop), source.(*AdaptedFollower).Unadapted())
}

// TestTheMostAdaptersAreAccepted: of their number, of the exponent of their law and of a weight.
func TestTheMostAdaptersAreAccepted(t *testing.T) {
	for _, law := range []Adapters{{Count: sim.AdaptersMax}, {Count: 2, Zipf: 10, BaseShare: 1},
		{Count: 2, Weights: []float64{0, 1e9}}, {Count: 2, Weights: []float64{1e-9, 0}}} {
		got := drawn(t, numbered(9, 1), AdapterMix{All: &law})
		require.Equal(t, law.BaseShare == 0, slices.Max(got) > 0, "%+v", law)
	}
	_, _, err := NewAdapted(nil, AdapterMix{All: &Adapters{Count: 2, Zipf: 10}}, nil, 1)
	require.NoError(t, err)
	_, _, err = NewAdapted(nil, AdapterMix{All: &Adapters{Count: 2, Weights: []float64{0, 1e9}}}, nil, 1)
	require.NoError(t, err)
	for want, law := range map[string]Adapters{"zipf is 10.1; accepted": {Count: 2, Zipf: 10.1},
		"weights is 1.000001e+09; accepted": {Count: 2, Weights: []float64{1, 1.000001e9}}} {
		_, _, err := NewAdapted(nil, AdapterMix{All: &law}, nil, 1)
		require.ErrorContains(t, err, want)
	}
}
