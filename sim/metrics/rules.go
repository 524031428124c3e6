package metrics

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/decodesim/decodesim/sim"
)

// Rules are an SLO as contracts write it, a line each: a limit on a statistic of a latency, such as its p95, or on how
// many requests keep some limits of their own.
type Rules []Rule

// Rule is one line of an SLO.
type Rule struct {
	Share float64 // of the requests that must keep every term; 0: the one term is about a distribution
	Terms []Term
}

// Term is a limit on a latency.
type Term struct {
	Metric Metric
	At     Statistic // of the distribution; Each: of every single request
	Below  bool      // the latency must be below the limit, and not at it
	Limit  sim.Duration
}

// A Metric is a latency that a rule is about.
type Metric uint8

// The metrics, as recorder.go defines them. ITL is pooled over gaps: between the chunks that clients receive, which
// are tokens unless some come together.
const (
	RuleTTFT Metric = iota
	RuleITL
	RuleTPOT
	RuleE2E
	RuleQueue
	RuleTTFO
	RuleTask
	NumRuleMetrics
)

var ruleMetrics = [...]string{
	RuleTTFT: "ttft", RuleITL: "itl", RuleTPOT: "tpot", RuleE2E: "e2e", RuleQueue: "queue",
	RuleTTFO: "ttfo", RuleTask: "task",
}

// String returns the name of m in rules.
func (m Metric) String() string { return ruleMetrics[m] }

// A Statistic is a percentile, between 0 and 100, or one of the constants.
type Statistic float64

// The statistics that are no percentiles.
const (
	Each Statistic = 0
	Max  Statistic = 100
	Mean Statistic = -1
)

// String returns the name of s in rules: p95, p99.9, mean, max, and nothing for single requests.
func (s Statistic) String() string {
	switch s {
	case Each:
		return ""
	case Max:
		return "max"
	case Mean:
		return "mean"
	}
	return "p" + strconv.FormatFloat(float64(s), 'f', -1, 64)
}

// String returns the term as a rule has it: ttft p95 <= 1s.
func (t Term) String() string {
	text := t.Metric.String()
	if t.At != Each {
		text += " " + t.At.String()
	}
	if t.Below {
		return text + " < " + limitText(t.Limit)
	}
	return text + " <= " + limitText(t.Limit)
}

// limitText writes a limit so that it is read back exactly.
func limitText(d sim.Duration) string {
	unit, name := sim.Second, "s"
	switch {
	case d < sim.Millisecond:
		unit, name = sim.Microsecond, "µs"
	case d < sim.Second:
		unit, name = sim.Millisecond, "ms"
	}
	return strconv.FormatFloat(float64(d)/float64(unit), 'f', -1, 64) + name
}

// String returns the rule as a scenario has it.
func (r *Rule) String() string {
	text := ""
	if r.Share > 0 {
		percent := strconv.FormatFloat(math.Round(r.Share*1e9)/1e7, 'f', -1, 64)
		text = percent + "% of requests: "
	}
	for i, t := range r.Terms {
		if i > 0 {
			text += " and "
		}
		text += t.String()
	}
	return text
}

// MetBy reports whether a request that was completed, with these latencies, keeps every term of a rule about requests.
// Without a second token its TPOT is 0, and so is kept.
func (r *Rule) MetBy(l Limits) bool {
	of := [NumRuleMetrics]sim.Duration{
		RuleTTFT: l.TTFT, RuleTPOT: l.TPOT, RuleE2E: l.E2E, RuleQueue: l.Queue, RuleTTFO: l.TTFO,
	}
	for _, t := range r.Terms {
		if d := of[t.Metric]; d > t.Limit || t.Below && d == t.Limit {
			return false
		}
	}
	return true
}

// Limits returns what a request must keep by a rule about requests.
func (r *Rule) Limits() (l Limits) {
	for _, t := range r.Terms {
		of := [NumRuleMetrics]*sim.Duration{
			RuleTTFT: &l.TTFT, RuleTPOT: &l.TPOT, RuleE2E: &l.E2E, RuleQueue: &l.Queue, RuleTTFO: &l.TTFO,
		}[t.Metric]
		most := t.Limit
		if t.Below {
			most-- // instants are whole picoseconds
		}
		if *of == 0 || most < *of {
			*of = most
		}
	}
	return l
}

// Value returns the statistic of h, in seconds, that a rule about a distribution limits; NaN if h is empty. Percentiles
// and the maximum count so many requests more as longer than any limit: they are missing in h because they were
// rejected or have failed. Percentiles are those of the histogram, within 0.1 % of the exact ones.
func (r *Rule) Value(h *Hist, missing int64) float64 {
	switch at := r.Terms[0].At; {
	case at == Mean:
		return h.MeanS()
	case at == Max && missing > 0:
		return math.Inf(1)
	case at == Max:
		return h.MaxS()
	default:
		return h.quantileAmong(math.Round(float64(at)*1e7)/1e9, missing) // 0.999, and not 0.9990000000000001
	}
}

// Verdict is what became of a rule.
type Verdict struct {
	Rule       string
	Share      bool    // Value and Limit are shares of the requests; otherwise seconds
	Value      float64 // NaN: nothing was measured; +Inf: too few requests have been served
	Limit      float64
	Met        bool    // false where Unmeasured is set: it is unknown
	Margin     float64 // how far inside the limit: of a latency as a share of the limit, of a share the difference
	Unmeasured string  // why no request can tell whether the rule is met; empty: there are some

	TokensPerChunk float64 // of a rule on gaps between chunks of several tokens, the mean; 0: a gap is one token's
	Cliff          Cliff   // of a rule on a percentile of gaps; zero: a small change of the load changes it little
}

// Broken reports whether requests have shown that the rule is not met.
func (v *Verdict) Broken() bool { return !v.Met && v.Unmeasured == "" }

// Judge returns the verdict of a value, which is the share of the requests that keep the rule, or what Value returns.
func (r *Rule) Judge(value float64) Verdict {
	if r.Share > 0 {
		return Verdict{
			Rule: r.String(), Share: true, Value: value, Limit: r.Share, Met: value >= r.Share-1e-12,
			Margin: value - r.Share,
		}
	}
	t := r.Terms[0]
	limit := float64(t.Limit) / 1e12 // 0.2, and not 0.19999999999999998
	return Verdict{
		Rule: r.String(), Value: value, Limit: limit, Met: value < limit || value == limit && !t.Below,
		Margin: (limit - value) / limit,
	}
}

// MarshalJSON implements json.Marshaler.
func (v Verdict) MarshalJSON() ([]byte, error) { return json.Marshal(v.Written()) }

// WrittenVerdict is the JSON of a verdict.
type WrittenVerdict struct {
	Rule       string   `json:"rule"`
	Value      *float64 `json:"value"`
	Limit      float64  `json:"limit"`
	Unit       string   `json:"unit"`
	Met        *bool    `json:"met"`
	Margin     *float64 `json:"margin"`
	Unmeasured string   `json:"unmeasured,omitempty"`

	TokensPerChunk float64 `json:"tokens_per_chunk,omitempty"`
	Cliff          *Cliff  `json:"cliff,omitempty"`
}

// Written returns what stands in JSON; what is no number or unknown is null.
func (v Verdict) Written() WrittenVerdict {
	w := WrittenVerdict{Rule: v.Rule, Value: orNull(v.Value), Limit: v.Limit, Unit: "s", Margin: orNull(v.Margin),
		Unmeasured: v.Unmeasured, TokensPerChunk: v.TokensPerChunk}
	if v.Cliff != (Cliff{}) {
		w.Cliff = &v.Cliff
	}
	if v.Share {
		w.Unit = "share of requests"
	}
	if v.Unmeasured == "" {
		w.Met = &v.Met
	}
	return w
}

// Verdicts judges the rules of m by all that it has recorded. Requests that were rejected or have failed after the
// warm-up keep no limit. Where requests were completed but none had a second token, limits on gaps are kept.
func (m *Recorder) Verdicts() []Verdict {
	var verdicts []Verdict
	for i := range m.Rules {
		v := m.verdict(i)
		v.Unmeasured = m.unmeasured()
		if r := &m.Rules[i]; v.Unmeasured == "" && r.Share == 0 && r.Terms[0].Metric == RuleTask && !m.taskMeasured() {
			v.Unmeasured = "no task was measured from its beginning to its end"
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// taskMeasured reports whether a task that began after the warm-up has ended, with a result or without.
func (m *Recorder) taskMeasured() bool { return m.Tasks != nil && m.Tasks.Time.N()+m.Tasks.missing > 0 }

func (m *Recorder) verdict(i int) Verdict {
	r := &m.Rules[i]
	if r.Share > 0 {
		good := int64(0)
		if m.good != nil {
			good = m.good[i]
		}
		return r.Judge(float64(good) / float64(m.Recorded+m.Unserved))
	}
	h, missing := m.of(r.Terms[0].Metric)
	v := r.Judge(r.Value(h, missing))
	if metric := r.Terms[0].Metric; (metric == RuleITL || metric == RuleTPOT) && h.N()+missing == 0 {
		v.Met = m.Recorded > 0
	}
	if r.Terms[0].Metric == RuleITL && h.N() > 0 {
		if tokens := m.TokenGaps().N(); tokens != h.N() {
			v.TokensPerChunk = float64(tokens) / float64(h.N())
		}
		v.Cliff = m.cliff(r)
	}
	return v
}

// of returns the distribution of a metric, and how many requests it lacks because they were not served.
func (m *Recorder) of(metric Metric) (h *Hist, missing int64) {
	switch metric {
	case RuleTTFT:
		return &m.TTFT, m.unanswered
	case RuleTPOT:
		return &m.TPOT, m.Unserved
	case RuleE2E:
		return &m.E2E, m.Unserved
	case RuleQueue:
		return &m.Queue, m.unanswered
	case RuleTTFO:
		return &m.TTFO, m.hidden
	case RuleTask:
		if m.Tasks == nil {
			return new(Hist), 0
		}
		return &m.Tasks.Time, m.Tasks.missing
	}
	return m.ChunkGaps(), 0
}

// Missed returns how many of the requests recorded, served or not, have missed a rule about requests.
func (m *Recorder) Missed(rule int) int64 {
	if m.good == nil {
		return m.Unserved
	}
	return m.Recorded - m.good[rule] + m.Unserved
}

// countGood counts the rules about requests that a completed request keeps.
func (m *Recorder) countGood(l Limits) {
	if m.good == nil {
		m.good = make([]int64, len(m.Rules))
	}
	for i := range m.Rules {
		if r := &m.Rules[i]; r.Share > 0 && r.MetBy(l) {
			m.good[i]++
		}
	}
}
