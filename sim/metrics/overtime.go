package metrics

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// OverTime is a run by windows of time: latencies, whether the SLO was met, and which alerts fired.
type OverTime struct {
	WidthS  float64        `json:"width_s"`
	Windows []WindowResult `json:"windows"`
	Broken  []Span         `json:"slo_broken,omitempty"` // when the SLO was broken; absent without an SLO, too
	Backlog *Backlog       `json:"backlog,omitempty"`    // absent unless there was one while the SLO was broken
	Alerts  []AlertResult  `json:"alerts,omitempty"`     // absent without alerts
	SLO     bool           `json:"-"`                    // there is an SLO
}

// WindowResult is what clients saw in one window. A latency counts in the window in which the client has it.
type WindowResult struct {
	FromS      float64        `json:"from_s"`
	ToS        float64        `json:"to_s"`
	Arrived    int64          `json:"arrived"`
	Completed  int64          `json:"completed"` // after the warm-up
	Unserved   int64          `json:"unserved,omitempty"`
	Waiting    int64          `json:"waiting"` // requests without a first token at its end
	TTFT       WindowLatency  `json:"ttft_s"`
	ITL        WindowLatency  `json:"itl_s"`
	ITLChunk   *WindowLatency `json:"itl_chunk_s,omitempty"` // absent where it is ITL
	Attainment *float64       `json:"attainment,omitempty"`  // share of the requests within their limits; absent without any
	Met        *bool          `json:"slo_met,omitempty"`     // absent: there is no SLO, or nothing to judge it by
	Missed     []string       `json:"missed,omitempty"`      // rules that did not hold
}

// WindowLatency is the distribution of a latency in a window. With N = 0 the percentiles are 0, and null in JSON.
type WindowLatency struct {
	N                  int64
	P50, P90, P95, P99 float64
}

// MarshalJSON implements json.Marshaler.
func (q WindowLatency) MarshalJSON() ([]byte, error) {
	orNull := func(x float64) any {
		if q.N == 0 {
			return nil
		}
		return x
	}
	return json.Marshal(struct {
		N   int64 `json:"n"`
		P50 any   `json:"p50"`
		P90 any   `json:"p90"`
		P95 any   `json:"p95"`
		P99 any   `json:"p99"`
	}{q.N, orNull(q.P50), orNull(q.P90), orNull(q.P95), orNull(q.P99)})
}

// Span is a part of a run.
type Span struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
}

// Backlog is requests that waited for a first token, many more than while the SLO was met: their greatest number at the
// end of a window, and when they were few again.
type Backlog struct {
	Requests int64    `json:"requests"`
	PeakS    float64  `json:"peak_s"`
	EndS     *float64 `json:"gone_s"` // null: it never was
}

// AlertResult is when an alert fired.
type AlertResult struct {
	Rule  string   `json:"rule"`
	OverS float64  `json:"over_s"`
	ForS  float64  `json:"for_s"`
	Fired []Firing `json:"fired"`
}

// Firing is when an alert fired and was resolved.
type Firing struct {
	AtS       float64  `json:"at_s"`
	ResolvedS *float64 `json:"resolved_s"` // null: not before the end of the run
}

// Results returns what was recorded of a run that ended at an instant.
func (w *Windows) Results(end sim.Time) *OverTime {
	o := &OverTime{WidthS: w.width.Seconds(), Windows: []WindowResult{}, SLO: len(w.slo) > 0}
	scratch, waiting := new(Hist), int64(0)
	for i := range w.list {
		x := &w.list[i]
		waiting += x.arrived - x.answered
		r := WindowResult{
			FromS: w.endS(i-1, end), ToS: w.endS(i, end), Arrived: x.arrived, Completed: x.completed, Unserved: x.unserved,
			Waiting: waiting, TTFT: w.latency(scratch, RuleTTFT, i, 0), ITL: w.latency(scratch, RuleITL, i, 0),
		}
		if x.burst > 0 {
			chunks := w.latency(scratch, RuleITL, i, x.burst)
			r.ITLChunk = &chunks
		}
		w.judgeWindow(scratch, i, &r)
		o.Windows = append(o.Windows, r)
	}
	o.Broken = brokenSpans(o.Windows)
	o.Backlog = backlog(o.Windows)
	o.Alerts = w.alerts(scratch, o.Windows)
	return o
}

// endS returns where the i-th window ends, no later than the run.
func (w *Windows) endS(i int, end sim.Time) float64 {
	return min(sim.Time(int64(i+1)*int64(w.width)), end.Add(w.Egress)).Seconds()
}

// latency returns the distribution of a metric in the i-th window, without so many of its values of zero.
func (w *Windows) latency(scratch *Hist, metric Metric, i int, zeros int64) WindowLatency {
	scratch.reset()
	w.list[i].of[metric].addTo(scratch)
	scratch.dropZeros(uint64(zeros))
	if scratch.N() == 0 {
		return WindowLatency{}
	}
	return WindowLatency{scratch.N(), scratch.QuantileS(.5), scratch.QuantileS(.9), scratch.QuantileS(.95),
		scratch.QuantileS(.99)}
}

// dropZeros takes away so many values of zero.
func (h *Hist) dropZeros(n uint64) {
	if n > 0 {
		h.count[0] -= n
		h.n -= n
	}
}

// judgeWindow fills in what became of the SLO in the i-th window.
func (w *Windows) judgeWindow(scratch *Hist, i int, r *WindowResult) {
	for k := range w.slo {
		v, ok := w.judge(scratch, k, i, i+1)
		if !ok {
			continue
		}
		met := v.Met && (r.Met == nil || *r.Met)
		r.Met = &met
		if !v.Met {
			r.Missed = append(r.Missed, v.Rule)
		}
		if k == w.attained {
			r.Attainment = &v.Value
		}
	}
}

// judge returns the verdict of the k-th rule over the windows from i to before j; false: they have nothing to judge it
// by.
func (w *Windows) judge(scratch *Hist, k, i, j int) (Verdict, bool) {
	r := &w.rules[k]
	if r.Share > 0 {
		good, all := int64(0), int64(0)
		for n := i; n < j; n++ {
			x := &w.list[n]
			all += x.completed + x.unserved
			if x.good != nil {
				good += x.good[k]
			}
		}
		return r.Judge(float64(good) / float64(all)), all > 0
	}
	metric, missing, zeros := r.Terms[0].Metric, int64(0), int64(0)
	scratch.reset()
	for n := i; n < j; n++ {
		x := &w.list[n]
		x.of[metric].addTo(scratch)
		switch metric {
		case RuleITL:
			zeros += x.burst
		case RuleTTFT, RuleQueue:
			missing += x.unanswered
		case RuleTTFO:
			missing += x.hidden
		case RuleTask:
			missing += x.taskless
		default:
			missing += x.unserved
		}
	}
	scratch.dropZeros(uint64(zeros))
	return r.Judge(r.Value(scratch, missing)), scratch.N()+missing > 0
}

// brokenSpans returns when the SLO was broken. A window in which nothing could be judged neither breaks nor mends it
// while requests wait; when none does, nothing is broken any more.
func brokenSpans(windows []WindowResult) []Span {
	spans, open := []Span{}, false
	for i := range windows {
		x := &windows[i]
		switch {
		case x.Met == nil && x.Waiting > 0:
		case x.Met == nil || *x.Met:
			open = false
		case open:
			spans[len(spans)-1].ToS = x.ToS
		default:
			spans, open = append(spans, Span{x.FromS, x.ToS}), true
		}
	}
	return spans
}

// backlogMin is how many more requests wait in a backlog than twice the usual number.
const backlogMin = 10

// backlog returns the backlog of a run in which the SLO was broken; nil: it was not, or there was none. Usual is how
// many waited at the end of the median window that met the SLO.
func backlog(windows []WindowResult) *Backlog {
	var usual []int64
	broken, peak := false, 0
	for i := range windows {
		x := &windows[i]
		switch {
		case x.Met == nil:
		case *x.Met:
			usual = append(usual, x.Waiting)
		default:
			broken = true
		}
		if x.Waiting > windows[peak].Waiting {
			peak = i
		}
	}
	few := int64(backlogMin)
	slices.Sort(usual)
	if len(usual) > 0 {
		few += 2 * usual[len(usual)/2]
	}
	if !broken || windows[peak].Waiting <= few {
		return nil
	}
	b := &Backlog{Requests: windows[peak].Waiting, PeakS: windows[peak].ToS}
	for i := peak + 1; i < len(windows) && b.EndS == nil; i++ {
		if windows[i].Waiting <= few {
			b.EndS = &windows[i].ToS
		}
	}
	return b
}

// alerts evaluates every alert at the end of each window. Without anything to judge it by, an alert stays as it is
// while requests wait, and is resolved when none does.
func (w *Windows) alerts(scratch *Hist, windows []WindowResult) []AlertResult {
	alerts, first := w.Alerts, len(w.slo)
	if alerts == nil {
		first = 0
		for _, r := range w.slo {
			alerts = append(alerts, Alert{Rule: r, Over: w.width})
		}
	}
	var results []AlertResult
	for k, a := range alerts {
		r := AlertResult{Rule: a.Rule.String(), OverS: a.Over.Seconds(), ForS: a.For.Seconds(), Fired: []Firing{}}
		over := int((a.Over + w.width - 1) / w.width) // rounded up
		pendingS := math.Inf(1)                       // since when it has been broken
		for i := range windows {
			nowS := windows[i].ToS
			v, ok := w.judge(scratch, first+k, max(0, i+1-over), i+1)
			switch {
			case ok && !v.Met:
				pendingS = min(pendingS, nowS)
				if nowS-pendingS >= r.ForS-1e-9 && !r.firing() {
					r.Fired = append(r.Fired, Firing{AtS: nowS})
				}
			case ok || windows[i].Waiting == 0:
				pendingS = math.Inf(1)
				if r.firing() {
					r.Fired[len(r.Fired)-1].ResolvedS = &nowS
				}
			}
		}
		results = append(results, r)
	}
	return results
}

// firing reports whether the alert has fired and was not resolved.
func (r *AlertResult) firing() bool {
	return len(r.Fired) > 0 && r.Fired[len(r.Fired)-1].ResolvedS == nil
}

// IsRule reports whether an alert is nothing but a rule of the SLO in every window.
func (o *OverTime) IsRule(a *AlertResult) bool { return a.OverS == o.WidthS && a.ForS == 0 }
