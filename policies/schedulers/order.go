package schedulers

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// OrderNames returns the orders of a queue that scenarios can name. The first is that of arrival.
func OrderNames() []string {
	return []string{"fcfs", "priority", "shortest-job", "shortest-predicted-job", "earliest-deadline", "least-laxity", "aging"}
}

// OrderArguments is what orders go by.
type OrderArguments struct {
	Seed            uint64
	Aging           sim.Duration   // of waiting that weighs as much as one level of priority
	PredictionCV    float64        // of predicted outputs around the true ones
	TTFT            []sim.Duration // the SLO of each class; 0: none, which is as late as can be
	PrefillPerToken sim.Duration   // how long a prompt takes to read, by token
}

// NewOrder returns the order called name, or nil for first come, first served.
func NewOrder(name string, a OrderArguments) (sim.Order, error) {
	switch name {
	case "fcfs":
		return nil, nil
	case "priority":
		return Priority{}, nil
	case "shortest-job":
		return ShortestJob{}, nil
	case "shortest-predicted-job":
		if !(a.PredictionCV >= 0) || math.IsInf(a.PredictionCV, 1) {
			return nil, fmt.Errorf("policies: prediction_cv is %g, must be 0 or more", a.PredictionCV)
		}
		return NewShortestPredictedJob(a.Seed, a.PredictionCV), nil
	case "earliest-deadline":
		return EarliestDeadline{TTFT: a.TTFT}, nil
	case "least-laxity":
		return LeastLaxity{EarliestDeadline{TTFT: a.TTFT}, a.PrefillPerToken}, nil
	case "aging":
		if a.Aging < 1 {
			return nil, fmt.Errorf("policies: aging_s is %g, must be above 0", a.Aging.Seconds())
		}
		return Aging{a.Aging}, nil
	}
	return nil, fmt.Errorf("policies: queue order %q not found; have %s", name, strings.Join(OrderNames(), ", "))
}

var (
	_ sim.Order = Priority{}
	_ sim.Order = ShortestJob{}
	_ sim.Order = ShortestPredictedJob{}
	_ sim.Order = EarliestDeadline{}
	_ sim.Order = LeastLaxity{}
	_ sim.Order = Aging{}
)

// Priority serves the lower Priority first, as vLLM's scheduling_policy: priority does.
type Priority struct{}

// Key implements sim.Order.
func (Priority) Key(r *sim.Request) int64 { return int64(r.Priority) }

// ShortestJob serves the fewest tokens first, prompt and output: a bound on what predictions can reach, for nobody
// knows the output.
type ShortestJob struct{}

// Key implements sim.Order.
func (ShortestJob) Key(r *sim.Request) int64 { return int64(r.Prompt) + int64(r.Output) }

// ShortestPredictedJob is ShortestJob with outputs predicted at random: lognormal around the true one, with a
// coefficient of variation. What is predicted of a request depends on the seed and its number alone.
type ShortestPredictedJob struct {
	cv    float64
	draws *rng.Keyed
}

// NewShortestPredictedJob returns the order with the predictions of a seed.
func NewShortestPredictedJob(seed uint64, cv float64) ShortestPredictedJob {
	return ShortestPredictedJob{cv, rng.NewKeyed(seed, "policies.prediction")}
}

// Key implements sim.Order.
func (p ShortestPredictedJob) Key(r *sim.Request) int64 {
	sigma2 := math.Log1p(p.cv * p.cv)
	z := p.draws.At(uint64(r.ID), 0).NormFloat64()
	return int64(r.Prompt) + int64(min(math.MaxInt32, math.Round(float64(r.Output)*math.Exp(math.Sqrt(sigma2)*z-sigma2/2))))
}

// EarliestDeadline serves first whose first token is due first: arrival and the TTFT of its class.
type EarliestDeadline struct{ TTFT []sim.Duration }

// Key implements sim.Order.
func (p EarliestDeadline) Key(r *sim.Request) int64 {
	if int(r.Class) >= len(p.TTFT) || p.TTFT[r.Class] == 0 {
		return math.MaxInt64/2 + int64(r.Arrival)/2
	}
	return int64(r.Arrival.Add(p.TTFT[r.Class]))
}

// LeastLaxity serves first who must start first to be in time: the deadline less the time to read the prompt.
type LeastLaxity struct {
	EarliestDeadline
	PerToken sim.Duration
}

// Key implements sim.Order.
func (p LeastLaxity) Key(r *sim.Request) int64 {
	return p.EarliestDeadline.Key(r) - int64(r.Prompt)*int64(p.PerToken)
}

// Aging serves by Priority, and a request that has waited for Step longer as if it were a level more urgent. All age
// alike, so the order of two never changes.
type Aging struct{ Step sim.Duration }

// Key implements sim.Order.
func (p Aging) Key(r *sim.Request) int64 { return int64(r.Arrival) + int64(r.Priority)*int64(p.Step) }
