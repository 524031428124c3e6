package headroom

import "math"

// finest is the ratio of two neighbouring factors.
const finest = 1.05

// The ends of a search, as powers of finest. What it tries does not depend on the number of cores, or the answer would.
const (
	lowest   = -47 // 0.1 ×
	farthest = 57  // 16 ×
)

// together is how many factors are tried at the same time.
const together = 3

// factor returns the load of a step, in multiples of the given one.
func factor(step int) float64 { return math.Pow(finest, float64(step)) }

// gallop returns the steps to try between low, which is sustained, and high, which is not, while one of them is an end
// of the search: wider and wider ones beyond the other.
func gallop(low, high, highest int) []int {
	switch {
	case high > highest && low < 17:
		return []int{4, 10, 17}
	case high > highest:
		return []int{25, 37, highest}
	case low < lowest && high > -10:
		return []int{-2, -5, -10}
	}
	return []int{-17, -30, lowest}
}

// search returns the highest step that is sustained, supposing that what is not at one load is not at more; below
// lowest: none is. sustained answers for several steps at once. met says whether step 0 is sustained.
func search(met bool, highest int, sustained func(steps []int) ([]bool, error)) (int, error) {
	low, high := lowest-1, 0
	if met {
		low, high = 0, highest+1
	}
	for high-low > 1 {
		steps := between(low, high)
		if low < lowest || high > highest {
			steps = inside(gallop(low, high, highest), low, high)
		}
		if len(steps) == 0 { // the end is nearer than what a gallop reaches
			steps = []int{highest}
		}
		ok, err := sustained(steps)
		if err != nil {
			return 0, err
		}
		for i, step := range steps { // the first that is not sustained bounds all above it
			if !ok[i] {
				high = min(high, step)
			}
		}
		for i, step := range steps {
			if ok[i] && step < high {
				low = max(low, step)
			}
		}
		if low == highest {
			return low, nil
		}
		if high == lowest {
			return lowest - 1, nil
		}
	}
	return low, nil
}

// between returns steps that divide the distance from low to high evenly.
func between(low, high int) []int {
	var steps []int
	for i := 1; i <= together; i++ {
		step := low + (high-low)*i/(together+1)
		if step > low && step < high && (len(steps) == 0 || step > steps[len(steps)-1]) {
			steps = append(steps, step)
		}
	}
	if steps == nil {
		steps = []int{low + 1}
	}
	return steps
}

// inside returns those of the steps that are above low and below high.
func inside(steps []int, low, high int) []int {
	var some []int
	for _, step := range steps {
		if step > low && step < high {
			some = append(some, step)
		}
	}
	return some
}
