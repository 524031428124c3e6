package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// A token in the last instant of a run is no burst of tokens.
func TestAShortEndJoinsTheIntervalBefore(t *testing.T) {
	at := func(ms float64, tokens, running int64) metrics.Sample {
		return metrics.Sample{At: sim.Time(sim.Seconds(ms / 1e3)), Tokens: tokens, Running: running}
	}
	long := []metrics.Sample{at(0, 0, 0), at(10, 10, 1), at(20, 20, 2), at(26, 26, 1)}
	assert.Equal(t, long, merge(long))
	short := []metrics.Sample{at(0, 0, 0), at(10, 10, 1), at(20, 20, 2), at(20.1, 21, 1)}
	assert.Equal(t, []metrics.Sample{at(0, 0, 0), at(10, 10, 1), at(20.1, 21, 2)}, merge(short))
}
