package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

func TestClientsSendAgainAfterTheyHaveThought(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 3, ThinkTimeS: 0.5, Mix: sourcetest.Plain(), Requests: 8}, 1)
	require.NoError(t, err)
	all, most := sourcetest.Serve(l, sourcetest.Second, nil)
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
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 4, RampS: 2, Mix: sourcetest.Plain(), DurationS: 2.4}, 1)
	require.NoError(t, err)
	all, _ := sourcetest.Serve(l, sourcetest.Second, nil)
	var at []float64
	for _, r := range all {
		at = append(at, r.Arrival.Seconds())
	}
	require.InDeltaSlice(t, []float64{0, 0.5, 1, 1, 1.5, 1.5, 2, 2}, at, 1e-12)
}

func TestNoClientStartsAfterTheEnd(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 4, RampS: 8, DurationS: 3, ThinkTimeS: 10, Mix: sourcetest.Plain()}, 1)
	require.NoError(t, err)
	all, _ := sourcetest.Serve(l, sourcetest.Second, nil)
	require.Len(t, all, 2)
	require.Equal(t, sim.Time(0).Add(2*sim.Second), all[1].Arrival)
}

func TestTheOrderOfTiesChangesNothing(t *testing.T) {
	config := ClosedLoop{Concurrency: 16, ThinkTimeS: 0.2, ThinkLaw: "exponential", Mix: sourcetest.Plain(),
		Requests: 3000}
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
	first, most := sourcetest.Serve(a, answer, nil)
	again, _ := sourcetest.Serve(b, answer, func(r []sim.Request) {
		rnd.Shuffle(len(r),
			func(i, j int) { r[i], r[j] = r[j], r[i] })
	})
	require.Equal(t, first, again)
	require.LessOrEqual(t, most, 16)
	// Little's law: 16 clients, cycles of an answer (0.05 + 0.15 on average) and a thought.
	require.InEpsilon(t, 3000*0.4/16, first[2999].Arrival.Seconds(), 0.08)
}

func TestLengthsDoNotDependOnTheServer(t *testing.T) {
	config := ClosedLoop{Concurrency: 5, Mix: sourcetest.Plain(), Requests: 200}
	a, err := NewClosedLoop(config, 5)
	require.NoError(t, err)
	b, err := NewClosedLoop(config, 5)
	require.NoError(t, err)
	fast, _ := sourcetest.Serve(a,
		func(r *sim.Request) sim.Duration { return sim.Duration(r.Output) * sim.Millisecond }, nil)
	slow, _ := sourcetest.Serve(b, func(r *sim.Request) sim.Duration { return sim.Duration(r.Prompt) * sim.Second }, nil)
	for i := range fast {
		slow[i].Arrival = fast[i].Arrival
	}
	require.Equal(t, fast, slow)
}

func TestALoopThatStandsStillEnds(t *testing.T) {
	rejected := func(*sim.Request) sim.Duration { return 0 }
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 2, Mix: sourcetest.Plain(), Requests: 100}, 1)
	require.NoError(t, err)
	all, _ := sourcetest.Serve(l, rejected, nil)
	require.Len(t, all, 100)
	require.NoError(t, l.Err())

	l, err = NewClosedLoop(ClosedLoop{Concurrency: 2, Mix: sourcetest.Plain(), DurationS: 10}, 1)
	require.NoError(t, err)
	l.clients.stalled = stallMax - 50
	sourcetest.Serve(l, rejected, nil)
	require.ErrorContains(t, l.Err(), "ended at the instant they were sent")
	require.Equal(t, sim.Forever, l.When())
	require.False(t, l.Next(&sim.Request{}))
}

func TestALoopBeyondTheClockIsAnError(t *testing.T) {
	l, err := NewClosedLoop(ClosedLoop{Concurrency: 1, ThinkTimeS: sim.HorizonS / 100, Mix: sourcetest.Plain(),
		Requests: 200}, 1)
	require.NoError(t, err)
	all, _ := sourcetest.Serve(l, sourcetest.Second, nil)
	require.Len(t, all, 100)
	require.ErrorContains(t, l.Err(), "accepted: a run within 4.5792e+06 s")
}

func TestBadClosedLoopsAreRefusedByName(t *testing.T) {
	for want, c := range map[string]ClosedLoop{
		"concurrency is 0":        {Requests: 1},
		"concurrency is -4":       {Concurrency: -4, Requests: 1},
		"requests is 0; accepted": {Concurrency: 4},
		"think_time_s is -1":      {Concurrency: 4, Requests: 1, ThinkTimeS: -1},
		`think_law is "slow"`:     {Concurrency: 4, Requests: 1, ThinkLaw: "slow"},
		"ramp_s is -1":            {Concurrency: 4, Requests: 1, RampS: -1},
		`output_tokens.distribution is "`: {Concurrency: 4, Requests: 1,
			Mix: requests.Mix{Prompt: sourcetest.Plain().Prompt}},
	} {
		_, err := NewClosedLoop(c, 1)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "accepted: ")
	}
}
