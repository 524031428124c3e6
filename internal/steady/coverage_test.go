package steady

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// ticks is a model whose every step takes the same time, so that a request of n tokens is a service of n steps.
type ticks sim.Duration

func (m ticks) Price(_ []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Duration(m), Steps: math.MaxInt32}
	g.Part[sim.Overhead].A = sim.Duration(m)
}

// poisson yields Poisson arrivals with a service law.
type poisson struct {
	rnd     *rand.Rand
	rate    float64
	service func(*rand.Rand) int32 // steps
	n, all  int32
	at      float64
}

func (s *poisson) Next(r *sim.Request) bool {
	if s.n == s.all {
		return false
	}
	s.at += s.rnd.ExpFloat64() / s.rate
	r.ID, r.Prompt, r.Output = s.n, 1, s.service(s.rnd)
	r.Arrival = sim.Time(sim.Seconds(s.at))
	s.n++
	return true
}

const (
	serviceSteps = 1000 // of 1 ms each: a service takes a second in the mean
	stepS        = 1e-3
)

func exponential(r *rand.Rand) int32 {
	return 1 + int32(math.Log(1-r.Float64())/math.Log(1-1.0/serviceSteps))
}

func constant(*rand.Rand) int32 { return serviceSteps }

// queue simulates so many servers from empty on, and returns what was recorded.
func queue(t *testing.T, seed uint64, servers int, rate float64, n int32,
	service func(*rand.Rand) int32) *metrics.Recorder {
	t.Helper()
	m := &metrics.Recorder{Series: metrics.NewSeries()}
	c, err := sim.New(sim.Config{
		Sink:   m,
		Source: &poisson{rnd: rand.New(rand.NewPCG(seed, 5)), rate: rate, service: service, all: n},
		Pools: []*sim.PoolSpec{{
			Name: "queue", Size: 1, KVBlocks: 1 << 30, BlockSize: 16, MaxModelLen: 1 << 20, Model: ticks(sim.Millisecond),
			Scheduler: &schedulers.Continuous{MaxNumSeqs: servers, MaxNumBatchedTokens: 1 << 20}, Router: routers.LeastLoaded{},
		}},
	})
	require.NoError(t, err)
	c.Run()
	return m
}

// TestIntervalsCoverWhatQueueingTheorySays: over many runs that begin empty, 95 % of the intervals contain what
// theory says of the steady state, within the bounds of a binomial count (4.2 standard errors below: one test in 70,000
// fails by chance). Waiting times at 80 and 90 % load are correlated over hundreds of requests, so intervals that take
// them for independent would cover a fifth of the time.
func TestIntervalsCoverWhatQueueingTheorySays(t *testing.T) {
	t.Parallel()
	erlang := func(c int, a float64) float64 { // the probability that all servers are busy
		term, sum := 1.0, 0.0
		for k := range c {
			sum += term
			term *= a / float64(k+1)
		}
		term *= float64(c) / (float64(c) - a)
		return term / (sum + term)
	}
	for _, c := range []struct {
		name    string
		servers int
		rho     float64
		n       int32
		service func(*rand.Rand) int32
		wait    float64 // in the mean
		e2e95   float64 // the 95th percentile; 0: not known in closed form
	}{
		{"M/M/1 at 50 %", 1, .5, 5_000, exponential, 1, math.Log(20) / .5},
		{"M/M/1 at 80 %", 1, .8, 20_000, exponential, 4, math.Log(20) / .2},
		{"M/M/1 at 90 %", 1, .9, 50_000, exponential, 9, math.Log(20) / .1},
		{"M/D/1 at 90 %", 1, .9, 40_000, constant, .9 / (2 * .1), 0},
		{"M/M/4 at 85 %", 4, .85, 40_000, exponential, erlang(4, 3.4) / (4 - 3.4), 0},
	} {
		if c.rho >= .9 && !soak.Asked() {
			continue // these take longest
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seeds := soak.Cases(soak.Part(40), 1000)
			var waits, means, tails, doubted int
			width := 0.0
			for seed := range uint64(seeds) {
				m := queue(t, seed, c.servers, c.rho*float64(c.servers), c.n, c.service)
				s := Of(m, Run{})
				require.NotNil(t, s.TTFT)
				// A request that finds a server free waits for its first step, one millisecond, and one behind others for none.
				waits += contains(s.TTFT.Mean, c.wait+stepS)
				means += contains(s.E2E.Mean, c.wait+1+stepS)
				tails += contains(s.E2E.P95, c.e2e95)
				width += (s.TTFT.Mean.High - s.TTFT.Mean.Low) / 2 / c.wait / float64(seeds)
				if s.DependsOnLength != "" {
					doubted++
				}
			}
			t.Logf("of %d intervals of TTFT %d contain the mean (± %.0f %%), of E2E %d the mean and %d the p95; "+
				"%d runs are doubted", seeds, waits, 100*width, means, tails, doubted)
			least := int(.95*float64(seeds) - 4.2*math.Sqrt(.95*.05*float64(seeds)))
			require.GreaterOrEqual(t, waits, least)
			require.GreaterOrEqual(t, means, least)
			if c.e2e95 > 0 {
				require.GreaterOrEqual(t, tails, least)
			}
			require.Less(t, width, 0.25, "the interval must be able to tell")
			require.LessOrEqual(t, doubted, seeds/20, "a steady queue must not be doubted")
		})
	}
}

// A queue that is offered more than it serves is doubted, whatever the seed, and has no intervals.
func TestAnOverloadedQueueIsDoubted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Cases(soak.Part(10), 30)) {
		s := Of(queue(t, seed, 1, 1.15, 20_000, exponential), Run{})
		require.Contains(t, s.DependsOnLength, "the requests under way grow", "seed %d", seed)
		require.Nil(t, s.TTFT)
	}
}

// Four hundred servers that begin empty fill up within a few services, of one second each: the warm-up is detected in
// every run, and in nine of ten not much later.
func TestTheWarmUpOfAnEmptySystemIsDetected(t *testing.T) {
	t.Parallel()
	soon, seeds := 0, soak.Cases(soak.Part(10), 30)
	for seed := range uint64(seeds) {
		s := Of(queue(t, seed, 400, 300, 30_000, exponential), Run{})
		require.Equal(t, "MSER-5", s.Method)
		require.Greater(t, s.WarmupS, 1.0, "seed %d", seed)
		if s.WarmupS < 10 {
			soon++
		}
		require.InEpsilon(t, 300*s.WarmupS, s.WarmupRequests, 0.2)
		require.Empty(t, s.DependsOnLength, "seed %d", seed)
	}
	require.GreaterOrEqual(t, 10*soon, 9*seeds)
}

// Sessions that outlast the run never come to what they ask for in the long run.
func TestSessionsThatOutlastTheRunAreDoubted(t *testing.T) {
	t.Parallel()
	m := queue(t, 1, 400, 300, 30_000, exponential) // lasts 100 s
	require.Empty(t, Of(m, Run{Sessions: Sessions{LongRunPerS: 300, BeginS: 100}}).DependsOnLength)
	few := Run{Sessions: Sessions{LongRunPerS: 340, Turns: 20, BeginS: 100}}
	require.Empty(t, Of(m, few).DependsOnLength, "400 sessions may be a tenth fewer by chance")
	s := Of(m, Run{Sessions: Sessions{LongRunPerS: 400, BeginS: 100}})
	require.Contains(t, s.DependsOnLength, "of 400 in the long run")
	require.Nil(t, s.TTFT)
}

func TestATraceHasNoSteadyState(t *testing.T) {
	s := Of(&metrics.Recorder{}, Run{NotStationary: "a trace is one recording"})
	require.Equal(t, &metrics.Steady{NotStationary: "a trace is one recording"}, s)
}

func contains(r metrics.Range, x float64) int {
	if r.Low <= x && x <= r.High {
		return 1
	}
	return 0
}

// TestIntervalsOfTaskTimesCoverWhatQueueingTheorySays: tasks that wait for one another, as in M/M/1, where the time in
// the system is exponential. Neighbours are correlated over hundreds of tasks. Each task is one request here.
func TestIntervalsOfTaskTimesCoverWhatQueueingTheorySays(t *testing.T) {
	t.Parallel()
	const rho, tasks = .8, 20_000
	seeds := soak.Cases(soak.Part(40), 1000)
	var means, tails int
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		m := &metrics.Recorder{Series: metrics.NewSeries()}
		begun, free := 0.0, 0.0
		for range tasks {
			begun += rnd.ExpFloat64() / rho
			free = max(begun, free) + rnd.ExpFloat64()
			at := sim.Time(sim.Seconds(begun))
			k := &metrics.Task{Begun: at, Ended: at.Add(sim.Seconds(free - begun))}
			r := sim.Request{Arrival: at}
			r.First, r.Last, r.Emitted = k.Ended, k.Ended, 1
			m.Done(&r, k.Ended, sim.Completed)
			m.Task(k)
		}
		s := Of(m, Run{})
		require.NotNil(t, s.Task)
		means += contains(s.Task.Mean, 1/(1-rho))
		tails += contains(s.Task.P95, math.Log(20)/(1-rho))
	}
	t.Logf("of %d intervals of task times %d contain the mean and %d the p95", seeds, means, tails)
	least := int(.95*float64(seeds) - 4.2*math.Sqrt(.95*.05*float64(seeds)))
	require.GreaterOrEqual(t, means, least)
	require.GreaterOrEqual(t, tails, least)
}

// TestTaskTimesOfARunHaveIntervalsWhereTasksAreRecorded: no run without agents has them, and one of too few tasks does
// not either.
func TestTaskTimesOfARunHaveIntervalsWhereTasksAreRecorded(t *testing.T) {
	m := queue(t, 1, 4, 2, 5000, exponential)
	require.Nil(t, Of(m, Run{}).Task)
	for i := range 200 {
		at := sim.Time(sim.Seconds(float64(10 * i)))
		m.Task(&metrics.Task{Begun: at, Ended: at.Add(sim.Seconds(float64(5 + i%7)))})
		if n := i + 1; n == 1 || n == fewest-1 || n == fewest {
			require.Equal(t, n >= fewest, Of(m, Run{}).Task != nil, n)
		}
	}
	s := Of(m, Run{})
	require.Equal(t, 1, contains(s.Task.Mean, m.Tasks.Time.MeanS()))
	require.Equal(t, 1, contains(s.Task.P50, m.Tasks.Time.QuantileS(.5)))
}
