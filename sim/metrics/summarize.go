package metrics

import (
	"fmt"
	"math"
	"strconv"
)

// Description is what a summary says in addition to its measurements.
type Description struct {
	Scenario    string
	Seed        uint64
	Version     string
	GPU         string
	GPUs        int // of all pools, when the run begins
	USDPerHour  float64
	Pools       []PoolDescription // nil: a single pool, described by the other fields
	Grid        Grid
	MaxModelLen int32
	RejectedFor string   // how a request was too long for the engine; empty: max_model_len
	Closed      bool     // closed loop: the offered rate is a result
	Warnings    []string // known before the run
}

// Summary returns the results of the run that f recorded.
func (f *Full) Summary(d Description) *Summary {
	c := f.load.cluster
	totals := c.Totals()
	f.Gather()
	s := &Summary{
		Schema: SchemaSummary, Scenario: d.Scenario, Seed: d.Seed, Version: d.Version,
		Requests:   f.requests(f.preemptions()),
		Tokens:     Tokens{Prompt: totals.PromptTokens, PromptCached: totals.CachedTokens, Output: totals.OutputTokens},
		DurationS:  f.durationS(),
		ByPosition: f.positions(),
		Bound:      f.Bound(),
		Tail:       f.tail(),
		Latency:    f.latency(),
		Tasks:      f.tasks(),
		Pools:      f.pools(d),
	}
	if f.Stream != nil {
		s.Interval = f.Stream.interval
	}
	gpus, usdPerHour := f.fleet(&d)
	s.Throughput = Throughput{
		RequestsPerS:           ratio(float64(f.Recorded), s.DurationS),
		OutputTokensPerS:       ratio(float64(f.Output()), s.DurationS),
		OutputTokensPerSPerGPU: ratio(float64(f.Output()), s.DurationS*gpus),
	}
	s.Requests.Arrived, s.Requests.NotAdmitted, s.Requests.Restarted = totals.Arrived, totals.NotAdmitted, totals.Restarted
	s.Transfers = f.transfers.results(totals)
	if f.Attribution != nil {
		s.Gaps = f.Attribution.Gaps()
		steps := f.StepGaps().Quantiles()
		f.Attribution.fit(s.Gaps, &steps)
	}
	s.SLO, s.Rules, s.Classes = f.slo(s.DurationS), f.Verdicts(), f.classResults(s.DurationS, c.Now())
	if f.Windows != nil {
		s.OverTime = f.Windows.Results(c.Now())
	}
	s.Cost, s.Energy = f.cost(&d, s, usdPerHour), EnergyOf(c, &d, s.Requests.Completed)
	if !d.Closed {
		s.Load.OfferedPerS, s.Load.ServedPerS = f.load.rates()
	}
	s.Warnings = f.warnings(s, d)
	return s
}

// Growing reports whether the queue of an open load was still growing when the last request arrived.
func (f *Full) Growing() bool { return f.load.growing() }

// preemptions returns the number of preemptions in all pools.
func (f *Full) preemptions() (n int64) {
	for i := range f.load.cluster.Pools() {
		n += f.load.cluster.PoolTotals(i).Preemptions
	}
	return n
}

// ratio returns a/b, and 0 for 0/0: nothing happened.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// durationS is the measured span: from the first send, or the end of the warm-up if that is later, to the last token,
// or to the horizon if requests were under way then.
func (f *Full) durationS() float64 {
	last := f.LastToken
	if t := f.load.cluster.Totals(); t.Ended < t.Arrived {
		last = f.load.cluster.Now()
	}
	return max(0, last.Sub(max(min(f.load.start, last), f.Warmup)).Seconds())
}

const (
	preemptedMax = 0.02 // preemptions per request above which there is a warning
	tailMin      = 1000 // requests below which a p99 rests on fewer than ten
)

// warnings returns what a reader must know to trust the numbers, the most serious first.
func (f *Full) warnings(s *Summary, d Description) []string {
	w := []string{}
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	r := &s.Requests
	if !d.Closed && f.load.growing() {
		add("the queue is still growing: offered %s/s, served %s/s; latencies depend on the length of the run",
			rate(s.Load.OfferedPerS), rate(s.Load.ServedPerS))
	}
	if n := r.Rejected - r.NotAdmitted; n > 0 {
		longer := d.RejectedFor
		if longer == "" {
			longer = fmt.Sprintf("longer than max_model_len, %d tokens", d.MaxModelLen)
		}
		add("%s of %s requests were rejected: %s", count(n), count(r.Arrived), longer)
	}
	if n := f.load.cluster.Totals().Stranded; n > 0 {
		add("%s of %s requests wait in vain for a replica or for room: the SLO and all latencies leave them out",
			count(n), count(r.Arrived))
	}
	if r.NotAdmitted > 0 {
		add("%s of %s requests were not admitted", count(r.NotAdmitted), count(r.Arrived))
	}
	if r.Failed > 0 {
		why := "their clients disconnected"
		if f.load.cluster.Totals().InstancesFailed > 0 {
			why += ", or their replica failed"
		}
		beside := ""
		if u := s.Latency.Unanswered; u != nil {
			beside = fmt.Sprintf("; waits without a token are beside the queue's: %s, of %s s in the median (unanswered_s)",
				count(u.N), rate(u.P50))
		}
		add("%s of %s requests failed, for %s; E2E and TPOT are of the other requests%s", count(r.Failed), count(r.Arrived),
			why, beside)
	}
	if share := ratio(float64(r.Preemptions), float64(r.Arrived)); share > preemptedMax {
		add("%s preemptions of %s requests: the KV cache is too small for this load", count(r.Preemptions), count(r.Arrived))
	}
	if f.thought > 0 {
		add("%s of %s measured requests were cut within their reasoning and showed nothing: TTFO is of the others",
			count(f.thought), count(f.Recorded))
	}
	tail := func(noun string, n int64) {
		if n > 0 && n < tailMin {
			add("only %d measured %s%s: no more than %d of them are at or above p99", n, noun, plural(n), n-(99*n+99)/100+1)
		}
	}
	tail("request", f.Recorded)
	if f.Tasks != nil {
		tail("task", f.Tasks.Time.N())
	}
	if w := f.Windows; w != nil && w.width > w.Width {
		add("windows of %.9g s became windows of %.9g s: a run has at most %d of them", w.Width.Seconds(), w.width.Seconds(),
			windowsMax)
	}
	if f.Recorded == 0 {
		add("no request was measured from its arrival to its completion")
	}
	return append(w, d.Warnings...)
}

// count prints a whole number with commas between its thousands.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plural returns the ending of a noun that n counts.
func plural(n int64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// rate prints requests/s with three significant digits.
func rate(x float64) string {
	if x <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.*f", int(max(0, 2-math.Floor(math.Log10(x)))), x)
}
