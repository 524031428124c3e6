package calibration

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/calibration/fittest"
	"github.com/decodesim/decodesim/internal/measured"
)

var dense, parallel = fittest.Dense(), fittest.Parallel()

// own calibrates on runs of one file.
func own(t require.TestingT, runs []measured.Run) *Calibration {
	c, err := Own(context.Background(), []*measured.File{{Runs: runs}}, configs.Options{}, nil)
	require.NoError(t, err)
	return c
}

// refused is the error of a calibration.
func refused(t require.TestingT, runs ...measured.Run) string {
	c, err := Own(context.Background(), []*measured.File{{Runs: runs}}, configs.Options{}, nil)
	require.Error(t, err)
	require.Nil(t, c)
	return err.Error()
}

// fitTo fits to runs with some stiffness.
func fitTo(t require.TestingT, runs []measured.Run, stiffness float64) *Fit {
	p := Plan{Parameters: Parameters(), Stiffness: stiffness}
	f, _, err := p.To(context.Background(), runs)
	require.NoError(t, err)
	require.Len(t, f.Runs, len(runs))
	return f
}

func errorsOf(t require.TestingT, c *Calibration, m measured.Metric) MetricErrors {
	for _, e := range c.Errors {
		if e.Metric == m.String() {
			return e
		}
	}
	require.Fail(t, "no errors of "+m.String())
	return MetricErrors{}
}
