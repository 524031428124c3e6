package sessions

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// talk returns a loop of sessions.
func talk(n int64) SessionLoop {
	return SessionLoop{
		Loop: Loop{
			Arrivals: arrivals.Spec{Process: "poisson", Rate: 2}, Requests: n,
			Turns: lengths.Spec{Distribution: "uniform", Min: 1, Max: 6},
			Mix: requests.Mix{Prompt: lengths.Spec{Distribution: "lognormal", Mean: 60, CV: 1},
				Output: lengths.Spec{Distribution: "lognormal", Mean: 90, CV: 1}},
		},
		Think: Span{Distribution: "exponential", MeanS: 3},
	}
}

// answered is a turn that was sent, and when and how it ended.
type answered struct {
	sim.Request
	session uint64
	turn    int32
	end     sim.Time
}

// converse serves every turn after the time that answer gives; a negative one fails the turn. Turns that end at one
// instant are reported in the order that reorder leaves.
func converse(t require.TestingT, s *Sessions, answer func(*sim.Request) sim.Duration,
	reorder func([]answered)) (all []answered) {
	var under []answered
	for {
		end := sim.Forever
		for _, p := range under {
			end = min(end, p.end)
		}
		when := s.When()
		if when == sim.Forever && end == sim.Forever {
			return all
		}
		if when <= end {
			a := answered{}
			require.True(t, s.Next(&a.Request))
			require.EqualValues(t, len(all), a.ID)
			require.True(t, len(all) == 0 || a.Arrival >= all[len(all)-1].Arrival, "requests come in order")
			v := &s.live[s.places.entries[a.ID-s.places.base].value.slot]
			a.session, a.turn = v.number, v.next-1
			if took := answer(&a.Request); took < 0 {
				a.end = a.Arrival.Add(-took)
			} else {
				a.end, a.Emitted = a.Arrival.Add(took), a.Output
			}
			all, under = append(all, a), append(under, a)
			continue
		}
		var ended []answered
		under = slices.DeleteFunc(under, func(p answered) bool {
			if p.end == end {
				ended = append(ended, p)
			}
			return p.end == end
		})
		if reorder != nil {
			reorder(ended)
		}
		for i := range ended {
			s.Done(end, &ended[i].Request)
		}
	}
}

// sessionsOf sorts turns by session and turn.
func sessionsOf(all []answered) []answered {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b answered) int {
		return cmp.Or(cmp.Compare(a.session, b.session),
			cmp.Compare(a.turn, b.turn))
	})
	return sorted
}

// linear answers in a time that depends on the lengths alone.
func linear(r *sim.Request) sim.Duration {
	return sim.Duration(r.Prompt)*sim.Millisecond + sim.Duration(r.Output)*10*sim.Millisecond
}

// TestTurnsGrowByTheirHistory: a prompt is the last one, its answer and what is new; its content begins with that
// answer, and it is not asked before there is one.
func TestTurnsGrowByTheirHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := talk(400)
		c.Mix.Sharing = requests.Sharing{Groups: 3, PrefixTokens: int64(rapid.IntRange(1, 200).Draw(t, "prefix"))}
		if rapid.Bool().Draw(t, "closed") {
			c.Arrivals, c.Concurrency = arrivals.Spec{}, 5
			c.PauseS, c.RampS = 1, 2
		}
		c.Think.MeanS = rapid.Float64Range(0, 10).Draw(t, "think")
		s, err := NewSessionLoop(c, rapid.Uint64().Draw(t, "seed"))
		require.NoError(t, err)
		all, tree := sessionsOf(converse(t, s, linear, nil)), s.Contents()
		require.Len(t, all, 400, "every turn that was planned is asked")
		require.Equal(t, Ended{}, s.Early())
		for i, r := range all {
			require.EqualValues(t, r.session+1, r.Session, "0 is no session")
			if r.turn == 0 {
				require.LessOrEqual(t, tree.Tokens(r.Content), r.Prompt)
				require.Greater(t, int64(r.Prompt), c.Mix.Sharing.PrefixTokens)
				continue
			}
			before := all[i-1]
			require.Equal(t, before.session, r.session)
			require.Equal(t, before.turn+1, r.turn)
			require.Greater(t, r.Prompt, before.Prompt+before.Output)
			require.GreaterOrEqual(t, r.Arrival, before.end)
			require.Equal(t, before.Content, tree.Parent(before.OutputContent))
			require.Equal(t, before.Prompt, tree.Tokens(before.Content), "all of a prompt that is asked on belongs to the tree")
			require.Equal(t, before.Prompt+before.Output, tree.Tokens(before.OutputContent))
			if r.OutputContent == 0 {
				require.Equal(t, before.OutputContent, r.Content, "nobody looks for the last message")
			} else {
				require.Equal(t, before.OutputContent, tree.Parent(r.Content))
			}
		}
	})
}

// TestUsersThinkAsLongAsTheirLawSays: the mean of the law, and a fixed one exactly.
func TestUsersThinkAsLongAsTheirLawSays(t *testing.T) {
	for _, law := range []Span{{"fixed", 2, 0}, {"exponential", 2, 0}, {"lognormal", 2, 1}, {"gamma", 2, 0.5}, {}} {
		c := talk(4000)
		c.Think = law
		s, err := NewSessionLoop(c, 7)
		require.NoError(t, err)
		all, sum, n := sessionsOf(converse(t, s, linear, nil)), 0.0, 0.0
		for i, r := range all {
			if r.turn == 0 {
				continue
			}
			think := r.Arrival.Sub(all[i-1].end)
			if law.Distribution == "fixed" {
				require.Equal(t, 2*sim.Second, think)
			}
			sum, n = sum+think.Seconds(), n+1
		}
		require.InDelta(t, law.MeanS, sum/n, 0.2, law.Distribution)
	}
}

// TestTheServerChangesNoSession: how fast it is, in which order it tells of ends, and how fast sessions arrive leaves
// every session's turns, thoughts and patience as they are.
func TestTheServerChangesNoSession(t *testing.T) {
	c := talk(1000)
	c.Mix.Classes = []requests.Class{{Name: "a", Share: 0.4, Output: lengths.Fixed(30)},
		{Name: "b", Share: 0.6, MaxOutput: lengths.Fixed(50), Priority: 1}}
	c.Mix.Sharing = requests.Sharing{Groups: 4, PrefixTokens: 30}
	c.Patience = requests.Patience{CancelShare: 0.3, CancelAfterS: 1e5}
	run := func(answer func(*sim.Request) sim.Duration, reorder func([]answered)) []answered {
		s, err := NewSessionLoop(c, 11)
		require.NoError(t, err)
		all := sessionsOf(converse(t, s, answer, reorder))
		for i := range all {
			all[i].Content, all[i].OutputContent, all[i].ID = min(all[i].Content, 5), 0, 0
		}
		return all
	}
	tenth := sim.Time(100 * sim.Millisecond)
	ties := func(r *sim.Request) sim.Duration { return ((r.Arrival/tenth + 1) * tenth).Sub(r.Arrival) }
	a, b := run(ties, nil), run(ties, slices.Reverse)
	require.Equal(t, a, b)
	c.Arrivals.Rate = 200
	fast := run(linear, nil)
	require.Len(t, fast, len(a))
	for i := range a {
		x, y := a[i], fast[i]
		require.Equal(t, x.Deadline == 0, y.Deadline == 0)
		if x.Deadline != 0 {
			require.Equal(t, x.Deadline.Sub(x.Arrival), y.Deadline.Sub(y.Arrival))
		}
		if x.turn > 0 {
			require.Equal(t, x.Arrival.Sub(a[i-1].end), y.Arrival.Sub(fast[i-1].end), "the thought")
		}
		x.Arrival, x.end, x.Deadline = y.Arrival, y.end, y.Deadline
		require.Equal(t, x, y)
		require.Equal(t, a[i].Class, a[max(0, i-int(x.turn))].Class, "a session has one class")
	}
}

// TestTheOrderOfEndsChangesNoOrderOfTurns: turns that are due at one instant are sent in the order of their sessions.
func TestTheOrderOfEndsChangesNoOrderOfTurns(t *testing.T) {
	c := talk(2000)
	c.Arrivals.Rate, c.Think = 20, Span{Distribution: "fixed", MeanS: 1}
	second := sim.Time(sim.Second)
	ties := func(r *sim.Request) sim.Duration { return ((r.Arrival/second + 1) * second).Sub(r.Arrival) }
	run := func(reorder func([]answered)) []answered {
		s, err := NewSessionLoop(c, 11)
		require.NoError(t, err)
		return converse(t, s, ties, reorder)
	}
	all := run(nil)
	require.Equal(t, all, run(slices.Reverse))
	tied, lengths := 0, map[int32]bool{}
	for i, r := range all {
		if i > 0 && r.Arrival == all[i-1].Arrival {
			tied++
			require.Greater(t, r.session, all[i-1].session)
		}
		if r.turn == 0 {
			lengths[r.Prompt] = true
		}
	}
	require.Greater(t, tied, 500)
	require.Greater(t, len(lengths), 100, "sessions differ")
}

// TestSessionsEndWhenTheirHistoryIsFull: no turn after the first is longer than the model takes, and what is left out
// is counted.
func TestSessionsEndWhenTheirHistoryIsFull(t *testing.T) {
	c := talk(2000)
	c.ContextMax, c.Turns, c.Mix.MaxOutput = 600, lengths.Fixed(9), lengths.Fixed(120)
	s, err := NewSessionLoop(c, 2)
	require.NoError(t, err)
	all := sessionsOf(converse(t, s, linear, nil))
	require.Len(t, all, 2000)
	turns := map[uint64]int64{}
	for _, r := range all {
		turns[r.session]++
		if r.turn > 0 {
			require.LessOrEqual(t, r.Prompt+r.Limit(), int32(600))
		}
	}
	full, missing := int64(0), int64(0)
	for n, k := range turns {
		if n+1 < uint64(len(turns)) && k < 9 { // the last one is cut to fit the number of requests
			full, missing = full+1, missing+9-k
		}
	}
	e := s.Early()
	require.Positive(t, full)
	require.InDelta(t, full, e.Full, 1)
	require.InDelta(t, missing, e.FullTurns, 9)
	require.Zero(t, e.Lost)
	require.EqualValues(t, len(turns), s.Begun())
}

// TestAFailedTurnEndsItsSession: the turns that were planned are those asked and those lost with a session.
func TestAFailedTurnEndsItsSession(t *testing.T) {
	s, err := NewSessionLoop(talk(3000), 3)
	require.NoError(t, err)
	all := sessionsOf(converse(t, s, func(r *sim.Request) sim.Duration {
		if r.Prompt%7 == 0 {
			return -sim.Millisecond
		}
		return linear(r)
	}, nil))
	for i, r := range all {
		if r.turn > 0 {
			require.Equal(t, all[i-1].Output, all[i-1].Emitted)
		}
	}
	require.Positive(t, s.Early().Lost)
	require.EqualValues(t, 3000, int64(len(all))+s.Early().LostTurns)
	require.Empty(t, s.due)
	require.Len(t, s.free, len(s.live), "no session is left over")
	require.Empty(t, s.places.entries)
}

// TestWhatIsExpectedComes: the number of turns, their rate and their mean lengths.
func TestWhatIsExpectedComes(t *testing.T) {
	c := talk(0)
	c.DurationS, c.Mix.Sharing = 2000, requests.Sharing{Groups: 1, PrefixTokens: 100}
	s, err := NewSessionLoop(c, 1)
	require.NoError(t, err)
	prompt, output := s.Means()
	all := converse(t, s, linear, nil)
	sum := 0.0
	for _, r := range all {
		sum += float64(r.Prompt)
		require.Less(t, r.Arrival.Seconds(), 2000.0)
	}
	require.Len(t, s.free, len(s.live), "a session that the end cuts off leaves nothing")
	require.InEpsilon(t, s.Requests(), len(all), 0.05)
	require.InEpsilon(t, 2*3.5, s.Rate(), 0.05)
	require.InEpsilon(t, sum/float64(len(all)), prompt, 0.05)
	require.InEpsilon(t, 90, output, 0.06)
	require.NoError(t, s.Err())
	require.InEpsilon(t, 3*2.5/3.5, s.PauseS(), 0.05)
}

// TestClientsLeadOneSessionAtATime: never more sessions than clients, with a pause in between.
func TestClientsLeadOneSessionAtATime(t *testing.T) {
	c := talk(600)
	c.Arrivals, c.Concurrency, c.PauseS = arrivals.Spec{}, 3, 5
	s, err := NewSessionLoop(c, 1)
	require.NoError(t, err)
	all := sessionsOf(converse(t, s, linear, nil))
	require.Len(t, all, 600)
	require.Zero(t, s.Rate())
	var open []sim.Time // ends of the sessions under way
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].session == all[i].session {
			j++
		}
		if begun := all[i].Arrival; len(open) == 3 {
			slices.Sort(open)
			require.Equal(t, 5*sim.Second, begun.Sub(open[0]))
			open = open[1:]
		}
		open, i = append(open, all[j-1].end), j
	}
}

func TestSessionsThatStandStillEnd(t *testing.T) {
	c := talk(0)
	c.Arrivals, c.Concurrency = arrivals.Spec{}, 2
	c.DurationS, c.Think = 10, Span{}
	s, err := NewSessionLoop(c, 1)
	require.NoError(t, err)
	s.starts.(*clients).stalled = stallMax - 50
	var r sim.Request
	for s.When() != sim.Forever {
		r = sim.Request{}
		require.True(t, s.Next(&r))
		s.Done(r.Arrival, &r) // rejected
	}
	require.ErrorContains(t, s.Err(), "ended at the instant they began")
	require.False(t, s.Next(&r))
}

func TestImpossibleSessionsAreRefused(t *testing.T) {
	for want, change := range map[string]func(c *SessionLoop){
		"sessions.turns.mean is 0; accepted": func(c *SessionLoop) {
			c.Turns = lengths.Fixed(0)
		},
		"sessions.turns.mean is 100000; accepted: at most 65536 turns": func(c *SessionLoop) {
			c.Turns = lengths.Fixed(100_000)
		},
		`sessions.turns.distribution is ""; accepted`: func(c *SessionLoop) {
			c.Turns = lengths.Spec{}
		},
		`sessions.think_time_s.distribution is "slow"; accepted: fixed, `: func(c *SessionLoop) {
			c.Think.Distribution = "slow"
		},
		"sessions.think_time_s.mean is NaN; accepted": func(c *SessionLoop) {
			c.Think.MeanS = math.NaN()
		},
		"sessions.think_time_s.mean is -1; accepted":                     func(c *SessionLoop) { c.Think.MeanS = -1 },
		"sessions.think_time_s.cv is 2; accepted: null, for exponential": func(c *SessionLoop) { c.Think.CV = 2 },
		"sessions.think_time_s.cv is 0; accepted": func(c *SessionLoop) {
			c.Think.Distribution = "gamma"
		},
		"distinct_prompts is 5; accepted: null, for a workload with ses": func(c *SessionLoop) {
			c.Mix.Sharing.DistinctPrompts = 5
		},
		"lengths is \"recorded\"; accepted: null": func(c *SessionLoop) {
			c.Mix = requests.Mix{Pairs: new(lengths.Pairs)}
		},
		"requests is 0; accepted":                 func(c *SessionLoop) { c.Requests = 0 },
		"arrivals.rate is 0; accepted":            func(c *SessionLoop) { c.Arrivals.Rate = 0 },
		"closed_loop.concurrency is -1; accepted": func(c *SessionLoop) { c.Concurrency = -1 },
		"closed_loop.ramp_s is -1; accepted": func(c *SessionLoop) {
			c.Concurrency,
				c.RampS = 1, -1
		},
	} {
		c := talk(1)
		change(&c)
		_, err := NewSessionLoop(c, 1)
		require.ErrorContains(t, err, "workloads: "+want)
	}
}
