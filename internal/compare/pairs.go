package compare

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
)

const (
	// batchesMax is how many batches a run is cut into: with more of them each is shorter, and what is left of the
	// correlation between neighbours makes the interval too narrow (Schmeiser, "Batch Size Effects in the Analysis of
	// Simulation Output", Operations Research 30(3), 1982, advises 10 to 30).
	batchesMax = 25
	// batchesMin is below which there is no interval.
	batchesMin = 10
)

// Served is a request as its client saw it. A time that never came is negative; tokens are those emitted.
type Served struct {
	Arrival          sim.Time
	TTFT, Queue, E2E sim.Duration
	Prompt, Output   int32
	Class            string // of service; empty: there are none
}

// tpotS is the time per token after the first, in seconds; NaN for a single token.
func (s *Served) tpotS() float64 {
	if s.E2E < 0 || s.Output < 2 {
		return math.NaN()
	}
	return (s.E2E - s.TTFT).Seconds() / float64(s.Output-1)
}

// twin is a request that both scenarios completed, as each served it.
type twin struct{ first, other *Served }

// pairing is the requests of two runs side by side.
type pairing struct {
	both   []twin // in order of arrival
	sent   int    // after the warm-up, in both
	unlike bool   // they are not the same requests
	moved  bool   // they are, but were sent at other times
}

// pair lays two runs side by side, request by request: by ID, or where answers decide who asks next, by their lengths.
func pair(first, other *Trial) pairing {
	var p pairing
	p.moved = len(first.Requests) != len(other.Requests)
	for i := range min(len(first.Requests), len(other.Requests)) {
		a, b := &first.Requests[i], &other.Requests[i]
		p.unlike = p.unlike || a.Prompt != b.Prompt || a.E2E >= 0 && b.E2E >= 0 && a.Output != b.Output
		p.moved = p.moved || a.Arrival != b.Arrival
		p.add(first, other, a, b)
	}
	if p.unlike {
		if q, ok := pairByLengths(first, other); ok {
			return q
		}
	}
	return p
}

// add notes a request of both runs, unless it came in the warm-up of one.
func (p *pairing) add(first, other *Trial, a, b *Served) {
	if a.Arrival.Seconds() < first.WarmupS || b.Arrival.Seconds() < other.WarmupS {
		return
	}
	p.sent++
	if a.E2E >= 0 && b.E2E >= 0 {
		p.both = append(p.both, twin{a, b})
	}
}

// matchedMin is the share of the requests of the shorter run that must be in the other too for them to be the same in
// another order, as the turns of conversations are.
const matchedMin = 0.95

// pairByLengths pairs the completed requests that have the same lengths, in order of arrival. Which of several that are
// equal is whose twin does not matter to a mean.
func pairByLengths(first, other *Trial) (p pairing, ok bool) {
	type lengths struct{ prompt, output int32 }
	ids := map[lengths][]int{}
	completed, have, matched := 0, 0, 0
	for i := range other.Requests {
		if b := &other.Requests[i]; b.E2E >= 0 {
			key := lengths{b.Prompt, b.Output}
			ids[key] = append(ids[key], i)
			have++
		}
	}
	for i := range first.Requests {
		a := &first.Requests[i]
		if a.E2E < 0 {
			continue
		}
		completed++
		key := lengths{a.Prompt, a.Output}
		if same := ids[key]; len(same) > 0 {
			p.add(first, other, a, &other.Requests[same[0]])
			ids[key] = same[1:]
			matched++
		}
	}
	p.moved = true
	return p, float64(matched) >= matchedMin*float64(min(completed, have)) && matched > 0
}

func (p *pairing) likeness() Likeness {
	switch {
	case p.unlike:
		return NotTheSame
	case p.moved:
		return SameLengths
	}
	return SameRequests
}

// interval is that of a metric of single requests, by batches of consecutive arrivals. What neighbours share of the
// queue they share within a batch, so that batches are nearly independent where requests are not.
func (p *pairing) interval(m *comparedMetric) *stats.Interval {
	var first, other []float64
	for _, t := range p.both {
		a, b := m.sample(t.first), m.sample(t.other)
		if !math.IsNaN(a) && !math.IsNaN(b) {
			first, other = append(first, a), append(other, b)
		}
	}
	batches := min(batchesMax, len(first)/m.perBatch)
	if batches < batchesMin {
		return nil
	}
	differences := make([]float64, batches)
	for j := range differences {
		from, to := j*len(first)/batches, (j+1)*len(first)/batches
		differences[j] = m.reduce(other[from:to]) - m.reduce(first[from:to])
	}
	return stats.IntervalAround(m.reduce(other)-m.reduce(first), differences)
}

// mean is NaN of what holds NaN.
func mean(x []float64) float64 { return stats.Mean(x) }

// quantile returns the function that takes a nearest-rank quantile, as metrics.Hist does.
func quantile(q float64) func([]float64) float64 {
	return func(x []float64) float64 {
		sorted := slices.Clone(x)
		slices.Sort(sorted)
		return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
	}
}
