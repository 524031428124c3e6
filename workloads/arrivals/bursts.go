package arrivals

import (
	"cmp"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
)

// bursts is a rate that switches between two values after exponential times, which have a stream of their own: with
// exponential gaps the Markov-modulated Poisson process with two states, started in equilibrium. What is expected of it
// is what its mean rate yields.
type bursts struct {
	steady
	states     *rand.Rand
	on         bool
	rate, mean [2]float64 // off, on: requests/s and seconds
	start, end float64    // seconds, of the present state
	sum        float64    // requests expected by start
}

// newBursts returns the switching rate.
func newBursts(s *Spec, seed uint64) (gaps, pace, error) {
	err := cmp.Or(
		check.Above("arrivals.on_rate", s.OnRate, 0, rateMax),
		check.Within("arrivals.off_rate", s.OffRate, 0, s.OnRate),
		check.Above("arrivals.on_s", s.OnS, 0, sim.HorizonS),
		check.Above("arrivals.off_s", s.OffS, 0, sim.HorizonS),
	)
	if err != nil {
		return nil, nil, err
	}
	b := &bursts{states: rng.Stream(seed, "workloads.bursts")}
	b.rate, b.mean = [2]float64{s.OffRate, s.OnRate}, [2]float64{s.OffS, s.OnS}
	cycle := s.OnS + s.OffS
	mean := (float64(s.OnRate*s.OnS) + float64(s.OffRate*s.OffS)) / cycle
	if s.Rate > 0 {
		b.rate[0] *= s.Rate / mean
		b.rate[1] *= s.Rate / mean
		mean = s.Rate
	}
	if mean*cycle < 1e-4 {
		return nil, nil, check.Refuse("arrivals.on_s", s.OnS,
			"times for which at least 0.0001 requests are expected per on and off")
	}
	b.steady = steady(mean)
	b.on = b.states.Float64()*cycle < s.OnS
	b.end = b.duration()
	g, err := gapsWithin(s)
	return g, b, err
}

func (b *bursts) instants(requests []float64) {
	for i, n := range requests {
		requests[i] = b.at(n)
	}
}

// at returns the instant by which so many requests have come. It draws the states up to that instant.
func (b *bursts) at(requests float64) float64 {
	for {
		rate := b.rate[b.state()]
		if need := requests - b.sum; rate > 0 && need <= float64(rate*(b.end-b.start)) {
			return b.start + need/rate
		} else if b.start > sim.HorizonS {
			return b.start
		}
		b.sum += float64(rate * (b.end - b.start))
		b.on, b.start = !b.on, b.end
		b.end += b.duration()
	}
}

// duration draws how long the present state lasts.
func (b *bursts) duration() float64 { return float64(b.states.ExpFloat64() * b.mean[b.state()]) }

// state returns the index of the present state.
func (b *bursts) state() int {
	if b.on {
		return 1
	}
	return 0
}
