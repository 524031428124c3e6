package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// question is what the run was made for, in the words of its scenario.
func (r *Run) question() string {
	var pools []string
	for i := range r.Built.Scenario.Pools {
		p := &r.Built.Scenario.Pools[i]
		words := describe.Replicas(p)
		if len(r.Built.Scenario.Pools) > 1 {
			words = p.Name + ": " + words
		}
		pools = append(pools, words)
	}
	deployment, model := strings.Join(pools, "; "), r.Built.Deployment.Model.Name
	if r.limits() == "" {
		return fmt.Sprintf("What do users of %s%s feel on %s?", model, r.load(), deployment)
	}
	return fmt.Sprintf("Is the SLO of %s%s met on %s?", model, r.load(), deployment)
}

// load says what is offered; empty: it changes, or is a result.
func (r *Run) load() string {
	w := &r.Built.Scenario.Workload
	switch {
	case w.ClosedLoop != nil:
		return fmt.Sprintf(" to %s clients at a time", text.Count(w.ClosedLoop.Concurrency))
	case r.Summary.Load.OfferedPerS > 0:
		return fmt.Sprintf(" at %s requests/s", text.Significant(r.Summary.Load.OfferedPerS))
	}
	return ""
}

// limits are those of the SLO; empty: there is none.
func (r *Run) limits() string {
	var all []string
	if r.Summary.SLO != nil {
		all = append(all, report.Limits(r.Summary.SLO))
	}
	for _, v := range report.Verdicts(r.Summary) {
		all = append(all, v.Rule)
	}
	return strings.Join(all, ", ")
}

// asked is the share of the requests that must keep the limits.
func (r *Run) asked() float64 {
	return cmp.Or(r.Built.Scenario.SLO.Attainment, configs.DefaultAttainment)
}

// answer is the answer in two sentences.
func (r *Run) answer() (answer string, mood page.Mood) {
	s := r.Summary
	felt := fmt.Sprintf("The median request waits %s for its first token and then gets one every %s",
		text.Duration(s.Latency.TTFT.P50), text.Duration(s.Latency.TPOT.P50))
	if !s.Measured() && s.Requests.Completed > 0 {
		return "No request was measured.", page.Bad
	}
	if s.Latency.TTFT.N == 0 {
		return "No request was served.", page.Bad
	}
	if s.Latency.TPOT.N == 0 {
		felt = fmt.Sprintf("The median request waits %s for its first token", text.Duration(s.Latency.TTFT.P50))
	}
	if s.Cost != nil {
		felt += fmt.Sprintf("; a million output tokens cost %s", text.USD(s.Cost.USDPerMillionOutputTokens))
	}
	felt += "."
	if r.limits() == "" {
		return fmt.Sprintf("%s It emits %s output tokens/s on %s.", felt,
			text.Significant(s.Throughput.OutputTokensPerS), gpus(s.Pools)), page.Plain
	}
	rules := report.Verdicts(s)
	broken := slices.IndexFunc(rules, func(v metrics.Verdict) bool { return v.Broken() })
	switch {
	case broken >= 0:
		v := &rules[broken]
		return fmt.Sprintf("No: “%s” is broken, with %s. %s", v.Rule, report.RuleValue(v), felt), page.Bad
	case s.SLO != nil && s.SLO.Attainment < r.asked():
		return fmt.Sprintf("No: only %s of the requests keep %s, and %s %% must. %s", text.Percent(s.SLO.Attainment),
			report.Limits(s.SLO), text.Short(100*r.asked()), felt), page.Bad
	case s.SLO != nil:
		return fmt.Sprintf("Yes: %s of the requests keep %s, and %s %% must. %s", text.Percent(s.SLO.Attainment),
			report.Limits(s.SLO), text.Short(100*r.asked()), felt), page.Good
	}
	if i := slices.IndexFunc(rules, func(v metrics.Verdict) bool { return v.Unmeasured != "" }); i >= 0 {
		return fmt.Sprintf("Whether “%s” is kept is unknown: %s. %s", rules[i].Rule, rules[i].Unmeasured, felt), page.Plain
	}
	return fmt.Sprintf("Yes: every rule is kept. %s", felt), page.Good
}

// gpus counts those of all pools.
func gpus(pools []metrics.PoolResult) string {
	n := 0
	for i := range pools {
		n += pools[i].GPUs
	}
	return text.Counted(n, "GPU")
}

// facts are the numbers that a decision goes by.
func (r *Run) facts() []page.Fact {
	s := r.Summary
	var facts []page.Fact
	add := func(name string, value page.Cell, note string, mood page.Mood) {
		facts = append(facts, page.Fact{Name: name, Value: value, Note: note, Mood: mood})
	}
	switch {
	case s.SLO == nil:
	case !s.Measured():
		add("requests within the SLO", page.Words("–"), "no request is measured", page.Plain)
	default:
		mood := page.Good
		if s.SLO.Attainment < r.asked() {
			mood = page.Bad
		}
		add("requests within the SLO", field(text.Percent(s.SLO.Attainment), "slo.attainment", s.SLO.Attainment),
			text.Short(100*r.asked())+" % asked", mood)
	}
	first, next := &s.Latency.TTFT, &s.Latency.TPOT
	add("TTFT p95", seconds("latency.ttft_s.p95", first.P95), "p50 "+text.Duration(first.P50), page.Plain)
	add("TPOT p95", seconds("latency.tpot_s.p95", next.P95), "p50 "+text.Duration(next.P50), page.Plain)
	t := &s.Throughput
	add("output tokens/s",
		field(text.Significant(t.OutputTokensPerS), "throughput.output_tokens_per_s", t.OutputTokensPerS),
		text.Significant(t.OutputTokensPerSPerGPU)+" per GPU", page.Plain)
	if s.Cost != nil {
		add("per million output tokens", field(text.USD(s.Cost.USDPerMillionOutputTokens),
			"cost.usd_per_million_output_tokens", s.Cost.USDPerMillionOutputTokens),
			text.USD(s.Cost.USDPerHour)+" per hour", page.Plain)
	}
	if e := s.Energy; e != nil {
		add("per output token", field(text.Scaled(e.JPerOutputToken, "J"), "energy.j_per_output_token", e.JPerOutputToken),
			text.Scaled(e.MeanW, "W")+" in the mean", page.Plain)
	}
	if h := s.Headroom; h != nil {
		most := text.Short(h.Factor) + " ×"
		if h.AtLeast {
			most = "> " + most
		}
		add("of this load sustained", field(most, "headroom.factor", h.Factor), text.Significant(h.RatePerS)+" "+h.Unit,
			page.Plain)
	}
	return facts
}
