package run

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func built(t *testing.T, scenario string, set ...string) *build.Built {
	t.Helper()
	s, err := configs.Load(scenario, configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// watcher is an observer that hides nothing and sees the cluster.
type watcher struct{ began int }

func (*watcher) Observe(*sim.Config)  {}
func (w *watcher) Begin(*sim.Cluster) { w.began++ }

func TestWhoeverFollowsARunChangesNothing(t *testing.T) {
	t.Parallel()
	load := []string{"workload.requests=20000", "pools.serve.replicas=2"}
	plain, err := Simulate(context.Background(), built(t, "chat-8b", load...), Options{})
	require.NoError(t, err)
	var far []Progress
	w := &watcher{}
	followed, err := Simulate(context.Background(), built(t, "chat-8b", load...), Options{
		Rows: -1, Timeline: true, Sample: true, Observers: []Observer{w}, Progress: func(p Progress) { far = append(far, p) },
	})
	require.NoError(t, err)
	assert.Equal(t, plain.Summary, followed.Summary)
	assert.Len(t, followed.Rows, 20000)
	assert.NotEmpty(t, followed.Timeline)
	assert.NotEmpty(t, followed.Sample.Records())
	assert.Equal(t, 1, w.began)
	for _, p := range far {
		assert.InDelta(t, p.Done/20000, p.Share, 1e-9)
	}
	assert.Nil(t, plain.Rows)
	assert.Nil(t, plain.Timeline)
	assert.Nil(t, plain.Sample)
}

// TestCoresChangeNothing: replicas that a router does not look at are simulated at the same time, with the same
// summary.
func TestCoresChangeNothing(t *testing.T) {
	t.Parallel()
	load := []string{"workload.requests=6000", "pools.serve.replicas=7", "router=random", "workload.arrivals.rate=60"}
	one, err := Simulate(context.Background(), built(t, "two-classes-8b", load...), Options{})
	require.NoError(t, err)
	for _, cores := range []int{2, 3, 16} {
		several, err := Simulate(context.Background(), built(t, "two-classes-8b", load...), Options{Cores: cores})
		require.NoError(t, err)
		require.Equal(t, one.Summary, several.Summary, "%d cores", cores)
	}
}

// TestWindowsOfTimeDependOnNoEvents: steps advanced at once or one by one, replicas on one core or several.
func TestWindowsOfTimeDependOnNoEvents(t *testing.T) {
	t.Parallel()
	load := []string{"pools.serve.replicas=3", "router=round-robin", "workload.requests=2000", "workload.arrivals.rate=60",
		"slo.rules=ttft p95 <= 60ms, itl p99 <= 9ms, queue max <= 10ms", "slo.window_s=3"}
	overTime := func(maxRun, cores int) (*metrics.OverTime, string) {
		b := built(t, "chat-8b", load...)
		b.Config.MaxRun = maxRun
		r, err := Simulate(context.Background(), b, Options{Cores: cores, Rows: maxRun})
		require.NoError(t, err)
		said, err := json.Marshal(r.Summary.OverTime)
		require.NoError(t, err)
		return r.Summary.OverTime, string(said)
	}
	o, want := overTime(0, 1)
	require.Greater(t, len(o.Windows), 8)
	met := map[bool]int{}
	for _, w := range o.Windows {
		met[*w.Met]++
	}
	require.Greater(t, min(met[true], met[false]), 1, "both come up: %v", met)
	for _, by := range [][2]int{{1, 1}, {0, 2}, {0, 5}} { // one step at a time, in order of time; on several cores
		_, got := overTime(by[0], by[1])
		require.Equal(t, want, got, "at most %d steps at once, %d cores", by[0], by[1])
	}
}

func TestMoreRequestsThanRowsLeaveNone(t *testing.T) {
	t.Parallel()
	r, err := Simulate(context.Background(), built(t, "chat-8b", "workload.requests=300"), Options{Rows: 299})
	require.NoError(t, err)
	assert.Nil(t, r.Rows)
}

// TestACancelledRunEndsAtOnce is not parallel: it counts goroutines.
func TestACancelledRunEndsAtOnce(t *testing.T) {
	b := built(t, "chat-8b", "workload.requests=50000000")
	before := runtime.NumGoroutine()
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	begun := time.Now()
	r, err := Simulate(ctx, b, Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Nil(t, r)
	assert.Less(t, time.Since(begun), 2*time.Second)
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before the run", runtime.NumGoroutine(), before)
}

func TestEachIsCalledOnceForEveryIndex(t *testing.T) {
	t.Parallel()
	called, done := make([]int, 1000), 0
	EachReported(len(called), func(i int) { called[i]++ }, func(n int) { done = max(done, n) })
	assert.Equal(t, len(called), done)
	for i, n := range called {
		assert.Equal(t, 1, n, i)
	}
}

// slow is a scenario in which a transfer takes ten minutes, and what receives it fails once a minute.
const slow = `model: llama-3.1-8b
pools:
  - {name: prefill, role: prefill, gpu: h100-sxm, kv_link: nic-100g, kv_link_efficiency: 0.0001, first_token: decode}
  - {name: decode, role: decode, gpu: h100-sxm}
random_failures: [{pool: decode, mtbf_s: 60, mttr_s: 2, in_flight: retry}]
workload:
  arrivals: {process: poisson, rate: 1}
  prompt_tokens: {distribution: fixed, mean: 6000}
  output_tokens: {distribution: fixed, mean: 2}
  requests: 2
`

// TestARunThatNeverEndsSaysWhy: a replica fails during every transfer, or too much is asked of it.
func TestARunThatNeverEndsSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set []string
		why string
	}{
		{nil, "replicas fail before they are done with a request, and "},
		{[]string{"random_failures.0.mtbf_s=1e6", "workload.requests=20000"}, "send fewer or shorter ones, or add replicas"},
	} {
		s, err := configs.Read("slow.yaml", []byte(slow), configs.Options{Set: c.set})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		_, err = Simulate(context.Background(), b, Options{})
		require.ErrorContains(t, err, "still under way after 53 days, the end of the simulated clock; "+c.why)
		require.ErrorAs(t, err, new(Failure))
	}
}
