package workloads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// sharedLoad returns the first n requests of a load with that sharing, of an open and of a closed loop, which must
// agree.
func sharedLoad(t *testing.T, c requests.Sharing, n int64, seed uint64) ([]sim.Request, *sim.Contents) {
	t.Helper()
	l := sourcetest.Plain()
	l.Sharing = c
	o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 8}, Mix: l, Requests: n}, seed)
	require.NoError(t, err)
	k, err := sessions.NewClosedLoop(sessions.ClosedLoop{Concurrency: 4, Mix: l, Requests: n}, seed)
	require.NoError(t, err)
	open := sourcetest.Drain(o)
	require.Len(t, open, int(n))
	for i := range open {
		var r sim.Request
		require.True(t, k.Next(&r))
		k.Done(r.Arrival+1, &r)
		r.Arrival = open[i].Arrival
		require.Equal(t, open[i], r)
	}
	require.Equal(t, o.Contents(), k.Contents())
	return open, o.Contents()
}

// TestGroupsPutAPrefixInFront: every group gets its share of the requests, and a prefix changes nothing else about
// them.
func TestGroupsPutAPrefixInFront(t *testing.T) {
	without, none := sharedLoad(t, requests.Sharing{}, 4000, 1)
	require.Nil(t, none)
	requests, tree := sharedLoad(t, requests.Sharing{Groups: 10, PrefixTokens: 100}, 4000, 1)
	require.Equal(t, 11, tree.Len())
	count := map[int32]int{}
	for i, r := range requests {
		count[r.Content]++
		require.EqualValues(t, 100, tree.Tokens(r.Content))
		r.Content, r.Prompt = 0, r.Prompt-100
		require.Equal(t, without[i], r)
	}
	require.Len(t, count, 10)
	for group, n := range count {
		require.InDelta(t, 400, n, 80, "group %d: four standard deviations", group)
	}
}

// TestAPrefixCutsNoPrompt: not even the longest, behind the longest prefix.
func TestAPrefixCutsNoPrompt(t *testing.T) {
	const prefixMax = 1<<29 - 1
	for _, c := range []requests.Sharing{{Groups: 2, PrefixTokens: prefixMax},
		{Groups: 2, PrefixTokens: prefixMax, DistinctPrompts: 2}} {
		l := sourcetest.Plain()
		l.Prompt, l.Sharing = lengths.Spec{Distribution: "fixed", Mean: check.TokensMax}, c
		o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 8}, Mix: l, Requests: 2}, 1)
		require.NoError(t, err)
		for _, r := range sourcetest.Drain(o) {
			require.EqualValues(t, prefixMax+check.TokensMax, r.Prompt)
		}
	}
}

// TestDistinctPromptsRepeat: the set is as large as asked, evenly over the groups, and comes around in one order.
func TestDistinctPromptsRepeat(t *testing.T) {
	c := requests.Sharing{Groups: 10, PrefixTokens: 100, DistinctPrompts: 100}
	requests, tree := sharedLoad(t, c, 250, 1)
	require.Equal(t, 1+10+100, tree.Len())
	groups := map[int32]int{}
	for i, r := range requests {
		require.Equal(t, r.Prompt, tree.Tokens(r.Content), "all of a prompt repeats")
		if i < 100 {
			groups[tree.Parent(r.Content)]++
			continue
		}
		before := requests[i-100]
		require.Equal(t, [3]int32{before.Content, before.Prompt, before.Output}, [3]int32{r.Content, r.Prompt, r.Output})
	}
	require.Len(t, groups, 10)
	for _, n := range groups {
		require.Equal(t, 10, n)
	}
	again, _ := sharedLoad(t, c, 250, 1)
	require.Equal(t, requests, again)
	other, _ := sharedLoad(t, c, 250, 2)
	require.NotEqual(t, requests[0].Content, other[0].Content, "another seed shuffles otherwise")

	c.Order = "random"
	random, _ := sharedLoad(t, c, 1000, 1)
	seen := map[int32]int{}
	for _, r := range random[:100] {
		seen[r.Content]++
	}
	require.InDelta(t, 63, len(seen), 12, "1 − 1/e of the prompts")
}

func TestImpossibleSharingIsRefused(t *testing.T) {
	for want, c := range map[string]requests.Sharing{
		"prefix.groups is 0; accepted: a number of groups":             {PrefixTokens: 100},
		"prefix.tokens is 0; accepted: a number of tokens":             {Groups: 10},
		"prefix.groups is -1; accepted":                                {Groups: -1, PrefixTokens: 1},
		"prefix.tokens is -1; accepted":                                {Groups: 1, PrefixTokens: -1},
		"distinct_prompts is -1; accepted":                             {DistinctPrompts: -1},
		"distinct_prompts is 5; accepted: at least one prompt for":     {Groups: 10, PrefixTokens: 100, DistinctPrompts: 5},
		`order is "cycle"; accepted: nothing without distinct_prompts`: {Order: "cycle"},
		`order is "shuffle"; accepted: cycle, random`:                  {DistinctPrompts: 5, Order: "shuffle"},
	} {
		l := sourcetest.Plain()
		l.Sharing = c
		_, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 8}, Mix: l, Requests: 1}, 1)
		require.ErrorContains(t, err, "workloads: "+want)
	}
}
