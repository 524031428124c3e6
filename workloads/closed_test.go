package workloads

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// follower is a source that hears of what becomes of its requests.
type follower interface {
	sim.Source
	sim.Follower
}

// serve runs l against a server that answers every request after the time it gives, and returns the requests and the
// most there were at once. Answers at one instant are told in the order that shuffle leaves.
func serve(l follower, answer func(*sim.Request) sim.Duration, shuffle func([]sim.Request)) (all []sim.Request, most int) {
	type pending struct {
		at sim.Time
		r  sim.Request
	}
	var under []pending
	for {
		end := sim.Forever
		for _, p := range under {
			end = min(end, p.at)
		}
		if when := l.When(); when == sim.Forever && end == sim.Forever {
			return all, most
		} else if when <= end {
			var r sim.Request
			if !l.Next(&r) {
				panic("a source that knows when has no request")
			}
			all = append(all, r)
			under = append(under, pending{r.Arrival.Add(answer(&r)), r})
			most = max(most, len(under))
			continue
		}
		var ended []sim.Request
		under = slices.DeleteFunc(under, func(p pending) bool {
			if p.at == end {
				ended = append(ended, p.r)
			}
			return p.at == end
		})
		if shuffle != nil {
			shuffle(ended)
		}
		for i := range ended {
			l.Done(end, &ended[i])
		}
	}
}

func second(*sim.Request) sim.Duration { return sim.Second }

func TestClientsSendAgainAfterTheyHaveThought(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 3, ThinkTimeS: 0.5, Lengths: plain(), Requests: 8}, 1)
	require.NoError(t, err)
	all, most := serve(l, second, nil)
	require.Equal(t, 3, most)
	var at []float64
	for i, r := range all {
		require.EqualValues(t, i, r.ID)
		at = append(at, r.Arrival.Seconds())
	}
	require.InDeltaSlice(t, []float64{0, 0, 0, 1.5, 1.5, 1.5, 3, 3}, at, 1e-12)
	require.NoError(t, l.Err())
	require.Equal(t, 8.0, l.Requests())
}

func TestClientsStartOverTheRamp(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 4, RampS: 2, Lengths: plain(), DurationS: 2.4}, 1)
	require.NoError(t, err)
	all, _ := serve(l, second, nil)
	var at []float64
	for _, r := range all {
		at = append(at, r.Arrival.Seconds())
	}
	require.InDeltaSlice(t, []float64{0, 0.5, 1, 1, 1.5, 1.5, 2, 2}, at, 1e-12)
}

func TestNoClientStartsAfterTheEnd(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 4, RampS: 8, DurationS: 3, ThinkTimeS: 10, Lengths: plain()}, 1)
	require.NoError(t, err)
	all, _ := serve(l, second, nil)
	require.Len(t, all, 2)
	require.Equal(t, sim.Time(0).Add(2*sim.Second), all[1].Arrival)
}

func TestTheOrderOfTiesChangesNothing(t *testing.T) {
	config := ClosedLoop{Concurrency: 16, ThinkTimeS: 0.2, ThinkLaw: "exponential", Lengths: plain(), Requests: 3000}
	// Answers take whole tenths of a second, so many end together once thoughts are rounded too.
	answer := func(r *sim.Request) sim.Duration {
		tenth := sim.Time(100 * sim.Millisecond)
		end := (r.Arrival/tenth + 1 + sim.Time(r.Output%4)) * tenth
		return end.Sub(r.Arrival)
	}
	a, err := NewClosedLoop(config, 5)
	require.NoError(t, err)
	b, err := NewClosedLoop(config, 5)
	require.NoError(t, err)
	rnd := rng.Stream(1, "test.trace")
	first, most := serve(a, answer, nil)
	again, _ := serve(b, answer, func(r []sim.Request) { rnd.Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] }) })
	require.Equal(t, first, again)
	require.LessOrEqual(t, most, 16)
	// Little's law: 16 clients, cycles of an answer (0.05 + 0.15 on average) and a thought.
	require.InEpsilon(t, 3000*0.4/16, first[2999].Arrival.Seconds(), 0.08)
}

func TestLengthsDoNotDependOnTheServer(t *testing.T) {
	config := ClosedLoop{Concurrency: 5, Lengths: plain(), Requests: 200}
	a, err := NewClosedLoop(config, 5)
	require.NoError(t, err)
	b, err := NewClosedLoop(config, 5)
	require.NoError(t, err)
	fast, _ := serve(a, func(r *sim.Request) sim.Duration { return sim.Duration(r.Output) * sim.Millisecond }, nil)
	slow, _ := serve(b, func(r *sim.Request) sim.Duration { return sim.Duration(r.Prompt) * sim.Second }, nil)
	for i := range fast {
		slow[i].Arrival = fast[i].Arrival
	}
	require.Equal(t, fast, slow)
}

func TestALoopThatStandsStillEnds(t *testing.T) {
	rejected := func(*sim.Request) sim.Duration { return 0 }
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 2, Lengths: plain(), Requests: 100}, 1)
	require.NoError(t, err)
	all, _ := serve(l, rejected, nil)
	require.Len(t, all, 100)
	require.NoError(t, l.Err())

	l, err = NewClosedLoop(ClosedLoop{Concurrency: 2, Lengths: plain(), DurationS: 10}, 1)
	require.NoError(t, err)
	l.stalled = stallMax - 50
	serve(l, rejected, nil)
	require.ErrorContains(t, l.Err(), "ended at the instant they were sent")
	require.Equal(t, sim.Forever, l.When())
	require.False(t, l.Next(&sim.Request{}))
}

func TestALoopBeyondTheClockIsAnError(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 1, ThinkTimeS: sim.HorizonS / 100, Lengths: plain(), Requests: 200}, 1)
	require.NoError(t, err)
	all, _ := serve(l, second, nil)
	require.Len(t, all, 100)
	require.ErrorContains(t, l.Err(), "accepted: a run within 4.5792e+06 s")
}

func TestBadClosedLoopsAreRefusedByName(t *testing.T) {
	for want, c := range map[string]ClosedLoop{
		"concurrency is 0":                {Requests: 1},
		"concurrency is -4":               {Concurrency: -4, Requests: 1},
		"requests is 0; accepted":         {Concurrency: 4},
		"think_time_s is -1":              {Concurrency: 4, Requests: 1, ThinkTimeS: -1},
		`think_law is "slow"`:             {Concurrency: 4, Requests: 1, ThinkLaw: "slow"},
		"ramp_s is -1":                    {Concurrency: 4, Requests: 1, RampS: -1},
		`output_tokens.distribution is "`: {Concurrency: 4, Requests: 1, Lengths: Lengths{Prompt: plain().Prompt}},
	} {
		_, err := NewClosedLoop(c, 1)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "accepted: ")
	}
}
