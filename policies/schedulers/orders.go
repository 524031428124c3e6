package schedulers

import (
	"cmp"
	"fmt"
	"math"

	"github.com/decodesim/decodesim/policies/internal/named"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var (
	_ sim.Order = Priority{}
	_ sim.Order = ShortestJob{}
	_ sim.Order = ShortestPredictedJob{}
	_ sim.Order = EarliestDeadline{}
	_ sim.Order = LeastLaxity{}
	_ sim.Order = Aging{}
)

// orders is the orders of a queue that scenarios can name for any engine. The first is the order of arrival.
func orders() named.List[OrderArguments, sim.Order] {
	return named.List[OrderArguments, sim.Order]{
		{Name: "fcfs", Does: "first come, first served",
			New: func(OrderArguments) (sim.Order, error) { return nil, nil }},
		{Name: "priority", Does: "the lowest number first, as a class or a trace has it",
			New: func(OrderArguments) (sim.Order, error) { return Priority{}, nil }},
		{Name: "shortest-job",
			Does: "the fewest tokens first, prompt and output; no engine knows outputs, so it bounds what predictions can reach",
			New:  func(OrderArguments) (sim.Order, error) { return ShortestJob{}, nil }},
		{Name: "shortest-predicted-job",
			Does: "the same with outputs predicted at random around the true ones, by prediction_cv",
			New:  func(a OrderArguments) (sim.Order, error) { return NewShortestPredictedJob(a.Seed, a.PredictionCV) }},
		{Name: "earliest-deadline", Does: "the request whose first token is due first, by the slo of its class",
			New: func(a OrderArguments) (sim.Order, error) { return EarliestDeadline{TTFT: a.TTFT}, nil }},
		{Name: "least-laxity",
			Does: "the request that must start first to be in time: its deadline less the time to prefill its prompt",
			New: func(a OrderArguments) (sim.Order, error) {
				return LeastLaxity{EarliestDeadline{TTFT: a.TTFT}, a.PrefillPerToken}, nil
			}},
		{Name: "aging", Does: "by priority, and a level more urgent for every aging_s of waiting", New: newAging},
	}
}

// OrderArguments configure orders. Each order uses those that concern it.
type OrderArguments struct {
	Seed            uint64
	Aging           sim.Duration   // waiting time that weighs as much as one level of priority
	PredictionCV    float64        // of predicted outputs around the true ones
	TTFT            []sim.Duration // the SLO of each class; 0: none, and the request comes last
	PrefillPerToken sim.Duration   // the time to prefill one token of a prompt
}

// OrderNames returns the names of the orders that every engine can be given. The first is the order of arrival.
func OrderNames() []string { return orders().Names() }

// OrderDoes returns in a few words what the order called name does, be it for every engine or by the prefix cache.
func OrderDoes(name string) string { return cmp.Or(orders().Does(name), cacheOrders().Does(name)) }

// NewOrder returns the order called name, or nil for first come, first served.
func NewOrder(name string, a OrderArguments) (sim.Order, error) {
	return orders().New("queue order", name, a)
}

// Priority serves the lowest Priority first, as scheduling_policy: priority does in vLLM.
type Priority struct{}

// Key implements sim.Order.
func (Priority) Key(r *sim.Request) int64 { return int64(r.Priority) }

// ShortestJob serves the request with the fewest prompt and output tokens first. As no engine knows the output, it is a
// bound on what predictions can reach.
type ShortestJob struct{}

// Key implements sim.Order.
func (ShortestJob) Key(r *sim.Request) int64 { return int64(r.Prompt) + int64(r.Output) }

// ShortestPredictedJob is ShortestJob with outputs predicted at random: lognormal around the true output, with a
// coefficient of variation. The prediction for a request depends on the seed and its ID alone.
type ShortestPredictedJob struct {
	cv    float64
	draws *rng.Keyed
}

// NewShortestPredictedJob returns the order with the predictions of a seed.
func NewShortestPredictedJob(seed uint64, cv float64) (ShortestPredictedJob, error) {
	if !(cv >= 0) || math.IsInf(cv, 1) {
		return ShortestPredictedJob{}, fmt.Errorf("policies: prediction_cv is %g, must be 0 or more", cv)
	}
	return ShortestPredictedJob{cv, rng.NewKeyed(seed, "policies.prediction")}, nil
}

// Key implements sim.Order. The factor exp(σ·z − σ²/2) with σ² = ln(1 + cv²) has mean 1.
func (p ShortestPredictedJob) Key(r *sim.Request) int64 {
	sigma2 := math.Log1p(p.cv * p.cv)
	z := p.draws.At(uint64(r.ID), 0).NormFloat64()
	output := math.Round(float64(r.Output) * math.Exp(float64(math.Sqrt(sigma2)*z)-float64(sigma2/2)))
	return int64(r.Prompt) + int64(min(math.MaxInt32, output))
}

// EarliestDeadline serves the request whose first token is due first: its arrival plus the TTFT of its class.
type EarliestDeadline struct{ TTFT []sim.Duration }

// Key implements sim.Order.
func (p EarliestDeadline) Key(r *sim.Request) int64 {
	if int(r.Class) >= len(p.TTFT) || p.TTFT[r.Class] == 0 {
		return math.MaxInt64/2 + int64(r.Arrival)/2
	}
	return int64(r.Arrival.Add(p.TTFT[r.Class]))
}

// LeastLaxity serves the request first that must start first to meet its deadline: the deadline less the time to
// prefill the prompt.
type LeastLaxity struct {
	EarliestDeadline
	PerToken sim.Duration
}

// Key implements sim.Order.
func (p LeastLaxity) Key(r *sim.Request) int64 {
	return p.EarliestDeadline.Key(r) - int64(r.Prompt)*int64(p.PerToken)
}

// Aging serves by Priority, but counts each Step of waiting as one level more urgent. All requests age alike, so the
// order of two never changes.
type Aging struct{ Step sim.Duration }

func newAging(a OrderArguments) (sim.Order, error) {
	if a.Aging < 1 {
		return nil, fmt.Errorf("policies: aging_s is %g, must be above 0", a.Aging.Seconds())
	}
	return Aging{a.Aging}, nil
}

// Key implements sim.Order.
func (p Aging) Key(r *sim.Request) int64 { return int64(r.Arrival) + int64(r.Priority)*int64(p.Step) }
