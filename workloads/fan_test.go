package workloads

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/sourcetest"
	"github.com/decodesim/decodesim/workloads/traces"
)

// loops draws an open loop with or without classes, groups, repeated prompts, limits and clients that cancel.
func loops(t *rapid.T) OpenLoop {
	l := requests.Mix{
		Prompt: lengths.Spec{Distribution: "lognormal", Mean: rapid.Float64Range(1, 100).Draw(t, "prompt"), CV: 1},
		Output: lengths.Spec{Distribution: "gamma", Mean: 30, CV: 0.8},
	}
	if rapid.Bool().Draw(t, "groups") {
		l.Sharing = requests.Sharing{Groups: 3, PrefixTokens: 40}
	}
	if rapid.Bool().Draw(t, "reasoning") {
		l.Reasoning.Tokens = lengths.Spec{Distribution: "uniform", Min: 1, Max: 30}
	}
	if rapid.Bool().Draw(t, "limited") {
		l.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: 25}
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 1:
		l.Sharing.DistinctPrompts = 7
	case 2:
		l.Classes = []requests.Class{
			{Name: "a", Share: 0.5, Priority: 3, Output: lengths.Spec{Distribution: "uniform", Min: 490, Max: 510}},
			{Name: "b", Share: 0.5},
		}
	}
	c := OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 5}, Mix: l,
		Requests: rapid.Int64Range(1, 200).Draw(t, "requests")}
	if rapid.Bool().Draw(t, "patience") {
		c.Patience = requests.Patience{TimeoutS: 3, CancelShare: 0.3, CancelAfterS: 1}
	}
	return c
}

// TestAnswersDifferInTheirOutputOnly: each request of the source comes n times in a row, whole prompt shared, and the
// first time as it was.
func TestAnswersDifferInTheirOutputOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, seed := loops(t), rapid.Uint64().Draw(t, "seed")
		k := Choices{N: rapid.Int64Range(1, 6).Draw(t, "n"), Beam: rapid.Bool().Draw(t, "beam")}
		single, err := NewOpenLoop(c, seed)
		require.NoError(t, err)
		source, err := NewOpenLoop(c, seed)
		require.NoError(t, err)
		f, err := NewFan(source, k, seed)
		require.NoError(t, err)
		once, all := sourcetest.Drain(single), sourcetest.Drain(f)
		require.NoError(t, f.Err())
		require.Len(t, all, len(once)*int(k.N))
		for i, r := range all {
			want := once[i/int(k.N)]
			require.EqualValues(t, i, r.ID)
			if k.N > 1 {
				require.GreaterOrEqual(t, f.Contents().Tokens(r.Content), r.Prompt, "the whole prompt is shared")
			}
			require.Equal(t, all[i-i%int(k.N)].Content, r.Content)
			if k.Beam || i%int(k.N) == 0 {
				require.Equal(t, want.Output, r.Output)
			}
			require.True(t, r.MaxOutput == 0 || r.Output <= r.MaxOutput)
			require.LessOrEqual(t, r.Reasoning, r.Output)
			require.Equal(t, c.Mix.Reasoning.Given(), r.Reasoning > 0)
			if !k.Beam && i%int(k.N) > 0 {
				want.Reasoning = r.Reasoning
			}
			require.True(t,
				c.Mix.Classes == nil || r.Class == 1 || c.Mix.MaxOutput.Distribution != "" || r.Output >= 490, "a class's own law")
			want.ID, want.Content, want.Output = r.ID, r.Content, r.Output
			require.Equal(t, want, r)
		}
	})
}

// TestAnswersShareWithTheirGroupOnly: prompts are siblings below the group's prefix, so no prompt finds another's tail.
func TestAnswersShareWithTheirGroupOnly(t *testing.T) {
	c := OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 5}, Mix: sourcetest.Plain(), Requests: 50}
	c.Mix.Sharing = requests.Sharing{Groups: 2, PrefixTokens: 40}
	source, err := NewOpenLoop(c, 1)
	require.NoError(t, err)
	f, err := NewFan(source, Choices{N: 3}, 1)
	require.NoError(t, err)
	seen := map[int32]bool{}
	for i, r := range sourcetest.Drain(f) {
		require.Equal(t, i%3 != 0, seen[r.Content])
		seen[r.Content] = true
		require.Equal(t, r.Prompt, f.Contents().Tokens(r.Content))
		require.EqualValues(t, 40, f.Contents().Tokens(f.Contents().Parent(r.Content)))
	}
}

// TestOutputsOfAnswersFollowTheLaw: alike in the mean, different from each other, the same with another number of
// answers and with another rate.
func TestOutputsOfAnswersFollowTheLaw(t *testing.T) {
	outputs := func(n int64, rate float64) [][]int32 {
		c := OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: rate}, Requests: 4000, Mix: requests.Mix{
			Prompt: lengths.Spec{Distribution: "fixed", Mean: 10}, Output: lengths.Spec{Distribution: "uniform", Min: 1,
				Max: 199},
		}}
		source, err := NewOpenLoop(c, 1)
		require.NoError(t, err)
		f, err := NewFan(source, Choices{N: n}, 1)
		require.NoError(t, err)
		by := make([][]int32, n)
		for i, r := range sourcetest.Drain(f) {
			by[i%int(n)] = append(by[i%int(n)], r.Output)
		}
		return by
	}
	by := outputs(4, 5)
	for i, of := range by {
		sum := 0.0
		for _, o := range of {
			sum += float64(o)
		}
		// Five standard deviations of the mean.
		require.InDelta(t, 100, sum/4000, 5*57.4/math.Sqrt(4000), "answer %d", i)
		for j := range i {
			same := 0
			for k := range of {
				if of[k] == by[j][k] {
					same++
				}
			}
			require.Less(t, same, 60, "answers %d and %d", i, j)
		}
	}
	require.Equal(t, by[:2], outputs(2, 5))
	require.Equal(t, by, outputs(4, 50))
}

// TestAClientWaitsForAllItsAnswers: the k-th answer ends after k seconds, so three clients with three answers each send
// again after three seconds and a thought, and nine requests are under way at once.
func TestAClientWaitsForAllItsAnswers(t *testing.T) {
	loop := func() *sessions.Closed {
		l, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 3, ThinkTimeS: 0.5, Mix: sourcetest.Plain(),
			Requests: 8}, 1)
		require.NoError(t, err)
		return l
	}
	f, err := NewFanClosed(loop(), Choices{N: 3}, 1)
	require.NoError(t, err)
	all, most := sourcetest.Serve(f,
		func(r *sim.Request) sim.Duration { return sim.Duration(1+(r.ID+1)%3) * sim.Second }, nil)
	require.NoError(t, f.Err())
	require.Len(t, all, 24)
	require.Equal(t, 9, most)
	for i, r := range all {
		require.EqualValues(t, i, r.ID)
		require.Equal(t, sim.Time(0).Add(sim.Duration(i/9)*sim.Seconds(3.5)), r.Arrival)
	}
	require.Empty(t, f.waiting[f.head:], "nothing is waited for at the end")

	one, err := NewFanClosed(loop(), Choices{N: 1}, 1)
	require.NoError(t, err)
	want, _ := sourcetest.Serve(loop(), sourcetest.Second, nil)
	got, _ := sourcetest.Serve(one, sourcetest.Second, nil)
	require.Equal(t, want, got, "one answer is what there is without")
}

// TestPromptsThatOvertakeAreCounted: a prompt that waits long does not disturb the count of others, and the memory is
// small once it ends.
func TestPromptsThatOvertakeAreCounted(t *testing.T) {
	l, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 2, Mix: sourcetest.Plain(), Requests: 500}, 1)
	require.NoError(t, err)
	f, err := NewFanClosed(l, Choices{N: 2}, 1)
	require.NoError(t, err)
	all, most := sourcetest.Serve(f, func(r *sim.Request) sim.Duration {
		if r.ID == 1 {
			return 300 * sim.Second
		}
		return sim.Second
	}, nil)
	require.Len(t, all, 1000)
	require.Equal(t, 4, most)
	require.LessOrEqual(t, len(f.waiting), 4)
	require.Equal(t, sim.Time(0).Add(300*sim.Second), all[2*302].Arrival, "both clients send again")
}

// TestAnswersOfATraceAreAsLongAsRecorded: and they share their prompt beyond its block ids.
func TestAnswersOfATraceAreAsLongAsRecorded(t *testing.T) {
	const text = `{"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [7, 8]}
{"timestamp": 9000, "input_length": 1300, "output_length": 6, "hash_ids": [7, 8, 10]}
`
	trace, err := traces.New("t.jsonl", strings.NewReader(text), traces.Options{Contents: true})
	require.NoError(t, err)
	f, err := NewFan(trace, Choices{N: 2}, 1)
	require.NoError(t, err)
	all := sourcetest.Drain(f)
	require.Len(t, all, 4)
	for i, output := range []int32{5, 5, 6, 6} {
		require.Equal(t, output, all[i].Output)
		require.GreaterOrEqual(t, f.Contents().Tokens(all[i].Content), all[i].Prompt)
	}
	require.Equal(t, all[0].Arrival, all[1].Arrival)
	require.Equal(t, all[0].Content, all[1].Content)
	require.NotEqual(t, all[1].Content, all[2].Content)
}

func TestImpossibleChoicesAreRefused(t *testing.T) {
	for _, c := range []struct {
		k        Choices
		requests int64
		want     string
	}{
		{Choices{}, 5, "workloads: n is 0; accepted: a whole number from 1 to 1024"},
		{Choices{N: -1}, 5, "workloads: n is -1; accepted: a whole number from 1 to 1024"},
		{Choices{N: 1 << 40, Beam: true}, 5,
			"workloads: beam_width is 1099511627776; accepted: a whole number from 1 to 1024"},
		{Choices{N: 4}, 1 << 30, "workloads: requests is 1073741824; accepted: at most 536870911 prompts of 4 answers"},
	} {
		source, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1000},
			Mix: sourcetest.Plain(), Requests: c.requests}, 1)
		require.NoError(t, err)
		_, err = NewFan(source, c.k, 1)
		require.EqualError(t, err, c.want)
	}
}

// TestAsManyAnswersAsThereAreNumbersFor: the most of a prompt and the most of a run are accepted, one more is not. One
// answer of each prompt is what the source says without it.
func TestAsManyAnswersAsThereAreNumbersFor(t *testing.T) {
	for _, c := range []struct {
		n       int64
		prompts float64
		ok      bool
	}{
		{1, check.RequestsMax, true}, {1, check.RequestsMax + 1, false}, {ChoicesMax, 1, true}, {ChoicesMax + 1, 1, false},
		{ChoicesMax, check.RequestsMax / ChoicesMax, true}, {ChoicesMax, check.RequestsMax/ChoicesMax + 1, false},
	} {
		f, err := newFan(announced{prompts: c.prompts}, Choices{N: c.n}, 1)
		require.Equal(t, c.ok, err == nil, "%d answers to %g prompts: %v", c.n, c.prompts, err)
		require.Equal(t, c.ok, f != nil)
	}
	plain := OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 5}, Mix: sourcetest.Plain(), Requests: 50}
	single, err := NewOpenLoop(plain, 1)
	require.NoError(t, err)
	source, err := NewOpenLoop(plain, 1)
	require.NoError(t, err)
	f, err := NewFan(source, Choices{N: 1}, 1)
	require.NoError(t, err)
	require.Equal(t, sourcetest.Drain(single), sourcetest.Drain(f))
}

// announced is a source that says how many requests it is to have, and has none.
type announced struct {
	sim.Source
	prompts float64
}

func (announced) Contents() *sim.Contents { return nil }
func (a announced) Requests() float64     { return a.prompts }
func (announced) Err() error              { return nil }

// TestAnswersCostNoMemory: a prompt takes its node of the tree, whose growth is all there is.
func TestAnswersCostNoMemory(t *testing.T) {
	source, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1000},
		Mix: sourcetest.Plain(), Requests: 1e6}, 1)
	require.NoError(t, err)
	f, err := NewFan(source, Choices{N: 4}, 1)
	require.NoError(t, err)
	var r sim.Request
	require.Less(t, testing.AllocsPerRun(10000, func() { f.Next(&r) }), 0.01)
}

// ended is a source that has ended, for a reason.
type ended struct{ *Open }

func (ended) Err() error { return errors.New("it has ended") }

// TestAFanSaysWhyItEnded: for its own reason, as there are more answers than requests may have numbers, or for that of
// the source of its prompts.
func TestAFanSaysWhyItEnded(t *testing.T) {
	one := lengths.Spec{Distribution: "fixed", Mean: 9}
	source, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 5}, Requests: 1,
		Mix: requests.Mix{Prompt: one, Output: one}}, 1)
	require.NoError(t, err)
	f, err := NewFan(source, Choices{N: 2}, 1)
	require.NoError(t, err)
	require.NoError(t, f.Err())
	f.source = ended{source}
	require.EqualError(t, f.Err(), "it has ended")
	f.prompts, f.next = check.RequestsMax/2, 2
	require.False(t, f.Next(new(sim.Request)))
	require.ErrorContains(t, f.Err(), "has answers beyond request")
}

// TestAllAnswersHaveTheLimitOfTheirPrompt: a limit of a single token too, and where there is none all answers are as
// long as their law says.
func TestAllAnswersHaveTheLimitOfTheirPrompt(t *testing.T) {
	for limit, want := range map[float64]int32{0: 30, 1: 1, 2: 2, 29: 29, 31: 30} {
		c := OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1}, Requests: 3,
			Mix: requests.Mix{Prompt: lengths.Fixed(10), Output: lengths.Fixed(30)}}
		if limit > 0 {
			c.Mix.MaxOutput = lengths.Fixed(limit)
		}
		o, err := NewOpenLoop(c, 1)
		require.NoError(t, err)
		f, err := NewFan(o, Choices{N: 3}, 1)
		require.NoError(t, err)
		all := sourcetest.Drain(f)
		require.Len(t, all, 9)
		for i := range all {
			require.Equal(t, want, all[i].Output, "a limit of %v, answer %d", limit, i)
			require.EqualValues(t, limit, all[i].MaxOutput)
		}
	}
}
