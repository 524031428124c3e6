package metrics

import "github.com/decodesim/decodesim/sim"

// Class is a service class, whose index is sim.Request.Class, and what its users ask for.
type Class struct {
	Name string
	SLO  Limits
}

// byClass records a class by itself: the same definitions, told of its requests and tokens only.
type byClass struct {
	Recorder
	name        string
	preemptions int64
	tokens      Tokens
}

// Split makes f record each class by itself too. It takes the warm-up, the ingress and the egress that f has by then.
func (f *Full) Split(classes []Class) {
	if f.classes = nil; len(classes) == 0 {
		return
	}
	f.classes = make([]byClass, len(classes))
	for i, c := range classes {
		f.classes[i].name = c.Name
		f.classes[i].SLO, f.classes[i].Warmup, f.classes[i].Ingress, f.classes[i].Egress = c.SLO, f.Warmup, f.Ingress, f.Egress
	}
}

// Run implements sim.Sink.
func (f *Full) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	f.Recorder.Run(in, start, g, n, tokens)
	if f.classes == nil {
		return
	}
	for i, k := range f.shares(in, tokens) {
		f.classes[i].Run(in, start, g, n, int(k))
	}
}

// Paused implements sim.Sink.
func (f *Full) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	f.Recorder.Paused(in, since, start, g, tokens)
	if f.classes == nil {
		return
	}
	for i, k := range f.shares(in, tokens) {
		if k > 0 {
			f.classes[i].Paused(in, since, start, g, int(k))
		}
	}
}

// Burst implements sim.Sink.
func (f *Full) Burst(in *sim.Instance, t sim.Time, tokens int) {
	f.Recorder.Burst(in, t, tokens)
	if f.classes == nil {
		return
	}
	for i, k := range f.shares(in, tokens) {
		f.classes[i].Burst(in, t, int(k))
	}
}

// shares returns how many of the tokens that a sink is told of are of each class.
func (f *Full) shares(in *sim.Instance, tokens int) []int32 {
	if of := in.TokensByClass(); of != nil {
		return of
	}
	f.alone[0] = int32(tokens)
	return f.alone[:]
}

// done counts r, which has ended.
func (k *byClass) done(r *sim.Request, at sim.Time, o sim.Outcome) {
	k.Recorder.Done(r, at, o)
	k.preemptions += int64(r.Preemptions)
	k.tokens.Prompt += int64(r.Prompt)
	k.tokens.PromptCached += int64(r.Cached)
	k.tokens.Output += int64(r.Emitted)
}

// results returns the results by class of a run that lasted so long.
func (f *Full) results(durationS float64) []ClassResult {
	var results []ClassResult
	for i := range f.classes {
		k := &f.classes[i]
		results = append(results, ClassResult{
			Name: k.name, Requests: k.requests(k.preemptions), Tokens: k.tokens, Latency: k.latency(), SLO: k.slo(durationS),
		})
	}
	return results
}

// requests returns the outcomes of the requests that m was told of.
func (m *Recorder) requests(preemptions int64) Requests {
	r := Requests{
		Completed: m.Outcomes[sim.Completed], Rejected: m.Outcomes[sim.Rejected], Failed: m.Outcomes[sim.Failed],
		Unfinished: m.Outcomes[sim.Unfinished], Preemptions: preemptions,
	}
	r.Arrived = r.Completed + r.Rejected + r.Failed + r.Unfinished
	return r
}

// latency returns the distributions.
func (m *Recorder) latency() Latency {
	return Latency{
		TTFT: m.TTFT.Quantiles(), ITL: m.ITL.Quantiles(), ITLChunk: m.chunks(), TPOT: m.TPOT.Quantiles(),
		E2E: m.E2E.Quantiles(), Queue: m.Queue.Quantiles(),
	}
}

// slo returns how many requests met the limits; nil: there are none.
func (m *Recorder) slo(durationS float64) *SLO {
	if m.SLO == (Limits{}) {
		return nil
	}
	return &SLO{
		TTFTS: float64(m.SLO.TTFT) / 1e12, TPOTS: float64(m.SLO.TPOT) / 1e12, E2ES: float64(m.SLO.E2E) / 1e12,
		Attainment: ratio(float64(m.Attained), float64(m.Recorded+m.Unserved)), GoodputPerS: ratio(float64(m.Attained), durationS),
	}
}
