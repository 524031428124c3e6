package explain

import (
	"math"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
)

// SpeculationX is what drafting does to the step: by batch and by how likely drafts are accepted.
type SpeculationX struct {
	Method       string  `json:"method"`
	Drafter      string  `json:"drafter,omitempty"`
	DrafterBytes float64 `json:"drafter_bytes_per_gpu"`
	Drafts       int     `json:"drafts"` // of each sequence, at the step's batch
	// expected of a sequence, as the scenario has drafts accepted; the step's own token counts
	TokensPerStep float64  `json:"tokens_per_step"`
	StepS         float64  `json:"step_s"`
	PlainS        float64  `json:"plain_step_s"`
	DraftingS     float64  `json:"drafting_s"` // of the step
	BoundS        float64  `json:"bound_s"`
	Limit         string   `json:"limit"`
	SpeedUp       float64  `json:"speed_up"`   // tokens/s of a sequence over those without drafts
	BreakEven     *float64 `json:"break_even"` // i.i.d. rate from which drafting pays at this batch; null: at none

	// Batches from which compute binds: the linear layers of the verification, and the whole step; null: never within what
	// fits.
	LinearSwitchBatch *int `json:"linear_switch_batch"`
	SwitchBatch       *int `json:"switch_batch"`

	Rates []float64      `json:"rates"` // of i.i.d. acceptance, of the speed-ups below
	Curve []speculationP `json:"curve"`

	off        int // drafting is off above this batch; 0: never
	LinearFrom int `json:"-"` // fit or not; 0: never
}

// speculationP is a batch of the curve.
type speculationP struct {
	Batch     int       `json:"batch"`
	Drafts    int       `json:"drafts"`
	PlainS    float64   `json:"plain_step_s"`
	StepS     float64   `json:"step_s"`
	SpeedUps  []float64 `json:"speed_ups"` // by rate
	SpeedUp   float64   `json:"speed_up"`  // as the scenario has drafts accepted
	BreakEven *float64  `json:"break_even"`
}

// ExplainSpeculation prices what the scenario drafts; nil: nothing.
func (s *Step) ExplainSpeculation() (*SpeculationX, error) {
	v := &s.scenario.Speculation
	if !v.On() {
		return nil, nil
	}
	a, err := build.NewAcceptance(s.scenario)
	if err != nil {
		return nil, err
	}
	x := &SpeculationX{Method: v.Method, Drafts: draftsAt(v, s.batch), off: v.DisableAboveBatch}
	for i := range 11 {
		x.Rates = append(x.Rates, float64(i)/10)
	}
	if d := s.Deployment.Speculation.Drafter; d != nil {
		x.Drafter, x.DrafterBytes = d.Model.Name, s.Deployment.DrafterBytes()
	}
	g, drafting := s.Model.StepWithDrafts(s.batch, s.Context, x.Drafts)
	x.StepS, x.DraftingS = g.First.Seconds(), drafting
	x.BoundS, x.Limit = g.Bound.A.Seconds(), "memory"
	if g.ComputeBound {
		x.Limit = "compute"
	}
	p := s.speculating(s.batch, x.Rates, a.Length)
	x.PlainS, x.SpeedUp, x.BreakEven = p.PlainS, p.SpeedUp, p.BreakEven
	x.TokensPerStep = a.Length(x.Drafts)
	for _, c := range s.curve() {
		x.Curve = append(x.Curve, s.speculating(c.Batch, x.Rates, a.Length))
	}
	if x.Drafts > 0 {
		if rows := s.LinearFrom(); rows > 0 {
			x.LinearFrom = (rows + x.Drafts) / (1 + x.Drafts) // ⌈rows / (1 + K)⌉
		}
		x.LinearSwitchBatch = within(x.LinearFrom, s.sequencesMax())
		x.SwitchBatch = within(least(s.longest(switchMax), func(n int) bool {
			g, _ := s.Model.StepWithDrafts(n, s.Context, x.Drafts)
			return g.ComputeBound
		}), s.sequencesMax())
	}
	return x, nil
}

// draftsAt returns the drafts at a batch as if drafting were never turned off.
func draftsAt(v *configs.Speculation, batch int) int {
	always := *v
	always.DisableAboveBatch = 0
	return always.Drafts(batch)
}

// speculating compares a batch with drafts and without.
func (s *Step) speculating(n int, rates []float64, length func(drafts int) float64) speculationP {
	k := draftsAt(&s.scenario.Speculation, n)
	with, _ := s.Model.StepWithDrafts(n, s.Context, k)
	plain := s.Price(n)
	p := speculationP{Batch: n, Drafts: k, PlainS: plain.First.Seconds(), StepS: with.First.Seconds()}
	ratio := p.PlainS / p.StepS
	for _, rate := range rates {
		p.SpeedUps = append(p.SpeedUps, ratio*Expected(rate, k))
	}
	p.SpeedUp = ratio * length(k)
	if k > 0 && ratio*Expected(1, k) >= 1 {
		low, high := 0.0, 1.0
		for range 40 {
			if mid := (low + high) / 2; ratio*Expected(mid, k) < 1 {
				low = mid
			} else {
				high = mid
			}
		}
		p.BreakEven = &high
	}
	return p
}

// Expected returns the tokens of a step whose drafts are accepted at the rate γ each: Σ γ^i for i from 0 to K.
func Expected(rate float64, drafts int) float64 {
	sum := 0.0
	for i := range drafts + 1 {
		sum += math.Pow(rate, float64(i))
	}
	return sum
}
