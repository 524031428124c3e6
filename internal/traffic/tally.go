package traffic

import (
	"maps"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
)

// tally counts requests by a number of tokens. Its memory grows with the distinct numbers, not with the requests, and
// its quantiles are exact.
type tally struct {
	by      map[int32]int64
	n, sum  int64
	squares float64
}

func newTally() tally { return tally{by: map[int32]int64{}} }

func (t *tally) add(tokens int32) {
	t.by[tokens]++
	t.n++
	t.sum += int64(tokens)
	t.squares += float64(float64(tokens) * float64(tokens))
}

func (t *tally) mean() float64 { return float64(t.sum) / float64(t.n) }

// cv is the standard deviation over the mean.
func (t *tally) cv() float64 {
	mean := t.mean()
	return math.Sqrt(max(0, t.squares/float64(t.n)-float64(mean*mean))) / mean
}

// step is a point of a distribution: so many requests have at most so many tokens.
type step struct {
	tokens int32
	upTo   int64
}

// steps returns the distribution, rising.
func (t *tally) steps() []step {
	var all []step
	upTo := int64(0)
	for _, tokens := range slices.Sorted(maps.Keys(t.by)) {
		upTo += t.by[tokens]
		all = append(all, step{tokens, upTo})
	}
	return all
}

// quantile returns the number of tokens that a share p of n requests has at most, by nearest rank.
func quantile(steps []step, p float64, n int64) int32 {
	rank := max(1, int64(math.Ceil(float64(p*float64(n))-1e-9)))
	i, _ := slices.BinarySearchFunc(steps, rank, func(s step, rank int64) int { return int(s.upTo - rank) })
	return steps[min(i, len(steps)-1)].tokens
}

// Lengths is the distribution of the prompts or of the outputs, in tokens.
type Lengths struct {
	Mean float64      `json:"mean"`
	CV   stats.Number `json:"cv"`
	Min  int32        `json:"min"`
	P10  int32        `json:"p10"`
	P50  int32        `json:"p50"`
	P90  int32        `json:"p90"`
	P95  int32        `json:"p95"`
	P99  int32        `json:"p99"`
	Max  int32        `json:"max"`
}

func (t *tally) lengths() Lengths {
	steps := t.steps()
	at := func(p float64) int32 { return quantile(steps, p, t.n) }
	return Lengths{Mean: t.mean(), CV: stats.Number(t.cv()), Min: steps[0].tokens, P10: at(0.1), P50: at(0.5),
		P90: at(0.9), P95: at(0.95), P99: at(0.99), Max: steps[len(steps)-1].tokens}
}
