package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TailSentence says why the tail of a scenario looks so, from what its run measured and how that stands among the
// others: how far its p99 is from its median and what the gaps beyond are made of, what its requests wait for, what it
// preempts.
func TailSentence(c *Comparison, i int) string {
	s := c.Scenarios[i].Summary
	clauses := tailClauses(c, i)
	if q := &s.Latency.TTFT; q.N > 0 {
		of := func(s *metrics.Summary) float64 { return s.Latency.TTFT.P50 }
		clauses = append(clauses, "TTFT p50 "+text.Duration(q.P50)+superlative(c, i, of)+queueing(s))
	}
	clauses = append(clauses, costs(s)...)
	if n := s.Requests.Rejected; n > 0 {
		clauses = append(clauses, fmt.Sprintf("%s of %s requests rejected", text.Count(n), text.Count(s.Requests.Arrived)))
	}
	if len(clauses) == 0 {
		return ""
	}
	return strings.Join(clauses, "; ") + "."
}

// costs are what an engine pays for how it schedules: work done twice, and rows that had ended.
func costs(s *metrics.Summary) []string {
	var paid []string
	if n := s.Requests.Preemptions; n > 0 {
		clause := fmt.Sprintf("%s of %s requests", text.Counted(n, "preemption"), text.Count(s.Requests.Arrived))
		swaps := int64(0)
		for i := range s.Pools {
			swaps += s.Pools[i].Swaps
		}
		if swaps > 0 {
			clause += fmt.Sprintf(", %s of them to host memory", text.Count(swaps))
		}
		paid = append(paid, clause)
	}
	for i := range s.Pools {
		if idle := s.Pools[i].FinishedRows; idle >= 0.005 {
			paid = append(paid, fmt.Sprintf("%s of the rows of its decode steps had ended already", text.WholePercent(idle)))
		}
	}
	return paid
}

// tailClauses are about the gaps between tokens.
func tailClauses(c *Comparison, i int) []string {
	if c.Scenarios[i].Summary.Interval > 1 {
		return chunkClauses(c, i)
	}
	l := &c.Scenarios[i].Summary.Latency.ITL
	if l.N == 0 {
		return nil
	}
	clause := "p99 ITL " + text.Duration(l.P99)
	if l.P50 > 0 {
		clause += fmt.Sprintf(" is %s the median of %s", text.Times(l.P99/l.P50), text.Duration(l.P50))
	}
	clause += superlative(c, i, func(s *metrics.Summary) float64 { return s.Latency.ITL.P99 })
	if parts := tailParts(c.Scenarios[i].Summary.Tail); parts != "" {
		clause += ": " + parts
	}
	return []string{clause}
}

// chunkClauses are about the gaps between chunks of a scenario that collects tokens before it sends them: they take
// several steps, whatever those consist of.
func chunkClauses(c *Comparison, i int) []string {
	l := &c.Scenarios[i].Summary.Latency.ITLChunk
	if l.N == 0 {
		return nil
	}
	return []string{fmt.Sprintf("p99 ITL %s and p50 %s between chunks of %d tokens%s", text.Duration(l.P99),
		text.Duration(l.P50), c.Scenarios[i].Summary.Interval,
		superlative(c, i, func(s *metrics.Summary) float64 { return s.Latency.ITLChunk.P99 }))}
}

// tailParts lists what the gaps at or above p99 were, the largest share first and none that rounds to nothing.
func tailParts(t *metrics.Tail) string {
	if t == nil {
		return ""
	}
	type part struct {
		share float64
		are   string
	}
	parts := []part{
		{t.Share.Paused, "decodes held while prompts ran alone"},
		{t.Share.Mixed, "steps shared with prompts"},
		{t.Share.Preempted, "interrupted by a preemption"},
		{t.Share.Decode, "plain decode steps"},
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	if most := parts[0]; most.share >= 0.995 {
		return "all gaps that long or longer are " + most.are
	}
	var listed []string
	for _, p := range parts {
		if p.share >= 0.005 {
			listed = append(listed, text.WholePercent(p.share)+" are "+p.are)
		}
	}
	return "of the gaps that long or longer " + strings.Join(listed, ", ")
}

// queueing says which part of the wait for the first token is a wait for the first step.
func queueing(s *metrics.Summary) string {
	wait, ttft := s.Latency.Queue.Mean, s.Latency.TTFT.Mean
	if !(wait > 0) || !(ttft > 0) {
		return ""
	}
	return fmt.Sprintf("; %s of the mean TTFT is queueing (%s)", text.WholePercent(wait/ttft), text.Duration(wait))
}

// superlative says whether a scenario has the most or the least of all; nothing among two equals.
func superlative(c *Comparison, i int, of func(*metrics.Summary) float64) string {
	mine := of(c.Scenarios[i].Summary)
	least, most := true, true
	for j := range c.Scenarios {
		if x := of(c.Scenarios[j].Summary); j != i && !math.IsNaN(x) {
			least, most = least && mine < x, most && mine > x
		}
	}
	switch {
	case least && most: // nobody else has one
		return ""
	case least && len(c.Scenarios) == 2:
		return ", the shorter"
	case most && len(c.Scenarios) == 2:
		return ", the longer"
	case least:
		return ", the shortest of all"
	case most:
		return ", the longest of all"
	}
	return ""
}
