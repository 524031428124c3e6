package metrics

import "github.com/decodesim/decodesim/sim"

var (
	_ sim.Sharder = (*Recorder)(nil)
	_ sim.Sharder = (*Full)(nil)
)

// Shard implements sim.Sharder: it returns a Recorder.
func (m *Recorder) Shard() sim.Sink {
	s := m.empty()
	return &s
}

// Merge implements sim.Sharder: it adds what s, a shard of m, has counted.
func (m *Recorder) Merge(s sim.Sink) { m.merge(s.(*Recorder)) }

// Shard implements sim.Sharder: it returns a Full.
func (f *Full) Shard() sim.Sink {
	s := &Full{Recorder: f.empty()}
	s.load.start = sim.Forever
	for i := range f.classes {
		k := &f.classes[i]
		s.classes = append(s.classes, byClass{Recorder: k.Recorder.empty(), name: k.name})
	}
	return s
}

// Merge implements sim.Sharder: it adds what s, a shard of f, has counted. Counts and sums are integers, so the order
// of the shards does not matter.
func (f *Full) Merge(s sim.Sink) {
	o := s.(*Full)
	f.Recorder.merge(&o.Recorder)
	for i := range f.octaves {
		f.octaves[i].gaps.Merge(&o.octaves[i].gaps)
		f.octaves[i].reached += o.octaves[i].reached
	}
	f.load.start, f.load.last = min(f.load.start, o.load.start), max(f.load.last, o.load.last)
	for i := range f.classes {
		k, part := &f.classes[i], &o.classes[i]
		k.Recorder.merge(&part.Recorder)
		k.preemptions += part.preemptions
		k.tokens.Prompt += part.tokens.Prompt
		k.tokens.PromptCached += part.tokens.PromptCached
		k.tokens.Output += part.tokens.Output
	}
}

// empty returns a recorder with the settings of m and no counts.
func (m *Recorder) empty() Recorder {
	if m.Stream != nil {
		panic("metrics: a shard cannot follow the chunks of a request that another one follows too")
	}
	s := Recorder{Warmup: m.Warmup, Ingress: m.Ingress, Egress: m.Egress, SLO: m.SLO, Rules: m.Rules,
		Rows: m.Rows, Thinks: m.Thinks}
	if m.Attribution != nil {
		s.Attribution = new(Attribution)
	}
	if m.Series != nil {
		s.Series = NewSeries()
	}
	if w := m.Windows; w != nil {
		s.Windows = NewWindows(w.WindowArguments)
	}
	return s
}

// merge adds the counts of o.
func (m *Recorder) merge(o *Recorder) {
	m.TTFT.Merge(&o.TTFT)
	m.ITL.Merge(&o.ITL)
	m.TPOT.Merge(&o.TPOT)
	m.E2E.Merge(&o.E2E)
	m.Queue.Merge(&o.Queue)
	m.Tokenizing.Merge(&o.Tokenizing)
	m.TTFO.Merge(&o.TTFO)
	m.Waited.Merge(&o.Waited)
	for i := range m.Stalls {
		m.Stalls[i].Merge(&o.Stalls[i])
	}
	if m.Attribution != nil {
		m.Attribution.merge(o.Attribution)
	}
	if m.Series != nil {
		m.Series.merge(o.Series)
	}
	if m.Windows != nil {
		m.Windows.merge(o.Windows)
	}
	for i, n := range o.Outcomes {
		m.Outcomes[i] += n
	}
	m.Recorded += o.Recorded
	m.Attained += o.Attained
	m.Unserved += o.Unserved
	m.LastToken = max(m.LastToken, o.LastToken)
	if m.good == nil {
		m.good = make([]int64, len(m.Rules))
	}
	for i, n := range o.good {
		m.good[i] += n
	}
	m.unanswered += o.unanswered
	m.hidden, m.thought = m.hidden+o.hidden, m.thought+o.thought
	m.account.merge(&o.account)
	m.first += o.first
	m.burst += o.burst
}

// merge adds the sums of o.
func (a *Attribution) merge(o *Attribution) {
	for len(a.bins) < len(o.bins) {
		a.bins = append(a.bins, bin{})
	}
	for i := range o.bins {
		a.bins[i].n += o.bins[i].n
		for p, sum := range o.bins[i].parts {
			a.bins[i].parts[p].Add(sum)
		}
	}
}

// merge adds the sums of o.
func (a *account) merge(o *account) {
	a.tokens += o.tokens
	a.compute += o.compute
	a.bound.Add(o.bound)
	a.paused.Add(o.paused)
	for p, sum := range o.part {
		a.part[p].Add(sum)
	}
}
