package metrics

import "github.com/decodesim/decodesim/sim"

// ITL is every gap between two consecutive tokens of a request, as its client sees them, pooled over tokens: one value
// for each token after the first. A run reports gaps in four ways, and nothing else adds to the histogram:
//
//	Run     steps without an interruption: each token comes one step after the token before
//	Paused  prefill-only steps came before the step: the gap is their time and the step
//	Gap     an interruption, such as a preemption: the gap is the time since the token before
//	Burst   tokens that came together with another one, such as accepted drafts: the gap is 0
//
// Run and Paused come once for all sequences of a batch, so that no token costs any time here.

// Run implements sim.Sink: n steps of g, from start on, that each emitted so many tokens.
func (m *Recorder) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	if tokens == 0 {
		return
	}
	if m.Series != nil && m.Stream == nil {
		m.Series.run(start, g, n, uint64(tokens))
	}
	if start < m.Warmup {
		m.afterWarmup(in, start, g, n, tokens)
		return
	}
	m.steps(in, start, g, n, uint64(tokens))
}

// afterWarmup records the steps of a run that end after the warm-up, in which it began.
func (m *Recorder) afterWarmup(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	unrecorded := min(n, g.Ended(m.Warmup.Sub(start)-1))
	if unrecorded < n {
		rest := g.Tail(unrecorded)
		m.steps(in, start.Add(g.Span(unrecorded)), &rest, n-unrecorded, uint64(tokens))
	}
}

func (m *Recorder) steps(in *sim.Instance, start sim.Time, g *sim.Segment, n int, tokens uint64) {
	if m.windowed() {
		m.Windows.steps(start, g, n, tokens)
	}
	var parts sim.Parts
	first := bucket(g.First)
	if n > 1 {
		g.Sum(0, n, &parts)
		m.account.add(g, n, &parts, tokens)
		last := bucket(g.Step(n - 1))
		if !m.windowed() {
			m.ITL.addRun(g, n, tokens, first, last)
		}
		if m.Attribution != nil {
			m.Attribution.run(g, n, &parts, tokens, first, last)
		}
		return
	}
	g.FirstParts(&parts)
	m.account.add(g, 1, &parts, tokens)
	if !m.windowed() {
		m.ITL.addAt(first, g.First, tokens)
	}
	if in != nil && in.PromptChunks() > 0 {
		m.Stalls[Mixed].addAt(first, g.First, tokens)
	}
	if m.Attribution != nil {
		m.Attribution.step(in, &parts, tokens, first)
	}
}

// Paused implements sim.Sink: a step of g for sequences that prefill-only steps had paused since an instant.
func (m *Recorder) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	gap := start.Sub(since) + g.First
	if m.Series != nil && m.Stream == nil {
		m.Series.gap(start.Add(g.First), gap, uint64(tokens))
	}
	if start.Add(g.First) < m.Warmup {
		return
	}
	var parts sim.Parts
	g.FirstParts(&parts)
	m.account.add(g, 1, &parts, uint64(tokens))
	m.account.pause(start.Sub(since), tokens)
	m.gap(start.Add(g.First), gap, uint64(tokens))
	m.Stalls[Paused].Add(gap, uint64(tokens))
	if m.Attribution != nil {
		s := in.StepBreakdown()
		s[sim.Prefill] += start.Sub(since)
		m.Attribution.one(&s, uint64(tokens))
	}
}

// Burst implements sim.Sink: tokens that came together with another one.
func (m *Recorder) Burst(_ *sim.Instance, t sim.Time, tokens int) {
	if t >= m.Warmup {
		m.gap(t, 0, uint64(tokens))
		m.burst += int64(tokens)
		if m.windowed() {
			m.Windows.at(t).burst += int64(tokens)
		}
	}
}

// Gap implements sim.Sink: the first token of r after an interruption.
func (m *Recorder) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	if m.Stream != nil {
		m.Stream.One(r, t)
	}
	gap := t.Sub(r.Last)
	if m.Series != nil && m.Stream == nil {
		m.Series.gap(t, gap, 1)
	}
	if t < m.Warmup {
		return
	}
	m.gap(t, gap, 1)
	m.Stalls[stallOf[c]].One(gap)
	if m.Attribution != nil {
		s := in.GapBreakdown(r, t, c)
		m.Attribution.one(&s, 1)
	}
}

// gap counts gaps that end at t.
func (m *Recorder) gap(t sim.Time, d sim.Duration, tokens uint64) {
	if m.windowed() {
		m.Windows.at(t).of[RuleITL].add(d, tokens)
		return
	}
	m.ITL.Add(d, tokens)
}

// windowed reports whether gaps are counted in windows, which then have those of ITL. Where a client receives several
// tokens together, the windows have what it receives, and ITL what the engine emits.
func (m *Recorder) windowed() bool { return m.Windows != nil && m.Stream == nil }

// Gather completes ITL at the end of a run: while there are windows, gaps are counted in these alone.
func (m *Recorder) Gather() {
	if !m.windowed() {
		return
	}
	m.ITL.reset()
	for i := range m.Windows.list {
		m.Windows.list[i].of[RuleITL].addTo(&m.ITL)
	}
}

// StepGaps returns the gaps between the steps that emit tokens of a request: those of ITL without the tokens that came
// together.
func (m *Recorder) StepGaps() *Hist {
	if m.burst == 0 {
		return &m.ITL
	}
	gaps := m.ITL.withoutZeros(uint64(m.burst))
	return &gaps
}

// ChunkGaps returns the gaps between the chunks that clients receive: what a step emits of a request, unless the engine
// collects more.
func (m *Recorder) ChunkGaps() *Hist {
	if m.Stream != nil {
		return &m.Stream.gaps
	}
	return m.StepGaps()
}

// TokenGaps returns the gaps between tokens as clients receive them, one for each token after the first: 0 for those
// that come together.
func (m *Recorder) TokenGaps() *Hist {
	if m.Stream != nil {
		return m.Stream.TokenGaps()
	}
	return &m.ITL
}

// Output returns the tokens recorded: first tokens, and one for each gap.
func (m *Recorder) Output() int64 { return m.first + m.ITL.N() }

// A Stall is a reason why a gap between two tokens is longer than a decode-only step.
type Stall uint8

// The stalls.
const (
	Mixed       Stall = iota // the step had prompt chunks in it
	Paused                   // prefill-only steps came between
	Preempted                // the KV cache had been dropped, or was in host memory
	Transferred              // the KV cache was transferred to another instance
	Restarted                // the instance had failed
	NumStalls
)

var stallOf = [...]Stall{
	sim.Preempted: Preempted, sim.Swapped: Preempted, sim.Paused: Paused, sim.Transferred: Transferred,
	sim.Restarted: Restarted,
}

// Tail says what the slowest gaps between tokens are made of: those at or above the p99 of ITL. The shares sum to 1.
type Tail struct {
	P99S  float64   `json:"p99_s"`
	Share TailShare `json:"share"`
}

// TailShare is the share of the slowest gaps by what lay between their tokens: a decode-only step, a mixed step,
// prefill-only steps, a preemption, a KV transfer, or a failure of the instance.
type TailShare struct {
	Decode      float64 `json:"decode"`
	Mixed       float64 `json:"mixed"`
	Paused      float64 `json:"held"`
	Preempted   float64 `json:"preempted"`
	Transferred float64 `json:"moved,omitempty"`
	Restarted   float64 `json:"restarted,omitempty"`
}

// tail returns what the slowest gaps are made of, or nil if there are no gaps.
func (m *Recorder) tail() *Tail {
	if m.ITL.N() == 0 {
		return nil
	}
	p99 := m.ITL.rank(.99)
	all := float64(m.ITL.from(p99))
	share := func(s Stall) float64 { return float64(m.Stalls[s].from(p99)) / all }
	of := TailShare{
		Mixed: share(Mixed), Paused: share(Paused), Preempted: share(Preempted), Transferred: share(Transferred),
		Restarted: share(Restarted),
	}
	of.Decode = max(0, 1-of.Mixed-of.Paused-of.Preempted-of.Transferred-of.Restarted)
	return &Tail{P99S: m.ITL.QuantileS(.99), Share: of}
}
