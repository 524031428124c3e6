package sizing

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// WriteText writes the answer of a search: the deployment, why it is the one, the others of the last round and the
// frontier.
func WriteText(w io.Writer, s *Sizing) error {
	t := text.NewPage(false)
	t.Heading(fmt.Sprintf("%s · %s", s.Caption(), sloWords(&s.SLO)))
	t.Line(searchWords(s))
	t.Blank()
	switch {
	case s.Failure != nil:
		failureLines(t, s)
	case s.Best == nil:
		t.Line(fmt.Sprintf("no deployment sustains %s %s%s", text.Significant(s.RateMinPerS), s.unit(),
			packedOnly(s, s.RateMinPerS)))
	default:
		for _, sentence := range sentences(s) {
			t.Line(sentence)
		}
		if s.Replay != nil {
			t.Line(replayWords(s))
			if words := roomWords(s); words != "" {
				t.Line(words)
			}
			for _, note := range report.RuleNotes(s.Replay.SLO) {
				t.Line(note + ".")
			}
			if words := spendingWords(s.Replay); words != "" {
				t.Line(words)
			}
		}
		t.Blank()
		if s.AtPerS > 0 {
			rowTables(t, s)
			t.Blank()
			t.Line("the cheapest of all, at the most that each sustains")
		}
		finalistsTable(t, s)
		t.Blank()
		percentilesTable(t, s)
		t.Blank()
		if len(s.Best.Rules) > 0 && s.AtPerS == 0 {
			t.Table(report.RuleRows(s.Best.Rules))
			for _, note := range report.RuleNotes(s.Best.Rules) {
				t.Line("(" + note + ")")
			}
			t.Blank()
		}
		t.Line("what limits each")
		for i := range s.Finalists {
			f := &s.Finalists[i]
			t.Line("  " + f.Name + ": " + limitWords(f, s))
		}
	}
	frontierTable(t, s.Frontier, s.unit())
	accuracyLines(t, s)
	if len(s.Commands) > 0 {
		t.Blank()
		t.Line("how its servers are started")
		for _, line := range s.Commands {
			t.Line(strings.TrimRight("  "+line, " "))
		}
	}
	for _, note := range s.Notes {
		t.Blank()
		t.Line("note: " + note)
	}
	_, err := t.WriteTo(w)
	return err
}

// Caption names a search on everything that shows it.
func (s *Sizing) Caption() text.Caption {
	hardware := s.GPU
	if s.GPUsMax > 0 {
		hardware = fmt.Sprintf("up to %d × %s", s.GPUsMax, s.GPU)
		if strings.Contains(s.GPU, ", ") { // of all kinds together
			hardware = fmt.Sprintf("up to %d GPUs: %s", s.GPUsMax, s.GPU)
		}
	}
	return text.Caption{Scenario: s.Study, Model: s.Model, Hardware: hardware, Seed: &s.Seeds[0]}
}

// sloWords says what must be kept.
func sloWords(l *SLO) string {
	var limits []string
	for _, of := range []struct {
		name string
		s    float64
	}{{"TTFT", l.TTFTS}, {"TPOT", l.TPOTS}, {"E2E", l.E2ES}} {
		if of.s > 0 {
			limits = append(limits, of.name+" ≤ "+text.Limit(of.s))
		}
	}
	words := text.Short(100*l.Attainment) + " % of requests with " + strings.Join(limits, " and ")
	switch {
	case len(limits) == 0:
		return strings.Join(l.Rules, ", ")
	case len(l.Rules) > 0:
		return words + ", and " + strings.Join(l.Rules, ", ")
	}
	return words
}

// searchWords says what was looked at.
func searchWords(s *Sizing) string {
	simulated := 0
	for i := range s.Candidates {
		if s.Candidates[i].Round > 0 {
			simulated++
		}
	}
	words := fmt.Sprintf("%s, of which %s simulated: %s of up to %s requests",
		text.Counted(len(s.Candidates), "deployment"),
		text.Count(simulated), text.Counted(s.Simulations, "simulation"), text.Count(s.Requests[len(s.Requests)-1]))
	if len(s.Seeds) > 1 {
		words += fmt.Sprintf(", the last ones under %d seeds", len(s.Seeds))
	}
	return words
}

// packedOnly says how far even the roofline limit goes, of the deployments that were tried.
func packedOnly(s *Sizing, ratePerS float64) string {
	if s.RooflineLimitPerS < ratePerS {
		return "; the highest roofline limit that was tried is " + text.Significant(s.RooflineLimitPerS)
	}
	return ", although the highest roofline limit that was tried is " + text.Significant(s.RooflineLimitPerS)
}

// sentences say which deployment, how sure that is and how far it is from what is possible.
func sentences(s *Sizing) []string {
	b := s.Best
	sustains := text.Significant(b.CapacityPerS) + " " + s.unit() + spreadWords(b.Interval, 1, "")
	if b.AtLeast {
		sustains = "at least " + text.Significant(b.CapacityPerS) + " " + s.unit() + ", the most that was tried"
	}
	cost := ""
	if b.USDPerHour > 0 {
		cost = fmt.Sprintf(", %s per hour", text.USD(b.USDPerHour))
	}
	all := []string{fmt.Sprintf("%s on %s%s sustains %s.", b.Name, b.hardware(), cost, sustains)}
	if s.AtPerS > 0 {
		all[0] = fmt.Sprintf("%s on %s%s is the cheapest that sustains %s %s: %s %s.", b.Name, b.hardware(), cost,
			text.Short(s.AtPerS), s.unit(), endsWords(b, s), sustains)
		all = append(all, "Margin: "+marginWords(s, b)+".")
	}
	limits := fmt.Sprintf("That is %s of its roofline limit, %s %s", text.Percent(b.OfPerfect),
		text.Significant(b.RooflineLimitPerS), s.unit())
	if s.AtPerS == 0 { // otherwise more replicas always have a higher one
		limits += fmt.Sprintf("; the highest of the %s is %s", text.Counted(len(s.Candidates), "deployment"),
			text.Significant(s.RooflineLimitPerS))
	}
	all = append(all, limits+".")
	if s.Lead != nil {
		second := &s.Finalists[1]
		all = append(all, fmt.Sprintf("Runner-up: %s on %d GPUs%s; %s.", second.Name, second.GPUs, b.saves(second, s.Lead),
			leadWords(s.Lead, b.AtLeast && second.AtLeast)))
	}
	return all
}

// endsWords says what the most that a deployment sustains is.
func endsWords(b *Finalist, s *Sizing) string {
	switch {
	case b.AtLeast:
		return "it sustains"
	case b.Limit.onlyFallsBehind(s):
		return "it keeps up with no more than"
	}
	return "its SLO breaks at"
}

// onlyFallsBehind reports whether the requests of the run at the limit keep the SLO, which those of a longer one would
// not, since ever more of them wait.
func (l *Limiting) onlyFallsBehind(s *Sizing) bool {
	return l.RatePerS > 0 && !slices.ContainsFunc(l.Rules, unmet) && l.Attainment >= s.SLO.Attainment-1e-12
}

func signedPercent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }

// spreadWords is an interval behind its centre.
func spreadWords(i *stats.Interval, scale float64, unit string) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf(" (95 %%: %s to %s%s over %d seeds)", text.Significant(i.Low*scale), text.Significant(i.High*scale),
		unit, i.N)
}

// finalistsTable writes the deployments of the last round.
func finalistsTable(t *text.Page, s *Sizing) {
	rows := [][]string{{"", "GPUs", "per hour", "sustains/s", "±", "goodput/s/GPU", "of roofline", "J/token",
		"tokens/s/user", "TTFT p50", "TPOT p50"}}
	for i := range s.Finalists {
		f := &s.Finalists[i]
		half, usd := text.Dash, text.Dash
		if f.Interval != nil {
			half = text.Significant((f.Interval.High - f.Interval.Low) / 2)
		}
		if f.USDPerHour > 0 {
			usd = text.USD(f.USDPerHour)
		}
		rows = append(rows, []string{
			f.Name, text.Count(f.GPUs), usd, text.Significant(f.CapacityPerS), half, text.Significant(f.GoodputPerSPerGPU),
			text.Percent(f.OfPerfect), f.Spending.joulesCell(), f.speed(), text.Duration(f.TTFTS.P50),
			f.TPOTS.duration(f.TPOTS.P50),
		})
	}
	t.Table(rows)
}

// percentilesTable writes the latencies of the last round, each at the most that its deployment sustains.
func percentilesTable(t *text.Page, s *Sizing) {
	rows := [][]string{{"", "", "p50", "p90", "p95", "p99", ""}}
	for i := range s.Finalists {
		f := &s.Finalists[i]
		for _, of := range []struct {
			name string
			q    *Percentile
		}{{"TTFT", &f.TTFTS}, {"TPOT", &f.TPOTS}} {
			if of.q.P99 == 0 {
				continue // no request has one
			}
			u := text.TimeUnit(of.q.P50)
			row := []string{f.Name, of.name}
			for _, x := range []float64{of.q.P50, of.q.P90, of.q.P95, of.q.P99} {
				row = append(row, text.Significant(x/u.Size))
			}
			rows = append(rows, append(row, u.Name))
		}
	}
	t.Table(rows, 1)
}

// limitWords says what breaks at the next rate, and how busy the pools are.
func limitWords(f *Finalist, s *Sizing) string {
	l, unit := &f.Limit, s.unit()
	var parts []string
	switch {
	case l.RatePerS == 0:
		parts = append(parts, "nothing breaks at the rates that were tried")
	case slices.ContainsFunc(l.Rules, unmet):
		parts = append(parts,
			fmt.Sprintf("at %s %s it breaks %s", text.Significant(l.RatePerS), unit, brokenWords(l.Rules)))
	case l.onlyFallsBehind(s):
		parts = append(parts, fmt.Sprintf("it does not keep up with %s %s: %s of this run keep the SLO, but fewer of a "+
			"longer one would", text.Significant(l.RatePerS), unit, text.Percent(l.Attainment)))
	default:
		parts = append(parts, missedWords(l, unit))
	}
	for i, busy := range l.Utilization {
		parts = append(parts, fmt.Sprintf("%s busy %s of the time", f.Pools[i].Role, text.WholePercent(min(1, busy))))
	}
	if l.Of != "" {
		parts = append(
			parts, fmt.Sprintf("a token waits for a step of %s weights, %s KV, %s compute, %s communication, %s overhead",
				text.WholePercent(l.Share.Weights),
				text.WholePercent(l.Share.KV), text.WholePercent(l.Share.Compute), text.WholePercent(l.Share.Communication),
				text.WholePercent(l.Share.Overhead)))
	}
	return strings.Join(parts, "; ")
}

// brokenWords lists the rules that do not hold, with their values.
func brokenWords(rules []metrics.Verdict) string {
	var words []string
	for i := range rules {
		if v := &rules[i]; v.Broken() {
			words = append(words, fmt.Sprintf("%q (%s)", v.Rule, report.RuleValue(v)))
		}
	}
	return strings.Join(words, ", ")
}

// missedWords says which limit most requests miss.
func missedWords(l *Limiting, unit string) string {
	first, most := "refused", l.Refused
	var missed []string
	for _, of := range []struct {
		name  string
		share float64
	}{{"TTFT", l.TTFTMissed}, {"TPOT", l.TPOTMissed}, {"E2E", l.E2EMissed}} {
		if of.share > most {
			first, most = of.name, of.share
		}
		if of.share > 0 {
			missed = append(missed, text.WholePercent(of.share)+" miss "+of.name)
		}
	}
	if len(missed) == 0 {
		missed = append(missed, text.WholePercent(l.Refused)+" are refused or fail")
	}
	return fmt.Sprintf("%s first: at %s %s only %s keep the SLO, %s", first, text.Significant(l.RatePerS), unit,
		text.Percent(l.Attainment), strings.Join(missed, ", "))
}

// frontierRows bounds the frontier on a terminal.
const frontierRows = 12

// frontierTable writes the frontier, thinned to what a screen has room for.
func frontierTable(t *text.Page, all []FrontierPoint, unit string) {
	if len(all) == 0 {
		return
	}
	t.Blank()
	t.Line("Pareto frontier: goodput per GPU against user speed")
	rows := [][]string{{"tokens/s/user", "goodput/s/GPU", unit, "deployment"}}
	printed := min(len(all), frontierRows)
	for i := range printed {
		at := 0
		if printed > 1 {
			at = i * (len(all) - 1) / (printed - 1)
		}
		p := &all[at]
		rows = append(rows, []string{
			text.Significant(p.UserTokensPerS), text.Significant(p.GoodputPerSPerGPU), text.Significant(p.RatePerS), p.Name,
		})
	}
	t.Table(rows, -1)
}

// WriteCandidates writes a line per deployment, in SI units; cells of what is not known stay empty.
func WriteCandidates(w io.Writer, s *Sizing) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"name", "topology", "split", "gpus", "usd_per_hour", "prefill_share", "tensor_parallel",
		"max_num_seqs", "prefill_tensor_parallel",
		"max_num_batched_tokens", "perfect_packing_per_s", "capacity_per_s", "round", "why", "gpu", "layout", "prefill_gpu",
		"prefill_layout", "j_per_output_token", "usd_per_million_input_tokens", "usd_per_million_output_tokens",
		"idle_usd_per_hour"}}
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		return stats.Number(x).Cell()
	}
	for i := range s.Candidates {
		c := &s.Candidates[i]
		first, last := &c.Pools[0], &c.Pools[len(c.Pools)-1]
		rows = append(rows, []string{output.Cell(c.Name), c.Topology, c.Split, strconv.Itoa(c.GPUs), number(c.USDPerHour),
			number(c.PrefillShare()),
			strconv.Itoa(last.TensorParallel), strconv.Itoa(last.MaxNumSeqs), strconv.Itoa(first.TensorParallel),
			strconv.Itoa(first.MaxNumBatchedTokens),
			stats.Number(c.RooflineLimitPerS).Cell(), c.CapacityPerS.Cell(), strconv.Itoa(c.Round), c.Why,
			output.Cell(last.GPU), last.layout(), output.Cell(first.GPU), first.layout(),
			number(c.Spending.joules()), number(c.Spending.split().USDPerMillionInputTokens),
			number(c.Spending.split().USDPerMillionOutputTokens), number(c.Spending.idle())})
	}
	return out.WriteAll(rows)
}

// layout names how the GPUs of a replica share the model.
func (p *Pool) layout() string {
	return configs.Layout{Tensor: p.TensorParallel, Pipeline: p.PipelineParallel, Data: p.DataParallel,
		Expert: p.ExpertParallel}.String()
}
