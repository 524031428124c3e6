package main

import "math"

// Requests in flight for which one replica is simulated, in parts of how many it had.
var crowds = []float64{0.25, 0.5, 0.7, 1, 1.4, 2, 4}

// asMany is the place among crowds of as many requests as it had.
const asMany = 3

// crowd is a replica with so many requests in flight: the rate that it answers, and TPOT.
type crowd struct{ rate, tpot float64 }

// curve is a replica with more and more requests in flight, as long as more of them mean a higher rate: behind that it
// bears no more.
type curve []crowd

// curveOf keeps what bears more than the one before.
func curveOf(all []crowd) (c curve) {
	for _, x := range all {
		if len(c) == 0 || x.rate > c[len(c)-1].rate {
			c = append(c, x)
		}
	}
	return c
}

// bears is the most that the replica answers.
func (c curve) bears() float64 { return c[len(c)-1].rate }

// at is TPOT at a rate, by the logarithms of both between the two nearest; infinite: it does not bear it.
func (c curve) at(rate float64) float64 {
	if rate > c.bears() {
		return math.Inf(1)
	}
	if rate <= c[0].rate || len(c) == 1 {
		return c[0].tpot
	}
	i := 1
	for c[i].rate < rate {
		i++
	}
	a, b := c[i-1], c[i]
	part := math.Log(rate/a.rate) / math.Log(b.rate/a.rate)
	return a.tpot * math.Pow(b.tpot/a.tpot, part)
}

// slowed is by how many percent TPOT is longer at a rate where every step takes so many times as long. Such a replica
// is the same one in another time: it has at a rate what this one has at so many times that.
func (c curve) slowed(rate, times float64) float64 {
	return 100 * (times*c.at(rate*times)/c.at(rate) - 1)
}

// margin is by how many percent every step may take longer until TPOT at a rate is longer by so many.
func (c curve) margin(rate, percent float64) float64 {
	least, most := 1.0, 1+percent/100
	for range 40 {
		if middle := (least + most) / 2; c.slowed(rate, middle) <= percent {
			least = middle
		} else {
			most = middle
		}
	}
	return 100 * (least - 1)
}
