package workloads

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// lengthsOf lists the prompt and output of each request.
func lengthsOf(requests []sim.Request) (all [][]int64) {
	for _, r := range requests {
		all = append(all, []int64{int64(r.Prompt), int64(r.Output)})
	}
	return all
}

func recorded(t require.TestingT, values ...[]int64) *lengths.Pairs {
	p, err := lengths.NewPairs(values)
	require.NoError(t, err)
	return p
}

// TestTheKthRequestHasTheKthLengths, whatever the seed, the law of arrivals, the number of clients and how fast they
// are served.
func TestTheKthRequestHasTheKthLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(1, 5000), 2, 2), 1, 300).Draw(t, "values")
		seed := rapid.Uint64().Draw(t, "seed")
		lengths := requests.Mix{Pairs: recorded(t, values...)}
		o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 5}, Mix: lengths}, seed)
		require.NoError(t, err)
		require.Equal(t, values, lengthsOf(sourcetest.Drain(o)))
		require.EqualValues(t, len(values), o.Requests())
		clients := rapid.Int64Range(1, 20).Draw(t, "clients")
		l, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: clients, ThinkTimeS: 1,
			ThinkLaw: "exponential", Mix: lengths}, seed)
		require.NoError(t, err)
		all, _ := sourcetest.Serve(l,
			func(r *sim.Request) sim.Duration { return sim.Duration(r.Output) * sim.Millisecond }, nil)
		require.Equal(t, values, lengthsOf(all))
		require.EqualValues(t, len(values), l.Requests())
	})
}

func TestRecordedLengthsEndOrRepeat(t *testing.T) {
	three := recorded(t, []int64{10, 1}, []int64{20, 2}, []int64{60, 3})
	config := OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 10}, Mix: requests.Mix{Pairs: three},
		Requests: 4}
	const want = "workloads: requests is 4; accepted: at most 3, for so many lengths are recorded, " +
		"or lengths with repeat: true"
	_, err := NewOpenLoop(config, 1)
	require.EqualError(t, err, want)
	_, err = sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 1, Mix: config.Mix, Requests: 4}, 1)
	require.EqualError(t, err, want)

	config.Mix.Repeat = true
	o, err := NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Equal(t, [][]int64{{10, 1}, {20, 2}, {60, 3}, {10, 1}}, lengthsOf(sourcetest.Drain(o)))
	config.Requests = 0
	_, err = NewOpenLoop(config, 1)
	require.ErrorContains(t, err, "requests is 0; accepted: a number of requests, a duration_s, or both")

	config.Mix.Repeat, config.Requests = false, 2
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Equal(t, [][]int64{{10, 1}, {20, 2}}, lengthsOf(sourcetest.Drain(o)))
	prompt, output := o.Means()
	require.Equal(t, [2]float64{15, 1.5}, [2]float64{prompt, output}, "of the pairs that are sent")
	require.Equal(t, 3, three.Len())
	prompt, output = three.Means()
	require.Equal(t, [2]float64{30, 2}, [2]float64{prompt, output})

	config.Requests, config.DurationS = 0, 0.25
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Len(t, sourcetest.Drain(o), 2, "the duration ends it before the lengths do")
	config.DurationS = 100
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Len(t, sourcetest.Drain(o), 3, "the lengths end it before the duration does")
	require.NoError(t, o.Err())
}

func TestRecordedLengthsMakeDistinctPrompts(t *testing.T) {
	three := recorded(t, []int64{10, 1}, []int64{20, 2}, []int64{60, 3})
	config := OpenLoop{
		Arrivals: arrivals.Spec{Process: "constant", Rate: 10}, Requests: 40,
		Mix: requests.Mix{Pairs: three, Sharing: requests.Sharing{DistinctPrompts: 2},
			MaxOutput: lengths.Spec{Distribution: "fixed", Mean: 1}},
	}
	o, err := NewOpenLoop(config, 1)
	require.NoError(t, err)
	seen := map[int32]int{}
	for _, r := range sourcetest.Drain(o) {
		seen[r.Prompt]++
		require.EqualValues(t, 1, r.Output)
	}
	require.Equal(t, map[int32]int{10: 20, 20: 20}, seen)
	config.Mix.Sharing.DistinctPrompts = 4
	_, err = NewOpenLoop(config, 1)
	require.EqualError(t, err,
		"workloads: distinct_prompts is 4; accepted: at most 3, for so many lengths are recorded, "+
			"or lengths with repeat: true")
}

func TestLawsBesideRecordedLengthsAreRefused(t *testing.T) {
	lengths := requests.Mix{Pairs: recorded(t, []int64{10, 1}), Prompt: sourcetest.Plain().Prompt}
	_, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 1, Mix: lengths}, 1)
	require.ErrorContains(t, err, `prompt_tokens is "lognormal"; accepted: null`)
}
