package report

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/sim/metrics"
)

// BoundSentence says what the median gap between tokens is made of, or the mean step if gaps were not taken apart, and how
// near the mean step is to the least the data sheet allows. It is empty if no token followed another.
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
			parts = append(parts, wholePercent(part.share)+" "+part.name)
		}
	}
	bound := "compute bound"
	if b.Limit == "memory" {
		bound = "bandwidth bound"
	}
	held := ""
	if b.HeldS >= 0.005*b.StepS {
		held = fmt.Sprintf(" Decodes wait %s more for a token, in the mean, while prompts run alone.", Duration(b.HeldS))
	}
	steps := fmt.Sprintf("p50 ITL %s; the mean step of %s is %s, and runs", Duration(s.Latency.ITL.P50), Duration(b.StepS), strings.Join(parts, ", "))
	if median := medianClause(s); median != "" {
		steps = fmt.Sprintf("%s; the mean step of %s runs", median, Duration(b.StepS))
	}
	return fmt.Sprintf("%s at %s of the %s (%s).%s", steps, wholePercent(b.FractionOfBound), bound, Duration(b.ITLFloorS), held)
}

// positions prints the inter-token latency by output position, for the requests that were followed token by token.
func positions(t *text, s *metrics.Summary) {
	if len(s.ByPosition) == 0 {
		return
	}
	rows := [][]string{{"ITL by token", "mean", "p50", "p99", "", "n", "requests"}}
	for _, o := range s.ByPosition {
		u := timeUnit(o.P50)
		rows = append(rows, []string{
			span(o.From, o.To-1), Significant(o.Mean / u.size), Significant(o.P50 / u.size),
			Significant(o.P99 / u.size), u.name, fmt.Sprint(o.N), fmt.Sprint(o.Requests),
		})
	}
	t.columns(rows)
	t.line(fmt.Sprintf("(a sample of %d of %d requests)", s.ByPosition[0].Requests, s.Requests.Arrived))
	t.blank()
}

// sections prints what is not a latency.
func sections(t *text, s *metrics.Summary) {
	p := &s.Throughput
	t.item("throughput", fmt.Sprintf("%s requests/s, %s output tokens/s, %s per GPU, over %s", Significant(p.RequestsPerS),
		Significant(p.OutputTokensPerS), Significant(p.OutputTokensPerSPerGPU), Duration(s.DurationS)))
	if s.Load.OfferedPerS > 0 {
		t.item("load", fmt.Sprintf("%s requests/s offered, %s served while they arrived", Significant(s.Load.OfferedPerS),
			Significant(s.Load.ServedPerS)))
	}
	r, swaps := &s.Requests, ""
	for _, q := range s.Pools {
		if q.Swaps > 0 {
			swaps += fmt.Sprintf(", %d of them to host memory", q.Swaps)
		}
	}
	refused, restarted := "", ""
	if r.Refused > 0 {
		refused = fmt.Sprintf(" (%d not admitted)", r.Refused)
	}
	if r.Restarted > 0 {
		restarted = fmt.Sprintf(", %d restarts", r.Restarted)
	}
	t.item("requests", fmt.Sprintf("%d arrived: %d completed, %d rejected%s, %d failed, %d unfinished; %d preemptions%s%s",
		r.Arrived, r.Completed, r.Rejected, refused, r.Failed, r.Unfinished, r.Preemptions, swaps, restarted))
	k := &s.Tokens
	t.item("tokens", fmt.Sprintf("%d prompt (%d cached), %d output", k.Prompt, k.PromptCached, k.Output))
	for i := range s.Pools {
		q := &s.Pools[i]
		t.item("pool "+q.Name, fmt.Sprintf("%d × %s in %d %s%s: utilization %s%s, peak KV %s%s", q.GPUs, q.GPU, q.Replicas,
			plural("replica", q.Replicas), onAverage(q), percent(q.Utilization), batch(q), percent(q.KVPeakFraction),
			caches(q, k.PromptCached > 0)))
	}
	if x := s.Transfers; x != nil {
		t.item("hand-overs", fmt.Sprintf("%d of %s tokens in the mean; they wait %s (p99 %s) for the next pool and take %s (p99 %s)", x.N,
			Significant(float64(x.Tokens)/float64(x.N)), quantile(x.Wait, x.Wait.P50), quantile(x.Wait, x.Wait.P99),
			quantile(x.Time, x.Time.P50), quantile(x.Time, x.Time.P99)))
	}
	if s.SLO != nil {
		t.item("SLO", objective(s.SLO))
	}
	if s.Cost != nil {
		t.item("cost", fmt.Sprintf("$%s per hour, $%s per million output tokens", Significant(s.Cost.USDPerHour),
			Significant(s.Cost.USDPerMillionOutputTokens)))
	}
}

// onAverage says how many replicas a pool had in the mean, where they come and go.
func onAverage(q *metrics.PoolResult) string {
	if q.ReplicasMean == 0 {
		return ""
	}
	return fmt.Sprintf(" at the end, %s in the mean", Significant(q.ReplicasMean))
}

// batch says how many sequences a step makes tokens for; empty: the pool only reads prompts.
func batch(q *metrics.PoolResult) string {
	if q.BatchMean == 0 {
		return ""
	}
	return ", mean batch " + Significant(q.BatchMean)
}

// caches says what else is worth knowing of a pool: what its cache knew, what its drafts came to, and which rows were idle.
func caches(q *metrics.PoolResult, cached bool) string {
	text := ""
	if q.PrefixHitRate != nil && cached {
		text = fmt.Sprintf(", prefix hits %s", percent(*q.PrefixHitRate))
	}
	if q.HostHitRate > 0 {
		text += fmt.Sprintf(" (%s from host memory)", percent(q.HostHitRate))
	}
	if d := q.Speculation; d != nil {
		text += fmt.Sprintf(", %s tokens a step and sequence, %s of the drafts accepted", Significant(d.AcceptLength),
			percent(float64(d.Accepted)/float64(d.Drafted)))
	}
	if q.IdleRows > 0 {
		text += fmt.Sprintf(", %s of the rows had ended", percent(q.IdleRows))
	}
	return text
}

func objective(o *metrics.SLO) string {
	return fmt.Sprintf("%s: met by %s of the requests, goodput %s requests/s", limits(o), percent(o.Attainment),
		Significant(o.GoodputPerS))
}

// limits says what a request must keep to count.
func limits(o *metrics.SLO) string {
	var all []string
	for _, l := range []struct {
		name    string
		seconds float64
	}{{"TTFT", o.TTFTS}, {"TPOT", o.TPOTS}, {"E2E", o.E2ES}} {
		if l.seconds > 0 {
			all = append(all, l.name+" ≤ "+limit(l.seconds))
		}
	}
	return strings.Join(all, " and ")
}

// span prints the numbers from first to last.
func span(first, last int32) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d–%d", first, last)
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
