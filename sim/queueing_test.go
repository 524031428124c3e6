package sim_test

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

// ticks is a model whose every step takes the same time, so that a request of n tokens is a service of n steps: prompts
// are one token, and the step that reads a prompt emits the first token.
type ticks sim.Duration

func (m ticks) Price(_ []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Duration(m), Steps: math.MaxInt32}
	g.Part[sim.Overhead].A = sim.Duration(m)
}

// markovian yields Poisson arrivals with a service law.
type markovian struct {
	rnd     *rand.Rand
	rate    float64
	service func(*rand.Rand) int32 // steps
	n       int32
	at      float64
}

func (s *markovian) Next(r *sim.Request) bool {
	if s.n == 0 {
		return false
	}
	s.n--
	s.at += s.rnd.ExpFloat64() / s.rate
	r.ID, r.Prompt, r.Output = 1<<30-s.n, 1, s.service(s.rnd)
	r.Arrival = sim.Time(sim.Seconds(s.at))
	return true
}

// queueTime simulates c servers and returns the mean wait for one in seconds, and the half-width of its 99 % interval
// over independent replications.
func queueTime(t *testing.T, servers int, rate float64, step sim.Duration, service func(*rand.Rand) int32) (mean,
	half float64) {
	const replications = 24
	requests := soak.Cases(15_000, 60_000)
	if soak.Brief() {
		requests = 6_000 // the least of which intervals can tell
	}
	var waits []float64
	for seed := range uint64(replications) {
		var m metrics.Recorder
		run(t, sim.Config{
			Sink: &m,
			Source: &markovian{rnd: rand.New(rand.NewPCG(seed, 3)), rate: rate, service: service,
				n: int32(requests)},
			Pools: []*sim.PoolSpec{{
				Name: "queue", Size: 1, KVBlocks: 1 << 30, BlockSize: 16, MaxModelLen: 1 << 20, Model: ticks(step),
				Scheduler: &schedulers.Continuous{MaxNumSeqs: servers, MaxNumBatchedTokens: 1 << 20}, Router: routers.LeastLoaded{},
			}},
		})
		waits = append(waits, m.Queue.MeanS())
	}
	for _, w := range waits {
		mean += w / replications
	}
	for _, w := range waits {
		half += (w - mean) * (w - mean) / (replications - 1)
	}
	return mean, 2.807 * math.Sqrt(half/replications) // Student's t, 23 degrees of freedom, 99 %
}

const (
	serviceSteps = 400
	serviceS     = 1.0
	tick         = sim.Second / serviceSteps
)

// A server can be taken up only at a step boundary. A request that waits is taken up at one, where the service before
// it ends; one that finds a server free but others busy waits for the boundary: up to one step, half of one on average.
const quantumS = serviceS / serviceSteps

func geometric(r *rand.Rand) int32 {
	return 1 + int32(math.Log(1-r.Float64())/math.Log(1-1.0/serviceSteps))
}

// TestMD1: with one sequence at a time and services of equal length, the wait is ρ/(2(1−ρ)) services
// (Pollaczek–Khinchine).
func TestMD1(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{0.3, 0.6, 0.8} {
		got, half := queueTime(t, 1, rho/serviceS, tick, func(*rand.Rand) int32 { return serviceSteps })
		requireNear(t, rho*serviceS/(2*(1-rho)), got, half)
	}
}

// TestMM1: with geometric services, exponential but for the step, it is ρ/(1−ρ) services.
func TestMM1(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{0.3, 0.6, 0.8} {
		got, half := queueTime(t, 1, rho/serviceS, tick, geometric)
		requireNear(t, rho*serviceS/(1-rho), got, half)
	}
}

// TestMMc: with c sequences at once it is Erlang's C(c, a) / (c − a) services, a = λ·service.
func TestMMc(t *testing.T) {
	t.Parallel()
	for _, c := range []int{2, 8} {
		for _, rho := range []float64{0.6, 0.85} {
			a := rho * float64(c)
			got, half := queueTime(t, c, a/serviceS, tick, geometric)
			requireNear(t, erlangC(c, a)/(float64(c)-a)*serviceS, got, half)
		}
	}
}

func requireNear(t *testing.T, want, got, half float64) {
	t.Helper()
	t.Logf("wait %.4f s ± %.4f (99 %%), theory %.4f", got, half, want)
	require.InDelta(t, want, got, half+quantumS)
	require.Less(t, half, 0.12*want+quantumS, "the interval must be able to tell")
}

// erlangC returns the probability that all c servers are busy at offered load a.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	term *= float64(c) / (float64(c) - a)
	return term / (sum + term)
}
