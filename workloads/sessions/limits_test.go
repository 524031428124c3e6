package sessions

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// TestSessionsThatTheClockCutsOffSaySo: exactly where fewer turns were asked than there are to be, be it one. Three
// sessions are expected in two thirds of the clock, so that they come too late in many runs.
func TestSessionsThatTheClockCutsOffSaySo(t *testing.T) {
	c := talk(3)
	c.Arrivals.Rate, c.Turns, c.Think = 1e-6, lengths.Fixed(1), Span{}
	asked := [4]int{}
	for seed := range uint64(40) {
		s, err := NewSessionLoop(c, seed)
		require.NoError(t, err)
		n := len(converse(t, s, linear, nil))
		asked[n]++
		if n == 3 {
			require.NoError(t, s.Err())
			continue
		}
		require.ErrorContains(t, s.Err(), "a session would begin after")
	}
	require.Positive(t, asked[2])
	require.Positive(t, asked[3])
}

// TestTheMostOfLoopsIsAccepted: of clients, of the ramp and of the times between.
func TestTheMostOfLoopsIsAccepted(t *testing.T) {
	c := talk(1)
	c.Arrivals, c.Concurrency = arrivals.Spec{}, 1
	c.PauseS, c.RampS, c.Turns = sim.HorizonS/100, sim.HorizonS, lengths.Fixed(1)
	for _, law := range []Span{{"fixed", sim.HorizonS / 100, 0}, {"fixed", 0, 0}, {"gamma", 1, 100}} {
		c.Think = law
		_, err := NewSessionLoop(c, 1)
		require.NoError(t, err, "%+v", law)
	}
	for want, change := range map[string]func(c *SessionLoop){
		"closed_loop.concurrency is 16777217; accepted": func(c *SessionLoop) { c.Concurrency = 1<<24 + 1 },
		"closed_loop.think_time_s is 45793; accepted":   func(c *SessionLoop) { c.PauseS = sim.HorizonS/100 + 1 },
		"closed_loop.ramp_s is 4.579201e+06; accepted":  func(c *SessionLoop) { c.RampS = sim.HorizonS + 1 },
		"sessions.turns.mean is 65537; accepted":        func(c *SessionLoop) { c.Turns = lengths.Fixed(65537) },
		"sessions.think_time_s.mean is 45793; accepted": func(c *SessionLoop) { c.Think.MeanS = sim.HorizonS/100 + 1 },
		"sessions.think_time_s.cv is 101; accepted":     func(c *SessionLoop) { c.Think.CV = 101 },
	} {
		bad := c
		change(&bad)
		_, err := NewSessionLoop(bad, 1)
		require.ErrorContains(t, err, want)
	}
	for n := range int64(3) {
		l, err := NewClosedLoop(ClosedLoop{Concurrency: 2, Mix: c.Mix, Requests: n + 1}, 1)
		require.NoError(t, err)
		all, _ := sourcetest.Serve(l, sourcetest.Second, nil)
		require.Len(t, all, int(n)+1)
		require.InDelta(t, n+1, l.Requests(), 0)
	}
	loop := ClosedLoop{Concurrency: 1 << 4, ThinkTimeS: sim.HorizonS / 100, RampS: sim.HorizonS, Mix: c.Mix, Requests: 1}
	_, err := NewClosedLoop(loop, 1)
	require.NoError(t, err)
}

// TestATurnFitsTheContextExactly: two turns of 10 and 20 tokens behind a prefix of 7, the second of which has 10 + 20 +
// 10 tokens before it ends, and is asked with room for its limit.
func TestATurnFitsTheContextExactly(t *testing.T) {
	for _, prefix := range []int64{0, 7} {
		for _, limit := range []float64{0, 25} {
			need := prefix + 10 + 20 + 10 + max(20, int64(limit))
			for _, context := range []int64{need - 1, need} {
				c := talk(2)
				c.Turns, c.ContextMax = lengths.Fixed(2), context
				c.Mix = requests.Mix{Prompt: lengths.Fixed(10), Output: lengths.Fixed(20)}
				if limit > 0 {
					c.Mix.MaxOutput = lengths.Fixed(limit)
				}
				if prefix > 0 {
					c.Mix.Sharing = requests.Sharing{Groups: 1, PrefixTokens: prefix}
				}
				s, err := NewSessionLoop(c, 1)
				require.NoError(t, err)
				all := converse(t, s, linear, nil)
				require.Len(t, all, 2)
				require.Equal(t, context == need, all[1].session == 0, "%d of %d tokens", context, need)
				agents := AgentLoop{Loop: c.Loop, Result: lengths.Fixed(10), Tasks: 1}
				agents.Requests = 0
				a, err := NewAgentLoop(agents, 1)
				require.NoError(t, err)
				turns, tasks := work(t, a, linear, nil)
				require.Equal(t, context == need, len(turns) == 2)
				require.Equal(t, context != need, tasks[0].Outcome == TaskFull)
			}
		}
	}
}

// TestNoTurnIsAskedAtTheEnd: a turn takes a second and its user thinks for two, so that the third would be asked at
// 6 s. A workload of that long is over by then.
func TestNoTurnIsAskedAtTheEnd(t *testing.T) {
	for durationS, want := range map[float64]int{6 - 1e-9: 2, 6: 2, 6 + 1e-9: 3} {
		c := talk(0)
		c.Arrivals, c.Concurrency, c.DurationS = arrivals.Spec{}, 1, durationS
		c.Turns, c.Think = lengths.Fixed(9), Span{Distribution: "fixed", MeanS: 2}
		s, err := NewSessionLoop(c, 1)
		require.NoError(t, err)
		all := converse(t, s, func(*sim.Request) sim.Duration { return sim.Second }, nil)
		require.Len(t, all, want, "%v s", durationS)
	}
}

// TestNoLawOfATaskDrawsMoreThanThereMayBe, however far its tail goes; a bound below that stays.
func TestNoLawOfATaskDrawsMoreThanThereMayBe(t *testing.T) {
	c := AgentLoop{Loop: talk(0).Loop, Tasks: 1, Result: lengths.Fixed(10)}
	c.Turns = lengths.Spec{Distribution: "lognormal", Mean: 5, CV: 9}
	c.SubAgents = &SubAgents{Probability: 1, Agents: lengths.Spec{Distribution: "lognormal", Mean: 5, CV: 9},
		Turns: lengths.Spec{Distribution: "lognormal", Mean: 5, CV: 9, Max: 7}, Prompt: lengths.Fixed(10)}
	s, err := NewAgentLoop(c, 1)
	require.NoError(t, err)
	require.Equal(t, [3]float64{turnsMax, subAgentsMax, 7}, [3]float64{s.plans.turnsLaw.Max, s.plans.agentsLaw.Max,
		s.plans.subTurns.Max})
}

// TestEachTurnHasADeadlineOfItsOwn, of sessions and of agents: their clients wait as long for every turn, and some
// cancel before, of first turns and of later ones.
func TestEachTurnHasADeadlineOfItsOwn(t *testing.T) {
	loop := Loop{Concurrency: 4, Turns: lengths.Fixed(3), Patience: requests.Patience{TimeoutS: 9, CancelShare: 0.5,
		CancelAfterS: 2, CancelLaw: "fixed"}, Mix: requests.Mix{Prompt: lengths.Fixed(10), Output: lengths.Fixed(5)}}
	second := func(*sim.Request) sim.Duration { return sim.Second }
	talks := SessionLoop{Loop: loop}
	talks.Requests = 300
	s, err := NewSessionLoop(talks, 1)
	require.NoError(t, err)
	a, err := NewAgentLoop(AgentLoop{Loop: loop, Tasks: 100, Result: lengths.Fixed(3)}, 1)
	require.NoError(t, err)
	worked, _ := work(t, a, second, nil)
	for _, all := range [][]answered{converse(t, s, second, nil), worked} {
		require.Len(t, all, 300)
		early, later, seen := 0, 0, map[uint64]int{}
		for _, r := range all {
			waits := r.Deadline.Sub(r.Arrival)
			require.Contains(t, []sim.Duration{2 * sim.Second, 9 * sim.Second}, waits)
			if waits == 2*sim.Second {
				early, later = early+1, later+one(seen[r.session] > 0)
			}
			seen[r.session]++
		}
		require.InDelta(t, 150, early, 4*math.Sqrt(75))
		require.InDelta(t, 100, later, 4*math.Sqrt(50))
	}
}
