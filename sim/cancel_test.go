package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestACancelledRunIsTheBeginningOfTheWhole: a cancelled run has reported what the whole run reports up to then, and no
// more than the event under way.
func TestACancelledRunIsTheBeginningOfTheWhole(t *testing.T) {
	t.Parallel()
	halted := 0
	rapid.Check(t, func(t *rapid.T) {
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		asked := rapid.IntRange(1, 40).Draw(t, "asked")
		whole, part := newJournal(), newJournal()
		run(t, sc.config(whole))
		c := sc.config(part)
		n := 0
		c.Cancelled = func() bool { n++; return n >= asked }
		cl := run(t, c)
		require.Equal(t, n >= asked, cl.Halted())
		require.LessOrEqual(t, len(part.ended), len(whole.ended))
		for id, end := range part.ended {
			require.Equal(t, whole.ended[id], end)
		}
		if cl.Halted() {
			halted++
		}
	})
	require.Greater(t, halted, 20)
}

// TestPartsOfACancelledRunStop: instances that are simulated one after the other stop as soon as one of them is
// cancelled.
func TestPartsOfACancelledRunStop(t *testing.T) {
	t.Parallel()
	l := loads[0]
	l.replicas, l.separate = 4, true
	j := newJournal()
	c := l.config(t, 4000, j)
	ended := 0
	c.Cancelled = func() bool { ended++; return ended >= 100 }
	cl := run(t, c)
	require.True(t, cl.Halted())
	require.Less(t, ended, 110)
}
