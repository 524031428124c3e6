package workloads

import (
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// bursts is a rate that switches between two values after exponential times, which have a stream of their own: the
// Markov-modulated Poisson process with two states, started in equilibrium.
type bursts struct {
	states     *rand.Rand
	on         bool
	rate, mean [2]float64 // off, on: requests/s and seconds
	start, end float64    // seconds; of the present state
	sum        float64    // requests expected by start
}

// newBursts returns the switching rate and its mean.
func newBursts(a Arrivals, seed uint64) (*bursts, float64, error) {
	err := first(
		above("arrivals.on_rate", a.OnRate, 0, rateMax),
		closed("arrivals.off_rate", a.OffRate, 0, a.OnRate),
		above("arrivals.on_s", a.OnS, 0, sim.HorizonS),
		above("arrivals.off_s", a.OffS, 0, sim.HorizonS),
	)
	if err != nil {
		return nil, 0, err
	}
	b := &bursts{states: rng.Stream(seed, "workloads.bursts")}
	b.rate, b.mean = [2]float64{a.OffRate, a.OnRate}, [2]float64{a.OffS, a.OnS}
	cycle := a.OnS + a.OffS
	mean := (a.OnRate*a.OnS + a.OffRate*a.OffS) / cycle
	if a.Rate > 0 {
		b.rate[0] *= a.Rate / mean
		b.rate[1] *= a.Rate / mean
		mean = a.Rate
	}
	if mean*cycle < 1e-4 {
		return nil, 0, refuse("arrivals.on_s", a.OnS, "times for which at least 0.0001 requests are expected per on and off")
	}
	b.on = b.states.Float64()*cycle < a.OnS
	b.end = b.hold()
	return b, mean, nil
}

// at returns the instant by which mass requests are expected; mass never falls from one call to the next.
func (b *bursts) at(mass float64) float64 {
	for {
		rate := b.rate[b.state()]
		if need := mass - b.sum; rate > 0 && need <= float64(rate*(b.end-b.start)) {
			return b.start + need/rate
		} else if b.start > sim.HorizonS {
			return b.start
		}
		b.sum += float64(rate * (b.end - b.start))
		b.on, b.start = !b.on, b.end
		b.end += b.hold()
	}
}

// hold draws how long the present state lasts.
func (b *bursts) hold() float64 { return b.states.ExpFloat64() * b.mean[b.state()] }

func (b *bursts) state() int {
	if b.on {
		return 1
	}
	return 0
}
