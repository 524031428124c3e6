package results

import (
	"io"
	"math"

	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"

	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
)

// SchemaViews names the format of views.json. Fields are added, never renamed.
const SchemaViews = "decodesim/views/v1"

// ViewsX is a run in the terms of tools, in SI units whatever the tool prints.
type ViewsX struct {
	Schema     string      `json:"schema"`
	Scenario   string      `json:"scenario"`
	Seed       uint64      `json:"seed"`
	Version    string      `json:"version"`
	Sample     SampleX     `json:"sample"`
	Views      []viewX     `json:"views"`
	Smoothness smoothnessX `json:"smoothness"`
	Warnings   []string    `json:"warnings"`
}

// SampleX says which requests were followed token by token.
type SampleX struct {
	Every    int32 `json:"every"` // the requests whose identity is a multiple of it
	Requests int   `json:"requests"`
	Of       int64 `json:"of"`
}

type viewX struct {
	Tool    string    `json:"tool"`
	Source  string    `json:"source"` // of the definitions
	Metrics []metricX `json:"metrics"`
	Rates   []rateX   `json:"rates"`
	Goodput *goodputX `json:"goodput,omitempty"`
}

type metricX struct {
	Name    string `json:"name"`
	Formula string `json:"formula"`
	Sampled bool   `json:"sampled"`
	distributionX
}

// distributionX is percentiles by the rule of the tool; without values all but n are null.
type distributionX struct {
	N    int64    `json:"n"`
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
	Max  *float64 `json:"max"`
}

type rateX struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

type goodputX struct {
	Name    string   `json:"name"`
	Formula string   `json:"formula"`
	PerS    float64  `json:"requests_per_s"`
	Share   *float64 `json:"share"` // null: the tool gives none
	Sampled bool     `json:"sampled"`
}

type smoothnessX struct {
	Requests            int64         `json:"requests"`
	ITL                 distributionX `json:"itl_s"`
	ITLChunk            distributionX `json:"itl_chunk_s"`
	StallS              float64       `json:"stall_s"`
	StallsPer1000Tokens float64       `json:"stalls_per_1000_tokens"`
	StalledShare        float64       `json:"stalled_share"`
	ReaderTokensPerS    float64       `json:"reader_tokens_per_s"`
	Read                distributionX `json:"time_to_read_s"`
	Wait                distributionX `json:"reader_waits_s"`
	WaitingShare        float64       `json:"waiting_share"`
	ITLP99S             float64       `json:"slo_itl_p99_s,omitempty"`
	ITLP99Share         *float64      `json:"slo_itl_p99_share,omitempty"`
}

// WriteJSON writes views.json.
func WriteJSON(w io.Writer, s *metrics.Summary, viewed *report.Viewed) error {
	run := viewed.Run
	x := ViewsX{
		Schema: SchemaViews, Scenario: s.Scenario, Seed: s.Seed, Version: s.Version, Warnings: s.Warnings,
		Sample:     SampleX{run.Every, len(run.Records), run.Counts.Completed + run.Counts.Failed},
		Smoothness: smoothnessOf(&viewed.Smoothness, viewed.Pace),
	}
	for _, v := range viewed.Views {
		x.Views = append(x.Views, viewOf(v))
	}
	return text.WriteJSON(w, x)
}

func viewOf(v *views.View) viewX {
	x := viewX{Tool: v.Tool.Name, Source: v.Tool.Source}
	for i := range v.Rows {
		row := &v.Rows[i]
		x.Metrics = append(x.Metrics,
			metricX{row.Key, row.Formula, row.Sampled, distribution(&row.Distribution, row.Count, row.Percentile, row.Max())})
	}
	for i, rate := range v.Tool.Rates {
		x.Rates = append(x.Rates, rateX{rate.Key, v.Rates[i]})
	}
	if g := v.Goodput; g != nil {
		x.Goodput = &goodputX{Name: v.Tool.Good.Key, Formula: v.Tool.Good.Formula, PerS: g.PerS, Sampled: g.Sampled}
		if g.Judged > 0 {
			x.Goodput.Share = &g.Share
		}
	}
	return x
}

func smoothnessOf(s *views.Smoothness, p views.Pace) smoothnessX {
	plain := func(d *views.Distribution) distributionX { return distribution(d, d.Weight(), d.Quantile, d.Max()) }
	x := smoothnessX{
		Requests: s.Requests, ITL: plain(&s.Token), ITLChunk: plain(&s.Chunk), StallS: p.StallS,
		StallsPer1000Tokens: s.StallsPer1000Tokens,
		StalledShare:        s.StalledShare, ReaderTokensPerS: p.ReaderTokensPerS, Read: plain(&s.Read), Wait: plain(&s.Wait),
		WaitingShare: s.WaitingShare,
		ITLP99S:      p.ITLP99S,
	}
	if p.ITLP99S > 0 {
		x.ITLP99Share = &s.ITLP99Share
	}
	return x
}

func distribution(d *views.Distribution, n int64, quantile func(float64) float64, most float64) distributionX {
	number := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	return distributionX{
		n, number(d.Mean()), number(quantile(.5)), number(quantile(.9)), number(quantile(.95)), number(quantile(.99)),
		number(most),
	}
}
