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
	assert.Equal(t, long, Merge(long, IntervalsMax))
	short := []metrics.Sample{at(0, 0, 0), at(10, 10, 1), at(20, 20, 2), at(20.1, 21, 1)}
	assert.Equal(t, []metrics.Sample{at(0, 0, 0), at(10, 10, 1), at(20.1, 21, 2)}, Merge(short, IntervalsMax))
}

func TestATimelineHasARowForEachPool(t *testing.T) {
	names := func(rows []row) (all []string) {
		for _, r := range rows {
			for _, l := range r.lines {
				all = append(all, l.name)
			}
		}
		return all
	}
	one := timeline(50, sim.Second)
	assert.Equal(t, []string{"arrivals per second", "requests running", "waiting", "KV cache in use",
		"output tokens per second"}, names(rows(one, 1)))
	three := fleetTimeline(900)
	assert.Len(t, rows(three, 1), 4+extraRows(three))
	assert.Equal(t, []string{
		"arrivals per second", "prefill: running", "waiting", "decode: running", "waiting", "on their way to it",
		"serve-the-rest-with-a-long-name: running", "waiting", "KV cache in use: prefill", "decode",
		"serve-the-rest-with-a-long-name",
		"replicas that take requests: prefill", "decode", "serve-the-rest-with-a-long-name", "starting",
		"output tokens per second",
	}, names(rows(three, 1)))
	for i := range three { // nothing comes or goes
		for j := range three[i].Pools {
			three[i].Pools[j].Live, three[i].Pools[j].Starting = 2, 0
		}
	}
	assert.Len(t, rows(three, 1), 6)
}
