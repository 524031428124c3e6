package variates

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpTableIsTheExponential(t *testing.T) {
	table, worst := NewExpTable(), 0.0
	for x := -1.0; x <= 32; x += 1.37e-4 {
		worst = max(worst, math.Abs(table.At(x)/math.Exp(x)-1))
	}
	require.Less(t, worst, 1e-11)
	for _, x := range []float64{-1e9, math.Inf(-1), -2, math.Nextafter(-1, -2)} {
		require.Zero(t, table.At(x), "rounds to no token")
	}
	for _, x := range []float64{1e9, math.Inf(1), 33, math.Nextafter(32, 33)} {
		require.Equal(t, math.Inf(1), table.At(x))
	}
}

var sink float64

func BenchmarkExp(b *testing.B) {
	table := NewExpTable()
	b.Run("table", func(b *testing.B) {
		x := 0.0
		for i := range b.N {
			x += table.At(float64(i&31) * 0.9)
		}
		sink = x
	})
	b.Run("math", func(b *testing.B) {
		x := 0.0
		for i := range b.N {
			x += math.Exp(float64(i&31) * 0.9)
		}
		sink = x
	})
}
