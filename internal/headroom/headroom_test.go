package headroom

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestASearchFindsTheHighestSustainedStep: whatever it is, as a walk over all steps would, in few runs.
func TestASearchFindsTheHighestSustainedStep(t *testing.T) {
	for _, highest := range []int{1, 3, 4, 12, 17, 26, farthest} {
		for best := lowest - 1; best <= highest; best++ {
			tried := 0
			got, err := search(best >= 0, highest, func(steps []int) ([]bool, error) {
				ok := make([]bool, len(steps))
				for i, step := range steps {
					require.True(t, step >= lowest && step <= highest && step != 0, "%d of %d", step, highest)
					ok[i] = step <= best
				}
				tried += len(steps)
				return ok, nil
			})
			require.NoError(t, err)
			require.Equal(t, best, got, "highest %d", highest)
			require.LessOrEqual(t, tried, 18)
		}
	}
}

// simulated runs a scenario.
func simulated(t *testing.T, name string, set ...string) (*build.Built, *run.Result) {
	t.Helper()
	s, err := configs.Load(name, configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	r, err := run.Simulate(context.Background(), b, run.Options{})
	require.NoError(t, err)
	return b, r
}

func found(t *testing.T, name string, set ...string) *metrics.Headroom {
	t.Helper()
	b, r := simulated(t, name, set...)
	h, err := Of(context.Background(), b, r, nil)
	require.NoError(t, err)
	return h
}

// TestHeadroomIsWhatLongRunsSustain: long runs meet the SLO a little below the load that is
// said to be sustained, and miss it a little above: of independent requests and of sessions.
func TestHeadroomIsWhatLongRunsSustain(t *testing.T) {
	for _, c := range []struct {
		name string
		rate func(times float64) string
		long []string
	}{
		{"chat-8b", func(x float64) string { return fmt.Sprintf("workload.arrivals.rate=%g", 14*x) },
			[]string{"workload.requests=20000"}},
		{"multi-turn-8b", func(x float64) string { return fmt.Sprintf("workload.arrivals.rate=%g", 2.8*x) },
			[]string{"workload.duration_s=2400"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := found(t, c.name)
			require.Greater(t, h.Factor, 1.0)
			require.False(t, h.AtLeast)
			require.NotEmpty(t, h.Breaks)
			x := &searcher{}
			verdict := func(times float64) string {
				b, r := simulated(t, c.name, append(c.long, c.rate(times))...)
				return x.verdict(b, r.Summary, r.Recorder)
			}
			assert.Empty(t, verdict(h.Factor/1.1))
			assert.NotEmpty(t, verdict(h.Factor*1.1))
		})
	}
}

// TestHeadroomDependsOnNoCores, and says the same twice.
func TestHeadroomDependsOnNoCores(t *testing.T) {
	want := found(t, "chat-8b")
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	require.Equal(t, want, found(t, "chat-8b"))
}

// TestAMissedSLOHasAHeadroomBelowOne, and a hopeless one has none.
func TestAMissedSLOHasAHeadroomBelowOne(t *testing.T) {
	h := found(t, "chat-8b", "workload.arrivals.rate=28")
	assert.Less(t, h.Factor, 1.0)
	assert.InDelta(t, found(t, "chat-8b").RatePerS, h.RatePerS, 1.5, "it is the same deployment")
	h = found(t, "chat-8b", "slo.tpot_ms=1")
	assert.Zero(t, h.Factor)
	assert.Equal(t, "90% of requests: ttft <= 300ms and tpot <= 1ms", h.Breaks)
}

// TestRulesAndClassesAreJudged, each by its own.
func TestRulesAndClassesAreJudged(t *testing.T) {
	h := found(t, "chat-8b", "slo.rules=itl p99 <= 30ms", "slo.ttft_ms=null", "slo.tpot_ms=null")
	assert.Equal(t, "itl p99 <= 30ms", h.Breaks)
	h = found(t, "two-classes-8b")
	assert.True(t, strings.HasPrefix(h.Breaks, "interactive: "), h.Breaks)
}

// TestHeadroomNeedsAnSLOAndARate, or is refused, and is not sought where short runs say too little.
func TestHeadroomNeedsAnSLOAndARate(t *testing.T) {
	b, r := simulated(t, "chat-8b", "slo.ttft_ms=null", "slo.tpot_ms=null")
	require.False(t, Worthwhile(b))
	_, err := Of(context.Background(), b, r, nil)
	require.ErrorContains(t, err, "needs an SLO")
	b, r = simulated(t, "chat-8b", "workload.arrivals=null", "workload.closed_loop.concurrency=8")
	require.False(t, Worthwhile(b))
	_, err = Of(context.Background(), b, r, nil)
	require.ErrorContains(t, err, "closed loop, whose rate is a result")
	b, _ = simulated(t, "chat-8b")
	require.True(t, Worthwhile(b))
}
