package acceptance

import (
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Process says how many of a sequence's drafts the model accepts. Drafts are accepted up to the first rejected one, so
// one draw u decides: with the chance S_j that at least j drafts are accepted, the largest j with u < S_j is accepted.
//
// The draw depends only on the seed, the request and the position of the first draft in its output. Therefore a
// preempted sequence has the same drafts accepted again, and of two deployments with one law the one with more drafts
// accepts at least as many.
type Process struct {
	tables  []*chances  // by number of drafts
	draws   *rng.Keyed  // by request and position
	levels  *rng.Keyed  // by request; nil: all requests have the same law
	lengths [][]float64 // mean S_j over requests, by number of drafts
}

// chances are the S_j of every level of requests, as 64-bit numbers that a draw is compared with.
type chances struct {
	drafts int      // of a level
	at     []uint64 // level · drafts + j − 1
}

var _ sim.Acceptance = (*Process)(nil)

// levels is the number of kinds of requests where requests differ: equally likely slices of a law.
const levels = 64

// New returns the process of the run with the given seed, for up to drafts drafts.
func New(law Law, drafts int, seed uint64) (*Process, error) {
	if err := law.Validate(drafts); err != nil {
		return nil, err
	}
	a := &Process{
		tables: make([]*chances, drafts+1), draws: rng.NewKeyed(seed, "policies.acceptance"),
		lengths: make([][]float64, drafts+1),
	}
	if law.CV > 0 {
		a.levels = rng.NewKeyed(seed, "policies.acceptance-of-requests")
	}
	for k := drafts; k >= 0; k-- {
		if k < drafts && law.Process != curve { // fewer drafts have the chances of the first of more
			a.tables[k], a.lengths[k] = a.tables[drafts], a.lengths[drafts][:k]
			continue
		}
		rows := law.survivals(k)
		a.tables[k], a.lengths[k] = newChances(rows, k), means(rows, k)
	}
	return a, nil
}

// newChances scales chances to 64 bits.
func newChances(rows [][]float64, drafts int) *chances {
	c := &chances{drafts: drafts, at: make([]uint64, 0, len(rows)*drafts)}
	for _, row := range rows {
		for _, s := range row {
			c.at = append(c.at, threshold(s))
		}
	}
	return c
}

// threshold returns the number that a 64-bit draw is below with chance s; for s = 1 the draw is not, once in 2^64.
func threshold(s float64) uint64 {
	const two64 = 1 << 64
	if x := s * two64; x < two64 {
		return uint64(x)
	}
	return math.MaxUint64
}

// Verify implements sim.Acceptance.
func (a *Process) Verify(batch []sim.Draft) {
	for i := range batch {
		d := &batch[i]
		d.Accepted = a.Accepted(d.Request, d.Position, d.Drafts)
	}
}

// Accepted returns how many drafts the model accepts of a request that has emitted position tokens.
func (a *Process) Accepted(request, position, drafts int32) int32 {
	t := a.tables[drafts]
	row := t.at[:drafts]
	if a.levels != nil {
		level := int(a.levels.At(uint64(request), 0).Uint64() % levels)
		row = t.at[level*t.drafts:][:drafts]
	}
	u := a.draws.At(uint64(request), uint64(position)).Uint64()
	for j, s := range row {
		if u >= s {
			return int32(j)
		}
	}
	return drafts
}

// Length returns the expected tokens of a step with so many drafts, the bonus token included: 1 + Σ S_j, as vLLM and
// InferenceX count an acceptance length. TensorRT-LLM counts only the drafts, which is less by one. It is the mean over
// requests; the mean over steps is lower where requests differ, because those with low rates take more steps.
func (a *Process) Length(drafts int) float64 {
	sum := 1.0
	for _, s := range a.lengths[drafts] {
		sum += s
	}
	return sum
}

// DraftsMax returns the most drafts that a step may have.
func (a *Process) DraftsMax() int { return len(a.tables) - 1 }

func means(rows [][]float64, drafts int) []float64 {
	mean := make([]float64, drafts)
	for _, row := range rows {
		for j, s := range row {
			mean[j] += s / float64(len(rows))
		}
	}
	return mean
}
