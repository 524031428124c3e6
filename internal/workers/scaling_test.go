package workers

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// TestMoreWorkersAreFaster: runs that wait and compute nothing, so that the cores of one machine do not decide, take a
// fourth of the time with four workers, but for what the queue itself takes.
func TestMoreWorkersAreFaster(t *testing.T) {
	if !soak.Asked() {
		t.Skip("set DECODESIM_SOAK=1: times say nothing beside other tests")
	}
	const runs, each = 400, 100 * time.Millisecond
	var single time.Duration
	for _, n := range []int{1, 2, 4} {
		dir := place(t)
		s, q := serving(t, Listen{Dir: dir})
		q.lease = Lease
		var stops []func() error
		for range n {
			stops = append(stops, working(t, Address{URL: s.URL(), Token: s.Token},
				func(ctx context.Context, run int) (json.RawMessage, error) {
					time.Sleep(each)
					return double(ctx, run)
				}))
		}
		to := collecting(runs)
		var began time.Time
		to.then = func(taken int) {
			if taken == 1 {
				began = time.Now()
			}
		}
		require.NoError(t, q.Collect(t.Context(), job(t), to))
		took := time.Since(began)
		t.Logf("%d workers: %.2f s, %.0f runs/s", n, took.Seconds(), runs/took.Seconds())
		if n == 1 {
			single = took
		}
		assert.Less(t, took, single*3/2/time.Duration(n)+time.Second)
		for _, stop := range stops {
			_ = stop()
		}
	}
}
