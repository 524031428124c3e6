package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// inbox is a source to which requests are added while the run goes on.
type inbox struct{ requests []sim.Request }

func (s *inbox) When() sim.Time {
	if len(s.requests) == 0 {
		return sim.Forever
	}
	return s.requests[0].Arrival
}

func (s *inbox) Next(r *sim.Request) bool {
	if len(s.requests) == 0 {
		return false
	}
	*r, s.requests = s.requests[0], s.requests[1:]
	return true
}

func (s *inbox) Done(sim.Time, *sim.Request) {}

// cancel sets the deadline of a request that has not been taken.
func (s *inbox) cancel(id int32, at sim.Time) {
	for i := range s.requests {
		if s.requests[i].ID == id {
			s.requests[i].Deadline = at
		}
	}
}

// happening is what comes from outside: requests, clients that cancel, and commands to the fleet.
type happening struct {
	at      sim.Time
	arrives *sim.Request
	cancels int32
}

// live serves the requests of sc as they come: nothing is known of a request before its arrival, of a cancellation
// before its deadline, or of what the controller does before it does so, unless that goes by what waits.
func live(t require.TestingT, sc scenario, c sim.Config, rnd *rand.Rand) *sim.Cluster {
	box := new(inbox)
	c.Source = box
	commands := c.Controller
	if _, activates := commands.(sim.Activator); activates || rnd.IntN(3) == 0 {
		commands = nil
	} else {
		c.Controller = nil
	}
	cl, err := sim.New(c)
	require.NoError(t, err)
	var list []happening
	for i := range sc.requests {
		r := sc.requests[i]
		if r.Deadline != 0 {
			list = append(list, happening{at: r.Deadline, cancels: r.ID})
			r.Deadline = 0
		}
		list = append(list, happening{at: r.Arrival, arrives: &r})
	}
	slices.SortStableFunc(list, func(a, b happening) int { return int(min(1, max(-1, a.at-b.at))) })
	command := sim.Forever
	if commands != nil {
		command = 0
	}
	for len(list) > 0 {
		at := min(list[0].at, command)
		for range rnd.IntN(4) { // the present comes on by steps of its own
			if at > cl.Now()+1 {
				next := cl.Advance(cl.Now() + sim.Time(rnd.Int64N(int64(at-cl.Now()-1))))
				require.Greater(t, next, cl.Now())
			}
		}
		if command == at {
			cl.Act(at, func() { command = commands.Control(at, cl) })
		} else {
			cl.Advance(at - 1)
		}
		for ; len(list) > 0 && list[0].at == at; list = list[1:] {
			if r := list[0].arrives; r != nil {
				box.requests = append(box.requests, *r)
			} else if !cl.Cancel(list[0].cancels, at) {
				box.cancel(list[0].cancels, at)
			}
		}
		if until := c.Until; until > 0 && at > until {
			break
		}
	}
	for command < sim.Forever && (c.Until == 0 || command <= c.Until) {
		cl.Act(command, func() { command = commands.Control(command, cl) })
	}
	cl.Run()
	return cl
}

// TestWhatIsServedLiveIsTheRunThatKnewOfItAll: requests that are added when they arrive, cancellations that come when
// they do, and commands to the fleet give every token at the instant at which the naive twin, which knew of them from
// the beginning, emits it.
func TestWhatIsServedLiveIsTheRunThatKnewOfItAll(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	for _, draw := range []func(*rapid.T) scenario{drawScenario, drawFleetScenario} {
		rapid.Check(t, func(t *rapid.T) {
			drawn++
			if onOther(t) {
				return
			}
			sc := draw(t)
			if sc.clients+sc.sessions > 0 {
				return // what comes is not known before
			}
			rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "live seed"), 3))
			twin, j := runNaive(sc), newJournal()
			twin.live = true
			c := sc.config(j)
			c.MaxRun = []int{0, 1, 3}[rnd.IntN(3)]
			compare(t, "live", twin, j, live(t, sc, c, rnd))
			coverFleet(cover, twin)
		})
	}
	wantCovered(t, drawn, cover, map[string]int{"failed": 100, "completed": 1000, "failures": 50, "drains": 20})
}

// TestARunGoesOnAfterThePresent: to its end, however far it had been advanced.
func TestARunGoesOnAfterThePresent(t *testing.T) {
	sc, j := aheadScenario(false), newJournal()
	c := sc.config(j)
	c.Source = &inbox{requests: []sim.Request{{Prompt: 1, Output: 50, Traced: true}}}
	cl, err := sim.New(c)
	require.NoError(t, err)
	cl.Advance(sim.Time(promptTime + stepTime))
	require.Empty(t, j.ended)
	cl.Run()
	require.Len(t, j.tokens[0], 50)
	require.Equal(t, sim.Time(promptTime+49*stepTime), j.tokens[0][49])
}

// TestACommandPrecedesWhatHappensAtItsInstant: a step that ends with it has not ended, one that ended a picosecond
// before has.
func TestACommandPrecedesWhatHappensAtItsInstant(t *testing.T) {
	for after, want := range []int{0, 1} {
		box, j := &inbox{[]sim.Request{{Prompt: 4, Output: 2, Traced: true}}}, newJournal()
		sc := scenario{size: 1, blockSize: 4, blocks: 10, maxLen: 40, model: prices{overhead: sim.Second},
			policy: &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 8, MaxModelLen: 40}}
		c := sc.config(j)
		c.Source = box
		cl, err := sim.New(c)
		require.NoError(t, err)
		at, done := sim.Time(sim.Second)+sim.Time(after), false
		cl.Act(at, func() {
			done = true
			require.Equal(t, at, cl.Now())
			require.Len(t, j.tokens[0], want)
		})
		require.True(t, done)
		cl.Run()
		require.Equal(t, []sim.Time{sim.Time(sim.Second), 2 * sim.Time(sim.Second)}, j.tokens[0])
	}
}
