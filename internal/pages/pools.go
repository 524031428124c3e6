package pages

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// deployment is the section of the replicas and what became of the requests.
func (r *Run) deployment() page.Section {
	s := r.Summary
	section := page.Section{Title: "The deployment", Blocks: []page.Block{{Table: pools(s.Pools)}, {Table: requests(s)}}}
	if t := adapters(s.Pools); len(t.Rows) > 0 {
		section.Blocks = append(section.Blocks, page.Block{Table: t})
	}
	for i := range s.Pools {
		if p := &s.Pools[i]; p.KVTiers != nil {
			section.Blocks = append(section.Blocks, page.Block{Bars: tierBars(p, i)})
		}
	}
	if s.Headroom != nil {
		section.Lead = "It " + report.HeadroomSentence(s.Headroom) + "."
	}
	return section
}

// tierBars shows where the prompt tokens of a pool came from.
func tierBars(p *metrics.PoolResult, pool int) *page.Bars {
	b := &page.Bars{Title: "Where the prompt tokens of pool " + p.Name + " were",
		Note: "Shares of the prompt tokens of admitted requests. What NVMe and the cluster store had was fetched to host " +
			"memory before the request joined the queue."}
	from := 0.
	for i, tier := range p.KVTiers {
		b.Parts = append(b.Parts, report.TierName(tier.Tier))
		b.Rows = append(b.Rows, page.Bar{Label: report.TierName(tier.Tier),
			Segments: []page.Segment{{From: from, To: from + tier.HitRate, Part: i,
				Words: report.TierName(tier.Tier) + " " + text.Percent(tier.HitRate)}},
			Value: field(text.Percent(tier.HitRate), fmt.Sprintf("pools[%d].kv_tiers[%d].hit_rate", pool, i), tier.HitRate)})
		from += tier.HitRate
	}
	b.Parts = append(b.Parts, "computed")
	b.Rows = append(b.Rows, page.Bar{Label: "computed",
		Segments: []page.Segment{{From: from, To: 1, Part: len(b.Parts) - 1, Words: "computed " + text.Percent(1-from)}},
		Value:    page.Words(text.Percent(1 - from))})
	return b
}

// busyKey is what the JSON, whose fields keep their names, has for the busy share of a pool.
var busyKey = strings.Trim("`utilization`", "`")

// pools is a row for each pool.
func pools(all []metrics.PoolResult) *page.Table {
	t := &page.Table{Head: []string{"pool", "GPUs", "replicas", "busy", "mean batch", "peak KV"}}
	for i := range all {
		p, at := &all[i], fmt.Sprintf("pools[%d].", i)
		batch := text.Dash // a prefill pool decodes nothing
		if p.BatchMean > 0 {
			batch = text.Significant(p.BatchMean)
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			page.Words(p.Name + " on " + p.GPU),
			page.Number(text.Count(p.GPUs), at+"gpus", float64(p.GPUs)),
			page.Number(text.Count(p.Replicas), at+"replicas", float64(p.Replicas)),
			field(text.Percent(p.Utilization), at+busyKey, p.Utilization),
			field(batch, at+"batch_mean", p.BatchMean),
			field(text.Percent(p.KVPeakFraction), at+"kv_peak_fraction", p.KVPeakFraction),
		}})
	}
	return t
}

// adapters is a row for each pool whose requests have LoRA adapters.
func adapters(all []metrics.PoolResult) *page.Table {
	t := &page.Table{Head: []string{"LoRA adapters", "adapters", "slots a replica", "requests", "found theirs in a slot",
		"copies", "of the time of steps", "waited for a slot", "in the mean of all"}}
	for i := range all {
		a, at := all[i].Adapters, fmt.Sprintf("pools[%d].adapters.", i)
		if a == nil {
			continue
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			page.Words(all[i].Name),
			page.Number(text.Count(int64(a.N)), at+"n", float64(a.N)),
			page.Number(text.Count(int64(a.Slots)), at+"slots", float64(a.Slots)),
			page.Number(text.Count(a.Requests), at+"requests", float64(a.Requests)),
			field(text.Percent(a.HitRate), at+"hit_rate", a.HitRate),
			page.Number(text.Count(a.Copies), at+"copies", float64(a.Copies)),
			field(text.Percent(a.CopyShare), at+"copy_share", a.CopyShare),
			field(text.Percent(a.WaitedShare), at+"waited_share", a.WaitedShare),
			seconds(at+"wait_mean_s", a.WaitMeanS),
		}})
	}
	return t
}

// requests is how the requests ended.
func requests(s *metrics.Summary) *page.Table {
	t := &page.Table{Head: []string{"requests", "arrived", "completed", "rejected", "failed", "unfinished", "preemptions"}}
	row := page.Row{Cells: []page.Cell{page.Words("all")}}
	n := &s.Requests
	for _, of := range []struct {
		key string
		n   int64
	}{{"arrived", n.Arrived}, {"completed", n.Completed}, {"rejected", n.Rejected}, {"failed", n.Failed},
		{"unfinished", n.Unfinished}, {"preemptions", n.Preemptions}} {
		row.Cells = append(row.Cells, page.Number(text.Count(of.n), "requests."+of.key, float64(of.n)))
	}
	t.Rows = []page.Row{row}
	return t
}

// classes is a row for each service class.
func classes(all []metrics.ClassResult) *page.Table {
	t := &page.Table{Head: []string{"class", "requests", "TTFT p50", "p99", "ITL p50", "p99", "TPOT p50", "p99",
		"SLO met"}}
	for i := range all {
		c, at := &all[i], fmt.Sprintf("classes[%d].", i)
		row := page.Row{Cells: []page.Cell{page.Words(c.Name),
			page.Number(text.Count(c.Requests.Arrived), at+"requests.arrived", float64(c.Requests.Arrived))}}
		for _, q := range []struct {
			key string
			*metrics.Quantiles
		}{{"ttft_s", &c.Latency.TTFT}, {"itl_s", &c.Latency.ITL}, {"tpot_s", &c.Latency.TPOT}} {
			row.Cells = append(row.Cells, seconds(at+"latency."+q.key+".p50", q.P50), seconds(at+"latency."+q.key+".p99", q.P99))
		}
		if o := c.SLO; o != nil && c.Measured() {
			row.Cells = append(row.Cells, page.Number(text.Percent(o.Attainment), at+"slo.attainment", o.Attainment))
		} else {
			row.Cells = append(row.Cells, page.Words("–"))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
