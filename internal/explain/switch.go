package explain

import (
	"sort"

	"github.com/decodesim/decodesim/sim"
)

// longest returns the largest batch up to most whose step is surely shorter than stepSMax: a step of n sequences takes
// at most n times that of one.
func (s *Step) longest(most int) int {
	return int(max(1, min(float64(most), stepSMax/s.seconds(1))))
}

// switchMax bounds the search for a batch.
const switchMax = 1 << 16

// computeFrom returns the least batch from which compute binds the whole step at this context; 0: none that is
// searched. Bytes per sequence fall with the batch, which shares the weights, and FLOPs per sequence do not: there is
// one such batch.
func (s *Step) computeFrom() int {
	return least(s.longest(switchMax), func(n int) bool { g := s.Price(n); return g.ComputeBound })
}

// LinearFrom returns the same for the layers that multiply by weights alone, without the cache.
func (s *Step) LinearFrom() int {
	return least(switchMax, func(n int) bool {
		memoryS, computeS := 0.0, 0.0
		for _, p := range s.Model.Parts(n, 1) {
			if p.Kind == sim.Weights {
				memoryS += p.MemoryPeakS
				computeS += p.ComputePeakS
			}
		}
		return computeS > memoryS
	})
}

// cacheFrom returns the least context from which the batch reads more cache than weights; 0: none up to the model's
// limit. What is read grows with the context, except that a chunked window starts anew: so the chunk is found first.
func (s *Step) cacheFrom() int {
	chunk := 1
	for _, w := range s.Deployment.Windows() {
		if w.Chunked {
			chunk = int(w.Tokens)
		}
	}
	limit := s.Deployment.Model.ContextMax
	outweighs := func(context int) bool {
		weights, cache := s.reads(s.batch, context)
		return cache > weights
	}
	chunks := (limit + chunk - 1) / chunk
	ends := least(chunks, func(n int) bool { return outweighs(min(n*chunk, limit)) })
	if ends == 0 {
		return 0
	}
	before := (ends - 1) * chunk
	return before + least(min(chunk, limit-before), func(n int) bool { return outweighs(before + n) })
}

// reads returns the bytes of weights and of cache that a GPU reads in a step.
func (s *Step) reads(batch, context int) (weights, cache float64) {
	for _, p := range s.Model.Parts(batch, context) {
		if p.Kind == sim.Weights {
			weights += p.Bytes
		} else {
			cache += p.Bytes
		}
	}
	return weights, cache
}

// least returns the least n in [1, most] that holds, where all above hold too; 0: none.
func least(most int, ok func(n int) bool) int {
	if i := sort.Search(most, func(i int) bool { return ok(i + 1) }); i < most {
		return i + 1
	}
	return 0
}
