package workloads

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/sourcetest"
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

// TestSpreadsOfClientsNeedACV: clients of arrivals that have no cv may not differ in it, and are accepted where they do
// not.
func TestSpreadsOfClientsNeedACV(t *testing.T) {
	poisson, gamma := arrivals.Spec{Process: "poisson", Rate: 5}, arrivals.Spec{Process: "gamma", Rate: 5, CV: 2}
	for _, c := range []struct {
		arrivals arrivals.Spec
		spread   float64
		refused  bool
	}{
		{poisson, 0, false}, {poisson, 1e-3, true}, {gamma, 0, false}, {gamma, 1, false},
	} {
		_, err := NewMix(Mix{Mix: sourcetest.Plain(), Requests: 10,
			Clients: Clients{Arrivals: c.arrivals, Count: 3, CVSpread: c.spread}}, 1)
		if c.refused {
			require.ErrorContains(t, err, "clients.cv_spread is 0.001; accepted: 0, for arrivals that have no cv")
		} else {
			require.NoError(t, err, "%+v", c)
		}
	}
}
