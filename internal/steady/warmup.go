package steady

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim/metrics"
)

// method is the rule that finds the end of a warm-up, as results name it.
const method = "MSER-5"

// batch is the slots whose mean is one value of the rule.
const batch = 5

// warmup returns the slots before the end of the warm-up: the later one of the requests in the system and of their time
// to first token, for a state that users do not see yet is no steady one either.
func warmup(slots []metrics.Slot) int {
	n := 0
	for _, x := range [][]float64{inSystem(slots), means(slots, metrics.OfTTFT)} {
		n = max(n, batch*settled(x))
	}
	return min(n+n%metrics.GroupSlots, len(slots))
}

// inSystem returns the requests under way at the end of each slot, averaged over batches of slots.
func inSystem(slots []metrics.Slot) []float64 {
	x := make([]float64, len(slots)/batch)
	under := int64(0)
	for i := range slots {
		under += slots[i].Arrived - slots[i].Ended
		if i/batch < len(x) {
			x[i/batch] += float64(under) / batch
		}
	}
	return x
}

// means returns the mean of a latency in each batch of slots; one without observations has that of the batch before.
func means(slots []metrics.Slot, of metrics.Of) []float64 {
	x := make([]float64, 0, len(slots)/batch)
	last := 0.0
	for i := 0; i+batch <= len(slots); i += batch {
		n, sum := uint64(0), 0.0
		for k := range batch {
			v := &slots[i+k].Sum[of]
			n, sum = n+v.N, sum+v.Sum.Float()
		}
		if n > 0 {
			last = sum / float64(n)
		}
		x = append(x, last)
	}
	return x
}

// settled returns the values before the end of the warm-up. A cut that takes more steady values along than it cuts
// others off does not differ from what it leaves: then one in the first half of what was cut is searched for.
func settled(x []float64) int {
	for most := len(x) / 2; most > 0; {
		d := truncation(x, most)
		if differs(x, d) {
			return d
		}
		most = min(d, most) / 2
	}
	return 0
}

// truncation returns how many values to leave out, at most so many, so that the mean of the others has the least
// standard error:
//
//	min over d of  Σ_{i≥d} (xᵢ − x̄_d)² / (n − d)²
//
// (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997).
func truncation(x []float64, most int) (d int) {
	least := math.Inf(1)
	sum, squares := 0.0, 0.0
	for i := len(x) - 1; i >= 0; i-- {
		sum, squares = sum+x[i], squares+float64(x[i]*x[i])
		n := float64(len(x) - i)
		score := max(0, squares-sum*sum/n) / (n * n)
		if i <= most && score <= least {
			least, d = score, i
		}
	}
	return d
}

// differs reports whether the first d values are another state than the others, and not what chance makes of one: their
// mean differs by more than the 95 % intervals of both. That of the first is scaled from that of the others, and is at
// most that of a single value. Without this question the rule cuts off whatever a steady but bursty series begins with.
func differs(x []float64, d int) bool {
	if d == 0 {
		return false
	}
	mean := stats.Mean(x[d:])
	z := make([]float64, len(x)-d)
	for i := range z {
		z[i] = x[d+i] - mean
	}
	others := stats.HalfWidth(z) / float64(len(z))
	first := min(others*math.Sqrt(float64(len(z))/float64(d)), 2*stat.StdDev(z, nil))
	return math.Abs(stats.Mean(x[:d])-mean) > math.Hypot(first, others)
}
