package workloads

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/sourcetest"
	"github.com/decodesim/decodesim/workloads/traces"
)

// classed returns an open loop of n requests with classes.
func classed(n int64, c ...requests.Class) OpenLoop {
	l := sourcetest.Plain()
	l.Classes = c
	return OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 7}, Mix: l, Requests: n}
}

// TestClassesTakeTheirShares: within five standard deviations of a binomial count, whatever the shares.
func TestClassesTakeTheirShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 4000
		a := rapid.Float64Range(0.01, 0.9).Draw(t, "a")
		b := rapid.Float64Range(0.01, 0.99-a).Draw(t, "b")
		c := classed(n, requests.Class{Name: "a", Share: a, Priority: -3},
			requests.Class{Name: "b", Share: b, Priority: 4}, requests.Class{Name: "c", Share: 1 - a - b})
		o, err := NewOpenLoop(c, rapid.Uint64().Draw(t, "seed"))
		require.NoError(t, err)
		var count [3]float64
		for _, r := range sourcetest.Drain(o) {
			count[r.Class]++
			require.Equal(t, []int8{-3, 4, 0}[r.Class], r.Priority)
		}
		for i, share := range []float64{a, b, 1 - a - b} {
			require.InDelta(t, share*n, count[i], 5*math.Sqrt(n*share*(1-share))+1)
		}
	})
}

// TestClassesWithoutLawsOfTheirOwnChangeNoLength: nor an arrival, a prefix, a limit or a deadline.
func TestClassesWithoutLawsOfTheirOwnChangeNoLength(t *testing.T) {
	with := classed(500, requests.Class{Name: "a", Share: 0.3}, requests.Class{Name: "b", Share: 0.7})
	with.Mix.MaxOutput = lengths.Spec{Distribution: "uniform", Min: 10, Max: 300}
	with.Mix.Sharing = requests.Sharing{Groups: 3, PrefixTokens: 50}
	with.Patience = requests.Patience{CancelShare: 0.2, CancelAfterS: 1}
	without := with
	without.Mix.Classes = nil
	a, err := NewOpenLoop(with, 3)
	require.NoError(t, err)
	b, err := NewOpenLoop(without, 3)
	require.NoError(t, err)
	classes, plain := sourcetest.Drain(a), sourcetest.Drain(b)
	for i := range classes {
		classes[i].Class = 0
	}
	require.Equal(t, plain, classes)
	require.Equal(t, b.Truncated(), a.Truncated())
}

// TestARequestKeepsWhatItsClassDraws: a share or another class's law moves requests between classes at most.
func TestARequestKeepsWhatItsClassDraws(t *testing.T) {
	long := lengths.Spec{Distribution: "lognormal", Mean: 4000, CV: 1}
	build := func(share float64, other lengths.Spec) []sim.Request {
		o, err := NewOpenLoop(classed(2000,
			requests.Class{Name: "long", Share: share, Prompt: long, MaxOutput: lengths.Fixed(64)},
			requests.Class{Name: "other", Share: 1 - share, Output: other}), 5)
		require.NoError(t, err)
		return sourcetest.Drain(o)
	}
	before, after := build(0.3, lengths.Spec{}), build(0.4, lengths.Fixed(7))
	moved := 0
	for i := range before {
		a, b := before[i], after[i]
		require.Equal(t, a.Arrival, b.Arrival)
		switch {
		case a.Class == 0:
			require.Equal(t, a, b, "the class that grows loses nobody")
			require.EqualValues(t, 64, a.MaxOutput)
			require.LessOrEqual(t, a.Output, int32(64))
		case b.Class == 0:
			moved++
		default:
			require.Equal(t, a.Prompt, b.Prompt)
			require.EqualValues(t, 7, b.Output)
			require.Zero(t, b.MaxOutput)
		}
	}
	require.InDelta(t, 200, moved, 70)
}

// TestALoopOfClassesNeedsNoLawsOfItsOwn: if every class has them; means are those of the mixture.
func TestALoopOfClassesNeedsNoLawsOfItsOwn(t *testing.T) {
	c := classed(50, requests.Class{Name: "a", Share: 0.25, Prompt: lengths.Fixed(100), Output: lengths.Fixed(10)},
		requests.Class{Name: "b", Share: 0.75, Prompt: lengths.Fixed(200), Output: lengths.Fixed(20)})
	c.Mix.Prompt, c.Mix.Output = lengths.Spec{}, lengths.Spec{}
	o, err := NewOpenLoop(c, 1)
	require.NoError(t, err)
	prompt, output := o.Means()
	require.Equal(t, [2]float64{175, 17.5}, [2]float64{prompt, output})
	for _, r := range sourcetest.Drain(o) {
		require.EqualValues(t, 100*(1+int32(r.Class)), r.Prompt)
		require.EqualValues(t, 10*(1+int32(r.Class)), r.Output)
	}
	c.Mix.Classes[1].Output = lengths.Spec{}
	_, err = NewOpenLoop(c, 1)
	require.ErrorContains(t, err, "output_tokens.distribution")
}

// TestTruncatedDrawsOfClassesCountWhereTheyHold: not those of a workload's law that no request takes.
func TestTruncatedDrawsOfClassesCountWhereTheyHold(t *testing.T) {
	c := classed(1000, requests.Class{Name: "a", Share: 0.5},
		requests.Class{Name: "b", Share: 0.5, Prompt: lengths.Spec{Distribution: "lognormal", Mean: 100, CV: 1, Max: 1}})
	o, err := NewOpenLoop(c, 1)
	require.NoError(t, err)
	sourcetest.Drain(o)
	require.InDelta(t, 500, o.Truncated().Prompt, 80)
	c.Mix.Prompt = lengths.Spec{Distribution: "lognormal", Mean: 100, CV: 1, Max: 1}
	c.Mix.Classes[1].Prompt = lengths.Fixed(3)
	o, err = NewOpenLoop(c, 1)
	require.NoError(t, err)
	sourcetest.Drain(o)
	require.InDelta(t, 500, o.Truncated().Prompt, 80)
}

// trace returns a CSV trace of n rows.
func trace(n int) string {
	text := "arrival_s,input_tokens,output_tokens\n"
	for i := range n {
		text += fmt.Sprintf("%d,10,10\n", i)
	}
	return text
}

func TestTracesAndClosedLoopsHaveClasses(t *testing.T) {
	c := []requests.Class{{Name: "a", Share: 0.5, Priority: 1}, {Name: "b", Share: 0.5, Priority: 2}}
	tr, err := traces.New("trace", strings.NewReader(trace(200)), traces.Options{Classes: c})
	require.NoError(t, err)
	l := sourcetest.Plain()
	l.Classes = c
	loop, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 4, Mix: l, Requests: 200}, 1)
	require.NoError(t, err)
	served, _ := sourcetest.Serve(loop, sourcetest.Second, nil)
	for _, all := range [][]sim.Request{sourcetest.Drain(tr), served} {
		count := [2]int{}
		for _, r := range all {
			count[r.Class]++
			require.EqualValues(t, r.Class+1, r.Priority)
		}
		require.InDelta(t, 100, count[0], 36)
		require.Equal(t, 200, count[0]+count[1])
	}
}

func TestImpossibleClassesAreRefused(t *testing.T) {
	many := make([]requests.Class, requests.ClassesMax+1)
	for want, c := range map[string][]requests.Class{
		"classes[1].share is 0.5; accepted: shares that sum to 1, not to 0.9": {{Name: "a", Share: 0.4},
			{Name: "b", Share: 0.5}},
		"shares that sum to 1, not to 1.1": {{Name: "a", Share: 0.6},
			{Name: "b", Share: 0.5}},
		"classes[0].share is 0; accepted":         {{Name: "a"}},
		"classes[0].share is NaN; accepted":       {{Name: "a", Share: math.NaN()}},
		"classes[0].share is 1.5; accepted":       {{Name: "a", Share: 1.5}},
		`classes[0].name is ""; accepted: a name`: {{Share: 1}},
		`classes[1].name is "a"; accepted: a name that classes[0] does not have`: {{Name: "a", Share: 0.5},
			{Name: "a", Share: 0.5}},
		"classes[0].priority is -129; accepted: a whole number from -128 to 127": {{Name: "a", Share: 1, Priority: -129}},
		"classes[0].priority is 128; accepted":                                   {{Name: "a", Share: 1, Priority: 128}},
		"classes[0].prompt_tokens.cv is 0; accepted": {{Name: "a", Share: 1,
			Prompt: lengths.Spec{Distribution: "lognormal", Mean: 3}}},
		"classes[0].output_tokens.mean is 0.5; accepted": {{Name: "a", Share: 1,
			Output: lengths.Fixed(0.5)}},
		"classes is 65; accepted: a list of at most 64 classes": many,
	} {
		_, err := NewOpenLoop(classed(1, c...), 1)
		require.ErrorContains(t, err, "workloads: ")
		require.ErrorContains(t, err, want)
	}
	own := []requests.Class{{Name: "a", Share: 1, Prompt: lengths.Fixed(5)}}
	c := classed(1, own...)
	c.Mix.Sharing.DistinctPrompts = 4
	_, err := NewOpenLoop(c, 1)
	require.ErrorContains(t, err,
		"classes[0].prompt_tokens is \"fixed\"; accepted: null, for a workload with distinct_prompts")
	c = classed(1, own...)
	c.Mix = requests.Mix{Pairs: recorded(t, []int64{7, 8}), Classes: own}
	_, err = NewOpenLoop(c, 1)
	require.ErrorContains(t, err, "for a workload with recorded lengths")
	_, err = traces.New("trace", strings.NewReader(trace(2)), traces.Options{Classes: own})
	require.ErrorContains(t, err, "for a trace has no such parameter")
	own[0] = requests.Class{Name: "a", Share: 1, MaxOutput: lengths.Fixed(5)}
	_, err = traces.New("trace", strings.NewReader(trace(2)), traces.Options{Classes: own})
	require.ErrorContains(t, err, "classes[0].max_output")
}
