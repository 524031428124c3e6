package workloads

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/rng"
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

// TestFactorsHaveNineDigits, whether their mean is 1 by shares or not.
func TestFactorsHaveNineDigits(t *testing.T) {
	for _, share := range [][]float64{nil, {0.2, 0.3, 0.5}} {
		for _, f := range factors(rng.Stream(1, "test.factors"), .8, share, 3) {
			written, err := strconv.ParseFloat(fmt.Sprintf("%.9g", f), 64)
			require.NoError(t, err)
			require.Equal(t, written, f)
		}
	}
}
