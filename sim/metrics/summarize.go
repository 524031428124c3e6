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
	GPUs        int // of the pool
	USDPerHour  float64
	MaxModelLen int32
	RejectedFor string   // in which a request was too long for the engine; empty: max_model_len
	Closed      bool     // requests wait for others to end: what is offered is a result
	Warnings    []string // known before the run
}

// Summary returns the results of the run that f watched.
func (f *Full) Summary(d Description) *Summary {
	c := f.load.cluster
	totals, pool := c.Totals(), c.PoolTotals(0)
	s := &Summary{
		Schema: SchemaSummary, Scenario: d.Scenario, Seed: d.Seed, Version: d.Version,
		Requests:   f.requests(pool.Preemptions),
		Tokens:     Tokens{Prompt: totals.PromptTokens, PromptCached: totals.CachedTokens, Output: totals.OutputTokens},
		DurationS:  f.durationS(),
		ByPosition: f.positions(),
		Bound:      f.account.summary(),
		Tail:       f.tail(),
		Latency:    f.latency(),
		Pools:      []PoolResult{f.pool(d, pool)},
	}
	s.Throughput = Throughput{
		RequestsPerS: ratio(float64(f.Recorded), s.DurationS), OutputTokensPerS: ratio(float64(f.Output()), s.DurationS),
		OutputTokensPerSPerGPU: ratio(float64(f.Output()), s.DurationS*float64(d.GPUs)),
	}
	s.Requests.Arrived = totals.Arrived
	if f.Attribution != nil {
		s.Gaps = f.Attribution.Gaps()
		f.Attribution.fit(s.Gaps, &s.Latency.ITLChunk)
	}
	s.SLO, s.Classes = f.slo(s.DurationS), f.results(s.DurationS)
	if d.USDPerHour > 0 && f.Output() > 0 {
		s.Cost = &Cost{d.USDPerHour, ratio(d.USDPerHour/3600*1e6, s.Throughput.OutputTokensPerS)}
	}
	if !d.Closed {
		s.Load.OfferedPerS, s.Load.ServedPerS = f.load.rates()
	}
	s.Warnings = f.warnings(s, d)
	return s
}

// ratio returns a/b, and 0 for 0/0: nothing happened.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// durationS is the measured span: from the first send, or the end of the warm-up if that is later, to the last token, or
// to the horizon if that cut requests short.
func (f *Full) durationS() float64 {
	last := f.LastToken
	if t := f.load.cluster.Totals(); t.Ended < t.Arrived {
		last = f.load.cluster.Now()
	}
	return max(0, last.Sub(max(min(f.load.start, last), f.Warmup)).Seconds())
}

// pool returns the load of the pool over the whole run, warm-up included.
func (f *Full) pool(d Description, p sim.PoolTotals) PoolResult {
	spanS := max(0, f.load.cluster.Now().Sub(min(f.load.start, f.load.cluster.Now())).Seconds())
	r := PoolResult{
		Name: f.load.pool.Name, GPU: d.GPU, GPUs: d.GPUs, Replicas: p.Instances,
		Utilization: ratio(p.BusyS, spanS*float64(p.Instances)), BatchMean: ratio(float64(p.DecodeSum), float64(p.Steps)),
		KVPeakFraction: ratio(float64(p.KVPeak), float64(p.KVBlocks)), KVBlocks: p.KVBlocks,
		IdleRows: ratio(float64(p.IdleSum), float64(p.IdleSum+p.DecodeSum)), Swaps: p.Swaps,
	}
	if p.Drafted > 0 {
		r.Speculation = &Speculation{Drafted: p.Drafted, Accepted: p.Accepted, AcceptLength: 1 + ratio(float64(p.Accepted), float64(p.DecodeSum))}
	}
	if f.load.pool.PrefixCaching {
		hits := ratio(float64(p.Cached), float64(p.Prompted))
		r.PrefixHitRate = &hits
		r.HostHitRate = ratio(float64(p.Loaded), float64(p.Prompted))
	}
	return r
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
	if r.Rejected > 0 {
		longer := d.RejectedFor
		if longer == "" {
			longer = fmt.Sprintf("longer than max_model_len, %d tokens", d.MaxModelLen)
		}
		add("%d of %d requests were rejected: %s", r.Rejected, r.Arrived, longer)
	}
	if r.Failed > 0 {
		add("%d of %d requests failed, for their clients hung up; E2E and TPOT tell of the others alone", r.Failed, r.Arrived)
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
