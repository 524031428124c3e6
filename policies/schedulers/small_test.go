package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/small"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/sim"
)

// outcomes is a sink that keeps what becomes of each request.
type outcomes struct {
	*testcluster.Log
	all []small.Outcome
}

// Done implements sim.Sink.
func (o *outcomes) Done(r *sim.Request, _ sim.Time, ended sim.Outcome) {
	o.all[r.ID] = small.Outcome{Ended: ended.String(), Cached: r.Cached}
	if r.Emitted > 0 {
		o.all[r.ID].First = r.First
	}
	if ended == sim.Completed {
		o.all[r.ID].Last = r.Last
	}
}

// TestSmallScenariosEndAsTheNaiveTwinSays: scenarios in which each token of a budget decides something. The tests of
// sim compare them with a naive twin, whose outcomes these are.
func TestSmallScenariosEndAsTheNaiveTwinSays(t *testing.T) {
	t.Parallel()
	want, all := small.Outcomes(), small.Compared()
	require.Len(t, all, len(want))
	require.Greater(t, len(want), 1000)
	for i := range all {
		sink := &outcomes{testcluster.NewLog(), make([]small.Outcome, len(all[i].Requests))}
		c, err := sim.New(all[i].Config(sink))
		require.NoError(t, err, "%d: %v", i, &all[i])
		c.Run()
		require.Equal(t, want[i], small.Digest(sink.all), "%d: %v: %v", i, &all[i], sink.all)
	}
}
