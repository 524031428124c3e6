package metrics

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

// Description is what a summary says beside its measurements.
type Description struct {
	Scenario    string
	Seed        uint64
	Version     string
	GPU         string
	GPUs        int // of all pools, when the run begins
	USDPerHour  float64
	Pools       []PoolDescription // nil: of one there is nothing more to say
	MaxModelLen int32
	RejectedFor string   // in which a request was too long for the engine; empty: max_model_len
	Closed      bool     // requests wait for others to end: what is offered is a result
	Warnings    []string // known before the run
}

// Summary returns the results of the run that f watched.
func (f *Full) Summary(d Description) *Summary {
	c := f.load.cluster
	totals := c.Totals()
	s := &Summary{
		Schema: SchemaSummary, Scenario: d.Scenario, Seed: d.Seed, Version: d.Version,
		Requests:   f.requests(f.preemptions()),
		Tokens:     Tokens{Prompt: totals.PromptTokens, PromptCached: totals.CachedTokens, Output: totals.OutputTokens},
		DurationS:  f.durationS(),
		ByPosition: f.positions(),
		Bound:      f.account.summary(),
		Tail:       f.tail(),
		Latency:    f.latency(),
		Pools:      f.pools(d),
	}
	gpus, usdPerHour := f.fleet(&d)
	s.Throughput = Throughput{
		RequestsPerS: ratio(float64(f.Recorded), s.DurationS), OutputTokensPerS: ratio(float64(f.Output()), s.DurationS),
		OutputTokensPerSPerGPU: ratio(float64(f.Output()), s.DurationS*gpus),
	}
	s.Requests.Arrived, s.Requests.Refused, s.Requests.Restarted = totals.Arrived, totals.NotAdmitted, totals.Restarted
	s.Transfers = f.transfers.results(totals)
	if f.Attribution != nil {
		s.Gaps = f.Attribution.Gaps()
		f.Attribution.fit(s.Gaps, &s.Latency.ITLChunk)
	}
	s.SLO, s.Classes = f.slo(s.DurationS), f.results(s.DurationS)
	if usdPerHour > 0 && f.Output() > 0 {
		s.Cost = &Cost{usdPerHour, ratio(usdPerHour/3600*1e6, s.Throughput.OutputTokensPerS)}
	}
	if !d.Closed {
		s.Load.OfferedPerS, s.Load.ServedPerS = f.load.rates()
	}
	s.Warnings = f.warnings(s, d)
	return s
}

// preemptions returns how many there were in all pools.
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
// or to the horizon if that cut requests short.
func (f *Full) durationS() float64 {
	last := f.LastToken
	if t := f.load.cluster.Totals(); t.Ended < t.Arrived {
		last = f.load.cluster.Now()
	}
	return max(0, last.Sub(max(min(f.load.start, last), f.Warmup)).Seconds())
}

// summary returns the mean step that a token waits for, and its bound.
func (a *account) summary() Bound {
	if a.tokens == 0 {
		return Bound{}
	}
	step := a.step()
	b := Bound{
		ITLFloorS: a.bound.Float() / float64(a.tokens) * 1e-12, StepS: step / float64(a.tokens) * 1e-12,
		FractionOfBound: a.bound.Float() / step, Limit: "memory",
		Share: Share{
			Weights: a.part[sim.Weights].Float() / step, KV: a.part[sim.KV].Float() / step, Compute: a.part[sim.Compute].Float() / step,
			Communication: a.part[sim.Communication].Float() / step, Overhead: a.part[sim.Overhead].Float() / step,
		},
	}
	b.HeldS = a.held.Float() / float64(a.tokens) * 1e-12
	if 2*a.compute > a.tokens {
		b.Limit = "compute"
	}
	return b
}

const (
	preemptedMax = 0.02 // preemptions per request that pass without remark
	tailMin      = 1000 // requests below which a p99 rests on fewer than ten
)

// warnings returns what a reader must know to trust the numbers, the gravest first.
func (f *Full) warnings(s *Summary, d Description) []string {
	w := []string{}
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	r := &s.Requests
	if !d.Closed && f.load.growing() {
		add("the queue is still growing: offered %s/s, served %s/s; latencies depend on the length of the run",
			rate(s.Load.OfferedPerS), rate(s.Load.ServedPerS))
	}
	if n := r.Rejected - r.Refused; n > 0 {
		longer := d.RejectedFor
		if longer == "" {
			longer = fmt.Sprintf("longer than max_model_len, %d tokens", d.MaxModelLen)
		}
		add("%d of %d requests were rejected: %s", n, r.Arrived, longer)
	}
	if n := f.load.cluster.Totals().Stranded; n > 0 {
		add("%d of %d requests wait in vain for a replica or for room: the SLO and all latencies leave them out", n, r.Arrived)
	}
	if r.Refused > 0 {
		add("%d of %d requests were not admitted", r.Refused, r.Arrived)
	}
	if r.Failed > 0 {
		why := "their clients hung up"
		if f.load.cluster.Totals().InstancesFailed > 0 {
			why += ", or their replica failed"
		}
		add("%d of %d requests failed, for %s; E2E and TPOT tell of the others alone", r.Failed, r.Arrived, why)
	}
	if share := ratio(float64(r.Preemptions), float64(r.Arrived)); share > preemptedMax {
		add("%d preemptions of %d requests: the KV cache is too small for this load", r.Preemptions, r.Arrived)
	}
	if n := f.Recorded; n > 0 && n < tailMin {
		add("only %d measured request%s: no more than %d of them are at or above p99", n, plural(n), n-(99*n+99)/100+1)
	}
	if f.Recorded == 0 {
		add("no request was measured from its arrival to its completion")
	}
	return append(w, d.Warnings...)
}

// plural is the ending of a noun that n counts.
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
