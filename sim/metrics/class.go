package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// Class is a service class, whose index is sim.Request.Class, and what its users ask for.
type Class struct {
	Name  string
	SLO   Limits
	Rules Rules
}

// byClass records one class: the same definitions, applied to its requests and tokens only.
type byClass struct {
	Recorder
	name        string
	preemptions int64
	tokens      Tokens
}

// SeparateClasses makes f record each class separately too. It copies the warm-up, the ingress and the egress that f
// has at this time.
func (f *Full) SeparateClasses(classes []Class) {
	f.classes = nil
	for _, c := range classes {
		f.classes = append(f.classes, byClass{
			Recorder: Recorder{
				SLO: c.SLO, Rules: c.Rules, Warmup: f.Warmup, Ingress: f.Ingress, Egress: f.Egress, Thinks: f.Thinks,
			}, name: c.Name,
		})
		if f.Stream != nil {
			k := &f.classes[len(f.classes)-1]
			k.Stream = NewChunks(f.Stream.interval)
			k.Stream.Warmup = f.Warmup
		}
	}
}

// WindowClasses records each class by window of time, too. There is one WindowArguments for each class.
func (f *Full) WindowClasses(of []WindowArguments) {
	for i := range f.classes {
		k := &f.classes[i]
		k.Windows = NewWindows(of[i])
		if k.Stream != nil {
			k.Stream.Windows = k.Windows
		}
	}
}

// done records the end of r.
func (k *byClass) done(r *sim.Request, at sim.Time, o sim.Outcome) {
	k.Recorder.Done(r, at, o)
	k.preemptions += int64(r.Preemptions)
	k.tokens.Prompt += int64(r.Prompt)
	k.tokens.PromptCached += int64(r.Cached)
	k.tokens.Output += int64(r.Emitted)
}

// classResults returns the results by class of a run that lasted so long and ended at an instant.
func (f *Full) classResults(durationS float64, end sim.Time) []ClassResult {
	var results []ClassResult
	for i := range f.classes {
		k := &f.classes[i]
		k.Gather()
		r := ClassResult{
			Name: k.name, Requests: k.requests(k.preemptions), Tokens: k.tokens, Latency: k.latency(),
			SLO: k.slo(durationS), Rules: k.Verdicts(), Tasks: k.tasks(),
		}
		if k.Windows != nil && f.Windows != nil {
			k.Windows.align(f.Windows)
			r.OverTime = k.Windows.Results(end)
		}
		results = append(results, r)
	}
	return results
}

// requests returns the outcomes of the requests that m recorded.
func (m *Recorder) requests(preemptions int64) Requests {
	r := Requests{
		Completed: m.Outcomes[sim.Completed], Rejected: m.Outcomes[sim.Rejected], Failed: m.Outcomes[sim.Failed],
		Unfinished: m.Outcomes[sim.Unfinished], Preemptions: preemptions,
	}
	r.Arrived = r.Completed + r.Rejected + r.Failed + r.Unfinished
	return r
}

// slo returns the share of the requests that met the limits, or nil if there are no limits.
func (m *Recorder) slo(durationS float64) *SLO {
	if m.SLO == (Limits{}) {
		return nil
	}
	o := &SLO{
		TTFTS: float64(m.SLO.TTFT) / 1e12, TPOTS: float64(m.SLO.TPOT) / 1e12, E2ES: float64(m.SLO.E2E) / 1e12,
		QueueS:      float64(m.SLO.Queue) / 1e12,
		TTFOS:       float64(m.SLO.TTFO) / 1e12,
		Attainment:  ratio(float64(m.Attained), float64(m.Recorded+m.Unserved)),
		GoodputPerS: ratio(float64(m.Attained), durationS),
		Unmeasured:  m.unmeasured(),
	}
	if o.Unmeasured != "" {
		o.Attainment, o.GoodputPerS = math.NaN(), math.NaN()
	}
	return o
}

// unmeasured says why there are no requests that limits and rules can be judged by; empty: there are some.
func (m *Recorder) unmeasured() string {
	if m.Recorded+m.Unserved > 0 {
		return ""
	}
	for _, n := range m.Outcomes {
		if n > 0 {
			return "no request was measured from its arrival to its completion"
		}
	}
	return "no request arrived"
}
