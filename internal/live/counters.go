package live

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// Counters are what the server of one instance counts, as vLLM's does (vLLM 0.33.0, vllm/v1/metrics/loggers.py and
// buckets.py). They only grow.
type Counters struct {
	Prompted  int64 // prompt tokens of requests that have begun
	Cached    int64 // of them
	Generated int64 // tokens
	Outcomes  [sim.NumOutcomes]int64
	Stopped   int64   // completed requests that ended before their limit
	Accepted  []int64 // drafted tokens that clients got, by the position of the draft; nil: nothing is drafted

	TTFT, ITL, TPOT, E2E, Queue, Prefill, Decode, Inference Histogram // seconds
	PromptTokens, OutputTokens, LimitTokens, StepTokens     Histogram // tokens
	ComputedTokens                                          Histogram // of a prompt: those that were not cached
	LongestTokens, Samples                                  Histogram // of the answers to a prompt, and how many they are
	Preemptions                                             Histogram // of a request

	LastStepS float64 // the latest step
	LastBatch int     // and how many tokens it emitted
}

// Histogram counts values in buckets: value v in the first whose bound is at least v, or beyond all.
type Histogram struct {
	Bounds []float64
	Counts []uint64 // by bucket; the last is of values beyond the bounds
	Sum    float64
}

func newHistogram(bounds []float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

// Observe counts a value, n times.
func (h *Histogram) Observe(v float64, n int) {
	i := 0
	for i < len(h.Bounds) && v > h.Bounds[i] {
		i++
	}
	h.Counts[i] += uint64(n)
	h.Sum += float64(v * float64(n))
}

// clone returns a copy that does not grow with h.
func (h *Histogram) clone() Histogram {
	c := *h
	c.Counts = append([]uint64(nil), h.Counts...)
	return c
}

// newCounters returns the counters of an instance of so long sequences, that draft so many tokens in a step at most.
func newCounters(longest int32, drafts int) Counters {
	latency := []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	itl := []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	ttft := []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
		2560}
	step := []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	return Counters{
		Accepted: make([]int64, drafts),
		TTFT:     newHistogram(ttft), ITL: newHistogram(itl), TPOT: newHistogram(itl), E2E: newHistogram(latency),
		Queue: newHistogram(latency), Prefill: newHistogram(latency), Decode: newHistogram(latency),
		Inference:    newHistogram(latency),
		PromptTokens: newHistogram(oneTwoFive(longest)), OutputTokens: newHistogram(oneTwoFive(longest)),
		LimitTokens: newHistogram(oneTwoFive(longest)), StepTokens: newHistogram(step),
		ComputedTokens: newHistogram(oneTwoFive(longest)), LongestTokens: newHistogram(oneTwoFive(longest)),
		Samples:     newHistogram([]float64{1, 2, 5, 10, 20}),
		Preemptions: newHistogram([]float64{1, 2, 3, 4, 5, 10, 20}),
	}
}

// oneTwoFive returns 1, 2, 5, 10, 20, 50 and so on, up to a value.
func oneTwoFive(most int32) (bounds []float64) {
	for unit := 1.0; ; unit *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if m*unit > float64(most) {
				return bounds
			}
			bounds = append(bounds, m*unit)
		}
	}
}

// first counts the first token of r.
func (c *Counters) first(r *sim.Request, egress sim.Duration) {
	c.TTFT.Observe((r.First.Sub(r.Arrival) + egress).Seconds(), 1)
	c.Generated++
	c.Prompted += int64(r.Prompt)
	c.Cached += int64(r.Cached)
}

// step counts n steps of g that each emitted so many tokens.
func (c *Counters) step(in *sim.Instance, g *sim.Segment, n, tokens int) {
	for i := range n {
		c.ITL.Observe(g.Step(i).Seconds(), tokens)
	}
	c.Generated += int64(n) * int64(tokens)
	c.LastStepS, c.LastBatch = g.Step(n-1).Seconds(), tokens
	shape := in.Shape()
	c.StepTokens.Observe(float64(shape.DecodeTokens+shape.PrefillTokens), n)
}

// gaps counts tokens that each came so long after the one before.
func (c *Counters) gaps(gap sim.Duration, tokens int) {
	c.ITL.Observe(gap.Seconds(), tokens)
	c.Generated += int64(tokens)
}

// done counts the end of r.
func (c *Counters) done(r *sim.Request, at sim.Time, o sim.Outcome, egress sim.Duration) {
	c.Outcomes[o]++
	if o != sim.Completed {
		return
	}
	if r.Output < r.MaxOutput {
		c.Stopped++
	}
	c.E2E.Observe((at.Sub(r.Arrival) + egress).Seconds(), 1)
	c.Queue.Observe(r.Admitted.Sub(r.Arrival).Seconds(), 1)
	c.Prefill.Observe(r.First.Sub(r.Admitted).Seconds(), 1)
	c.Decode.Observe(at.Sub(r.First).Seconds(), 1)
	c.Inference.Observe(at.Sub(r.Admitted).Seconds(), 1)
	if r.Emitted > 1 {
		c.TPOT.Observe(at.Sub(r.First).Seconds()/float64(r.Emitted-1), 1)
	}
	c.PromptTokens.Observe(float64(r.Prompt), 1)
	c.OutputTokens.Observe(float64(r.Emitted), 1)
	c.LimitTokens.Observe(float64(r.MaxOutput), 1)
	c.ComputedTokens.Observe(float64(r.Prompt-r.Cached), 1)
	c.Preemptions.Observe(float64(r.Preemptions), 1)
}

// sampled counts the end of one of the answers to a prompt, with so many tokens; all count with the last of them.
func (c *Counters) sampled(s *Samples, tokens int32) {
	s.ended, s.longest = s.ended+1, max(s.longest, tokens)
	if s.ended == s.N {
		c.Samples.Observe(float64(s.N), 1)
		c.LongestTokens.Observe(float64(s.longest), 1)
	}
}

// clone returns a copy that does not grow with c.
func (c *Counters) clone() Counters {
	x := *c
	for _, h := range []*Histogram{&x.TTFT, &x.ITL, &x.TPOT, &x.E2E, &x.Queue, &x.Prefill, &x.Decode, &x.Inference,
		&x.PromptTokens, &x.OutputTokens, &x.LimitTokens, &x.StepTokens, &x.ComputedTokens, &x.LongestTokens,
		&x.Samples, &x.Preemptions} {
		*h = h.clone()
	}
	x.Accepted = slices.Clone(c.Accepted)
	return x
}
