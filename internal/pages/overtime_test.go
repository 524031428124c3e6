package pages

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/metrics"
)

// TestAWindowWithoutAValueIsAGap: a curve ends where its class falls asleep and begins anew where that wakes.
func TestAWindowWithoutAValueIsAGap(t *testing.T) {
	o := &metrics.OverTime{}
	for i, y := range []float64{-1, 5, 6, -1, -1, 7} {
		o.Windows = append(o.Windows, metrics.WindowResult{FromS: float64(i), ToS: float64(i + 1),
			TTFT: metrics.WindowLatency{P99: y, N: int64(max(0, y))}})
	}
	c := p99ByWindow("chat", o, ttftOf)
	require.Equal(t, []float64{1, 2, 3, 3, 4, 5, 6}, []float64(c.X))
	require.True(t, math.IsNaN(c.Y[3]) && math.IsNaN(c.Y[4]), "in every window, for curves share their instants")
	c.Y[3], c.Y[4] = 0, 0
	require.Equal(t, []float64{5, 6, 6, 0, 0, 7, 7}, []float64(c.Y))

	o.Windows = o.Windows[:4]
	c = p99ByWindow("chat", o, ttftOf)
	require.Equal(t, []float64{1, 2, 3, 3}, []float64(c.X), "asleep at the end")
	require.Empty(t, p99ByWindow("chat", &metrics.OverTime{Windows: o.Windows[:1]}, ttftOf).Y)
}

// TestTheAdaptersOfAPoolAreARow: and a pool without adapters has none.
func TestTheAdaptersOfAPoolAreARow(t *testing.T) {
	rows := adapters([]metrics.PoolResult{{Name: "plain"}, {Name: "serve", Adapters: &metrics.Adapters{N: 100, Slots: 32,
		Requests: 3000, HitRate: .685, Copies: 945, CopyShare: .00488, WaitedShare: .008, WaitMeanS: .00388}}}).Rows
	require.Len(t, rows, 1)
	var words []string
	for _, cell := range rows[0].Cells {
		words = append(words, cell.Text)
	}
	require.Equal(t, []string{"serve", "100", "32", "3,000", "68.5 %", "945", "0.488 %", "0.800 %", "3.88 ms"}, words)
}
