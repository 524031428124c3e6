package metrics

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestTheSlowestGapsAreSharedByTheirReasons: of 400 gaps two last longer than 99 % of all do, of which prompts held up
// one and a step of decodes alone took the other.
func TestTheSlowestGapsAreSharedByTheirReasons(t *testing.T) {
	m := &Recorder{Series: NewSeries()}
	m.steps(nil, 0, &sim.Segment{First: sim.Second, Steps: 199}, 199, 2)
	m.steps(nil, 0, &sim.Segment{First: 10 * sim.Second, Steps: 1}, 1, 1)
	m.Paused(nil, 0, sim.Time(9*sim.Second), &sim.Segment{First: sim.Second, Steps: 1}, 1)
	var want Hist
	want.Add(sim.Second, 398)
	want.Add(10*sim.Second, 2)
	require.Equal(t, want.Counts(), m.ITL.Counts())
	require.EqualValues(t, 1, m.Series.Slots()[len(m.Series.Slots())-1].Sum[OfITL].N, "of steps another part of it counts")
	m.ITL.Add(10*sim.Second, 3)
	m.Stalls[Preempted].Add(10*sim.Second, 2)
	tail := m.tail()
	require.Equal(t, TailShare{Decode: .4, Paused: .2, Preempted: .4}, tail.Share)
	require.InDelta(t, 10, tail.P99S, .01)
}

// TestStepsFallIntoTheBucketsOfTheirLength: of two that grow the second is in another bucket.
func TestStepsFallIntoTheBucketsOfTheirLength(t *testing.T) {
	var m Recorder
	var want Hist
	m.steps(nil, 0, &sim.Segment{First: sim.Second, Growth: sim.Second, Steps: 2}, 2, 3)
	want.Add(sim.Second, 3)
	want.Add(2*sim.Second, 3)
	require.Equal(t, want.Counts(), m.ITL.Counts())
}
