package metrics

// Tail says what the slowest gaps between tokens are made of: those at or above the p99 of ITL. The shares sum to 1.
type Tail struct {
	P99S  float64   `json:"p99_s"`
	Share TailShare `json:"share"`
}

// TailShare is the share of the slowest gaps that had a step of decodes alone between their tokens, one with chunks of
// prompts in it, steps of prompts alone, a preemption, a hand-over to another instance, or a failure.
type TailShare struct {
	Decode    float64 `json:"decode"`
	Mixed     float64 `json:"mixed"`
	Held      float64 `json:"held"`
	Preempted float64 `json:"preempted"`
	Moved     float64 `json:"moved,omitempty"`
	Restarted float64 `json:"restarted,omitempty"`
}

// tail takes the slowest gaps apart, or returns nil if there are none.
func (m *Recorder) tail() *Tail {
	if m.ITL.N() == 0 {
		return nil
	}
	p99 := m.ITL.rank(.99)
	all := float64(m.ITL.from(p99))
	share := func(s Stall) float64 { return float64(m.Stalls[s].from(p99)) / all }
	of := TailShare{Mixed: share(Mixed), Held: share(Held), Preempted: share(Preempted), Moved: share(Moved), Restarted: share(Restarted)}
	of.Decode = max(0, 1-of.Mixed-of.Held-of.Preempted-of.Moved-of.Restarted)
	return &Tail{P99S: m.ITL.QuantileS(.99), Share: of}
}
