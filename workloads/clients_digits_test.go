package workloads

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbersOfClientsHaveNineDigits: the tenth may differ between processors, and goes by the nearest of nine.
func TestNumbersOfClientsHaveNineDigits(t *testing.T) {
	for x, want := range map[float64]float64{
		1.0 / 3: 0.333333333, 2.0 / 3: 0.666666667, 123456789.4: 123456789, 1234567891: 1234567890, 0: 0, 7: 7,
		math.Nextafter(0.5, 1): 0.5,
	} {
		require.Equal(t, want, nineDigits(x), "%v", x)
	}
}
