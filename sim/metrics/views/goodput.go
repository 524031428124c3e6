package views

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Verdicts counts completed requests by what tools disagree about: a request with a single token has no TPOT.
type Verdicts struct {
	Many, Single         int64 // completed requests with several tokens, and with one
	GoodMany, GoodSingle int64 // the ones that keep every limit; a single token keeps any limit on TPOT
}

func (v *Verdicts) add(l metrics.Limits, ttft, tpot, e2e sim.Duration, tokens int32) {
	good := int64(0)
	if met(l, ttft, tpot, e2e) {
		good = 1
	}
	if tokens > 1 {
		v.Many, v.GoodMany = v.Many+1, v.GoodMany+good
	} else {
		v.Single, v.GoodSingle = v.Single+1, v.GoodSingle+good
	}
}

// met reports whether every limit that is set is kept.
func met(l metrics.Limits, ttft, tpot, e2e sim.Duration) bool {
	return (l.TTFT == 0 || ttft <= l.TTFT) && (l.TPOT == 0 || tpot <= l.TPOT) && (l.E2E == 0 || e2e <= l.E2E)
}

// verdictsOf judges the records of completed requests by what their clients saw.
func verdictsOf(records []Record, l metrics.Limits) Verdicts {
	var v Verdicts
	for i := range records {
		r := &records[i]
		if r.Outcome != sim.Completed {
			continue
		}
		first, last, n := r.Chunks[0].At, r.Chunks[len(r.Chunks)-1].At, r.Tokens()
		tpot := sim.Duration(0)
		if n > 1 {
			tpot = last.Sub(first) / sim.Duration(n-1)
		}
		v.add(l, first.Sub(r.Send), tpot, last.Sub(r.Send), n)
	}
	return v
}

// Rule is a tool's rule of goodput: good requests per second.
type Rule struct {
	Key     string
	Formula string
	good    func(v Verdicts, l metrics.Limits) int64
	of      func(v Verdicts, l metrics.Limits, failed int64) int64 // requests judged; nil: the tool gives no share of them
}

// Goodput is the result of a rule.
type Goodput struct {
	PerS    float64
	Share   float64 // of the requests that the tool judges
	Judged  int64   // 0: the tool gives no share
	Sampled bool    // judged on the sample, because only that has the times of its clients
}

// apply judges a run; nil: there is no rule, or no limits are set.
func (g *Rule) apply(run *Run) *Goodput {
	seen := run.SLO
	seen.Queue = 0 // no client knows it
	if g == nil || seen == (metrics.Limits{}) {
		return nil
	}
	v, out := run.Counts.Verdicts, &Goodput{}
	scale := 1.0
	if !run.exact() {
		v, out.Sampled = verdictsOf(run.Records, run.SLO), true
		scale = ratio(float64(run.Counts.Completed), float64(v.Many+v.Single))
	}
	good := float64(g.good(v, run.SLO))
	out.PerS = ratio(good*scale, run.DurationS)
	if g.of != nil {
		failed := float64(run.Counts.Failed) / max(scale, 1)
		out.Judged = g.of(v, run.SLO, int64(failed+0.5))
		out.Share = ratio(good, float64(out.Judged))
	}
	return out
}

// vllm bench serve: good iff every limit given is kept; a request of one token has TPOT 0.
func vllmRule() *Rule {
	return &Rule{
		Key: "Request goodput", Formula: "requests that keep every limit / duration; one token: TPOT 0",
		good: func(v Verdicts, _ metrics.Limits) int64 { return v.GoodMany + v.GoodSingle },
	}
}

// AIPerf 0.13: a request that lacks a metric with a limit is not good (metrics/types/good_request_count_metric.py).
func aiperfRule() *Rule {
	return &Rule{
		Key:     "goodput",
		Formula: "requests that keep every limit / duration; one token has no inter_token_latency: not good",
		good:    goodWithTPOT,
	}
}

// GuideLLM 0.8: the same requests are good. Requests without a metric that has a limit are not judged; errors are
// judged (schemas/benchmark/goodput.py).
func guidellmRule() *Rule {
	return &Rule{
		Key: "goodput",
		Formula: "requests that keep every limit / duration; one token has no inter_token_latency: not judged; " +
			"errors are not good",
		good: goodWithTPOT,
		of: func(v Verdicts, l metrics.Limits, failed int64) int64 {
			if l.TPOT > 0 {
				return v.Many + failed
			}
			return v.Many + v.Single + failed
		},
	}
}

// inference-perf 0.7: the share is of the successes; an answer of one chunk has neither TTFT nor TPOT
// (reportgen/base.py).
func inferencePerfRule() *Rule {
	return &Rule{
		Key:     "request_goodput",
		Formula: "successes that keep every limit / duration; one token has neither TTFT nor TPOT: not good",
		good: func(v Verdicts, l metrics.Limits) int64 {
			if l.TTFT > 0 || l.TPOT > 0 {
				return v.GoodMany
			}
			return v.GoodMany + v.GoodSingle
		},
		of: func(v Verdicts, _ metrics.Limits, _ int64) int64 { return v.Many + v.Single },
	}
}

func goodWithTPOT(v Verdicts, l metrics.Limits) int64 {
	if l.TPOT > 0 {
		return v.GoodMany
	}
	return v.GoodMany + v.GoodSingle
}
