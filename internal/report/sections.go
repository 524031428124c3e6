package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// BoundSentence says what the median gap between tokens is made of, or the mean step if gaps were not taken apart, and
// how near the mean step is to the least the data sheet allows. It is empty if no token followed another.
func BoundSentence(s *metrics.Summary) string {
	b := &s.Bound
	if s.Latency.ITL.N == 0 || b.StepS <= 0 {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		name  string
		share float64
	}{
		{"weights", b.Share.Weights}, {"KV", b.Share.KV}, {"compute", b.Share.Compute},
		{"communication", b.Share.Communication}, {"overhead", b.Share.Overhead},
	} {
		if part.share >= 0.005 {
			parts = append(parts, text.WholePercent(part.share)+" "+part.name)
		}
	}
	bound := "compute bound"
	if b.Limit == "memory" {
		bound = "bandwidth bound"
	}
	paused := ""
	if b.PausedS >= 0.005*b.StepS {
		paused = fmt.Sprintf(" Decodes wait %s more for a token, in the mean, while prompts run alone.",
			text.Duration(b.PausedS))
	}
	steps := fmt.Sprintf("p50 ITL %s; the mean step of %s is %s, and runs", text.Duration(s.Latency.ITL.P50),
		text.Duration(b.StepS), strings.Join(parts, ", "))
	if median := medianClause(s); median != "" {
		steps = fmt.Sprintf("%s; the mean step of %s runs", median, text.Duration(b.StepS))
	}
	return fmt.Sprintf("%s at %s of the %s (%s).%s", steps, text.WholePercent(b.FractionOfBound), bound,
		text.Duration(b.ITLFloorS), paused)
}

// OfPeakSentences say what the parts of each pool's usual decode step achieve of the data sheet's peak of what they
// wait for.
func OfPeakSentences(pools []metrics.OfPeak) (said []string) {
	for i := range pools {
		x := &pools[i]
		shares := map[string][]string{}
		for _, p := range x.Parts {
			share := text.WholePercent(p.OfPeak)
			if p.OfPeak < 0.095 {
				share = fmt.Sprintf("%.1f %%", 100*p.OfPeak)
			}
			part := share + " by " + strings.ReplaceAll(p.Part, ", ", " and ")
			if !slices.Contains(shares[p.Limit], part) { // layers of one kind in several caches are parts of one name
				shares[p.Limit] = append(shares[p.Limit], part)
			}
		}
		var limits []string
		for _, limit := range [][2]string{{"memory", "bandwidth"}, {"compute", "FLOP/s"},
			{"kernels", "FLOP/s, most of which kernels leave idle,"}} {
			if parts := shares[limit[0]]; len(parts) > 0 {
				limits = append(limits, limit[1]+" "+strings.Join(parts, ", "))
			}
		}
		of := "a step"
		if len(pools) > 1 {
			of = x.Pool
		}
		said = append(said, fmt.Sprintf("Of the peak, in %s of %s with %s: %s.", of, text.Counted(x.Batch, "sequence"),
			text.Counted(x.Context, "token"), strings.Join(limits, "; ")))
	}
	return said
}

// positions prints the inter-token latency by output position, for the requests that were followed token by token.
func positions(t *text.Page, s *metrics.Summary) {
	if len(s.ByPosition) == 0 {
		return
	}
	rows := [][]string{{"ITL by token", "mean", "p50", "p90", "p95", "p99", "", "n", "requests"}}
	for _, o := range s.ByPosition {
		u := text.TimeUnit(o.P50)
		rows = append(rows, []string{
			text.Range(o.From, o.To-1), text.Significant(o.Mean / u.Size), text.Significant(o.P50 / u.Size),
			text.Significant(o.P90 / u.Size), text.Significant(o.P95 / u.Size), text.Significant(o.P99 / u.Size), u.Name,
			text.Count(o.N), text.Count(o.Requests),
		})
	}
	t.Table(rows)
	t.Line(fmt.Sprintf("(a sample of %s of %s requests)", text.Count(s.ByPosition[0].Requests),
		text.Count(s.Requests.Arrived)))
	t.Blank()
}

// sections prints what is not a latency.
func sections(t *text.Page, s *metrics.Summary) {
	p := &s.Throughput
	t.Item("throughput", fmt.Sprintf("%s requests/s, %s output tokens/s, %s per GPU, over %s",
		text.Significant(p.RequestsPerS),
		text.Significant(p.OutputTokensPerS), text.Significant(p.OutputTokensPerSPerGPU), text.Duration(s.DurationS)))
	if s.Load.OfferedPerS > 0 {
		t.Item("load", fmt.Sprintf("%s requests/s offered, %s served while they arrived",
			text.Significant(s.Load.OfferedPerS),
			text.Significant(s.Load.ServedPerS)))
	}
	warmup(t, s)
	r, swaps := &s.Requests, ""
	for _, q := range s.Pools {
		if q.Swaps > 0 {
			swaps += fmt.Sprintf(", %s of them to host memory", text.Count(q.Swaps))
		}
	}
	refused, restarted := "", ""
	if r.NotAdmitted > 0 {
		refused = fmt.Sprintf(" (%s not admitted)", text.Count(r.NotAdmitted))
	}
	if r.Restarted > 0 {
		restarted = ", " + text.Counted(r.Restarted, "restart")
	}
	t.Item("requests", fmt.Sprintf("%s arrived: %s completed, %s rejected%s, %s failed, %s unfinished; %s%s%s",
		text.Count(r.Arrived), text.Count(r.Completed), text.Count(r.Rejected), refused, text.Count(r.Failed),
		text.Count(r.Unfinished), text.Counted(r.Preemptions, "preemption"), swaps, restarted))
	tasks(t, s)
	k := &s.Tokens
	t.Item("tokens", fmt.Sprintf("%s prompt (%s cached), %s output", text.Count(k.Prompt), text.Count(k.PromptCached),
		text.Count(k.Output)))
	for i := range s.Pools {
		q := &s.Pools[i]
		t.Item("pool "+q.Name, fmt.Sprintf("%d × %s in %d %s%s: busy %s of the time%s, peak KV %s%s", q.GPUs,
			q.GPU, q.Replicas, text.Plural("replica", q.Replicas), onAverage(q), text.Percent(q.Utilization), batch(q),
			text.Percent(q.KVPeakFraction),
			caches(q, k.PromptCached > 0)))
		if q.Ranks != nil {
			t.Item("ranks", ranks(s, q))
		}
		if q.KVTiers != nil {
			t.Item("KV tiers", tiers(s, q))
		}
		if q.Adapters != nil {
			t.Item("adapters", adapters(s, q))
		}
	}
	if x := s.Transfers; x != nil {
		t.Item(
			"KV transfers", fmt.Sprintf(
				"%s of %s tokens in the mean; they wait %s (p99 %s) for the next pool and take %s (p99 %s)", text.Count(x.N),
				text.Significant(float64(x.Tokens)/float64(x.N)), quantile(x.Wait, x.Wait.P50), quantile(x.Wait, x.Wait.P99),
				quantile(x.Time, x.Time.P50), quantile(x.Time, x.Time.P99)))
	}
	if s.SLO != nil {
		t.Item("SLO", objective(s))
	}
	if s.Headroom != nil {
		t.Item("headroom", HeadroomSentence(s.Headroom))
	}
	overTime(t, s.OverTime)
	money(t, s)
}

// onAverage says how many replicas a pool had in the mean, where they come and go.
func onAverage(q *metrics.PoolResult) string {
	if q.ReplicasMean == 0 {
		return ""
	}
	return fmt.Sprintf(" at the end, %s in the mean", text.Significant(q.ReplicasMean))
}

// ranks says how evenly the data-parallel ranks of replicas were busy.
func ranks(s *metrics.Summary, q *metrics.PoolResult) string {
	r, pool := q.Ranks, ""
	if len(s.Pools) > 1 {
		pool = q.Name + ": "
	}
	return pool + fmt.Sprintf("%d a replica, in lock step: the busiest computes %s times the mean of tokens in a step "+
		"and decodes %s sequences, %s of ranks have nothing to compute", r.N, text.Significant(r.BusiestTokens),
		text.Significant(r.BatchMax), text.Percent(r.EmptyShare))
}

// batch says how many sequences a step makes tokens for; empty: the pool only reads prompts.
func batch(q *metrics.PoolResult) string {
	if q.BatchMean == 0 {
		return ""
	}
	return ", mean batch " + text.Significant(q.BatchMean)
}

// caches says what else is worth knowing of a pool: what its cache knew, what its drafts came to, and which rows were
// idle.
func caches(q *metrics.PoolResult, cached bool) string {
	said := ""
	if q.PrefixHitRate != nil && cached {
		said = fmt.Sprintf(", prefix hits %s", text.Percent(*q.PrefixHitRate))
	}
	if q.HostHitRate > 0 && q.KVTiers == nil {
		said += fmt.Sprintf(" (%s from host memory)", text.Percent(q.HostHitRate))
	}
	if d := q.Speculation; d != nil {
		said += fmt.Sprintf(", %s tokens a step and sequence, %s of the drafts accepted", text.Significant(d.AcceptLength),
			text.Percent(float64(d.Accepted)/float64(d.Drafted)))
	}
	if q.FinishedRows > 0 {
		said += fmt.Sprintf(", %s of the rows had ended", text.Percent(q.FinishedRows))
	}
	return said
}

// adapters says how often LoRA adapters had to come to their slots, and what waiting for these cost.
func adapters(s *metrics.Summary, q *metrics.PoolResult) string {
	a, pool := q.Adapters, ""
	if len(s.Pools) > 1 {
		pool = q.Name + ": "
	}
	stored := ""
	if a.Reads > 0 {
		stored = fmt.Sprintf(", %s of them from storage", text.Count(a.Reads))
	}
	return pool + fmt.Sprintf("%d for %s, %s a replica: %s found theirs in one, and %s%s, for which steps waited %s of "+
		"their time; %s waited for a slot, %s in the mean of all", a.N, text.Counted(a.Requests, "request"),
		text.Counted(int64(a.Slots), "slot"), text.Percent(a.HitRate), text.Count(a.Copies)+" came to one", stored,
		text.Percent(a.CopyShare), text.Percent(a.WaitedShare), text.Duration(a.WaitMeanS))
}

// tiers says where cached prompt tokens were.
func tiers(s *metrics.Summary, q *metrics.PoolResult) string {
	var of []string
	for _, tier := range q.KVTiers {
		of = append(of, fmt.Sprintf("%s %s", text.Percent(tier.HitRate), TierName(tier.Tier)))
	}
	said := "of the prompt tokens " + strings.Join(of, ", ")
	if q.RecomputedShare > 0 {
		said += fmt.Sprintf("; %s were in a tier and computed sooner than fetched", text.Percent(q.RecomputedShare))
	}
	for _, tier := range q.KVTiers {
		if tier.WrittenTokens > 0 {
			said += fmt.Sprintf("; %s tokens written to %s", text.Count(tier.WrittenTokens), TierName(tier.Tier))
		}
	}
	if len(s.Pools) > 1 {
		return q.Name + ": " + said
	}
	return said
}

// TierName returns what readers call a tier of the KV cache.
func TierName(tier string) string {
	switch tier {
	case "gpu":
		return "GPU memory"
	case "host":
		return "host memory"
	case "nvme":
		return "NVMe"
	}
	return tier + " store"
}

func objective(s *metrics.Summary) string {
	o := s.SLO
	if !s.Measured() {
		return Limits(o) + ": no request is measured"
	}
	return fmt.Sprintf("%s: met by %s of the requests%s, goodput %s requests/s", Limits(o), text.Percent(o.Attainment),
		attainment(s.Steady), text.Significant(o.GoodputPerS))
}

// Limits says what a request must keep to count.
func Limits(o *metrics.SLO) string {
	var all []string
	for _, l := range []struct {
		name    string
		seconds float64
	}{{"TTFT", o.TTFTS}, {"TPOT", o.TPOTS}, {"E2E", o.E2ES}, {"queue", o.QueueS}, {"TTFO", o.TTFOS}} {
		if l.seconds > 0 {
			all = append(all, l.name+" ≤ "+text.Limit(l.seconds))
		}
	}
	return strings.Join(all, " and ")
}
