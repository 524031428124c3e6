package traffic

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
)

// Summary describes a stream of requests. Numbers that a stream does not have, such as the rate of one without
// arrivals, are null.
type Summary struct {
	Schema   string `json:"schema"`
	Source   string `json:"source"`
	Format   string `json:"format,omitempty"`
	Requests int64  `json:"requests"`
	Skipped  int64  `json:"skipped"` // rows of failed or empty requests

	Unread []string `json:"unread,omitempty"` // columns of the file that nothing is read from

	DurationS stats.Number `json:"duration_s"` // from the first arrival to the last
	RatePerS  stats.Number `json:"rate_per_s"`
	PeakPerS  stats.Number `json:"peak_rate_per_s"` // of the busiest minute
	PeakIn1S  stats.Number `json:"peak_in_1_s"`     // requests of the busiest second
	Crowd     Crowd        `json:"crowd_in_1_s"`
	GapCV     stats.Number `json:"gap_cv"` // standard deviation / mean of the gaps; 1: Poisson

	Dispersion []Dispersion `json:"dispersion"`           // variance / mean of the requests in windows; 1: Poisson
	Tenths     stats.Number `json:"dispersion_in_tenths"` // of a second, alike
	OverTime   []Window     `json:"over_time"`            // equal parts of the stream
	Hours      []Hour       `json:"hours"`                // of the day, UTC; null: the trace has no dates

	Prompt      Lengths      `json:"prompt_tokens"`
	Output      Lengths      `json:"output_tokens"`
	Correlation stats.Number `json:"log_correlation"` // of the logarithms of prompt and output

	// SharedShare is the share of prompt tokens that an earlier prompt began with: the hits of a cache without an end.
	SharedShare stats.Number `json:"shared_prompt_share"`

	record *Record
}

// Dispersion is the index of dispersion of counts in windows of one length.
type Dispersion struct {
	WindowS int          `json:"window_s"`
	Index   stats.Number `json:"index"`
}

// Window is the rate in a part of the stream.
type Window struct {
	StartS   float64 `json:"start_s"`
	RatePerS float64 `json:"rate_per_s"`
}

// Hour is the requests in an hour of the day.
type Hour struct {
	Hour     int   `json:"hour"`
	Requests int64 `json:"requests"`
}

// SummarySchema names the fields of a Summary.
const SummarySchema = "decodesim/workload/v1"

// windowsS are the lengths of the windows whose counts are looked at.
func windowsS() []int { return []int{1, 10, 60} }

// parts is into how many equal parts a stream is cut to show how its rate changes.
const parts = 24

// Summary returns what was recorded, which has at least one request.
func (r *Record) Summary(source string) *Summary {
	unknown := stats.Number(math.NaN())
	s := &Summary{Schema: SummarySchema, Source: source, Requests: r.prompts.n, DurationS: unknown, RatePerS: unknown,
		PeakPerS: unknown, PeakIn1S: unknown, Crowd: Crowd{unknown, unknown}, GapCV: unknown, Tenths: unknown,
		SharedShare: unknown, Prompt: r.prompts.lengths(), Output: r.outputs.lengths(),
		Correlation: stats.Number(r.logs.correlation()), record: r}
	if r.tree != nil {
		s.SharedShare = stats.Number(float64(r.reused) / float64(r.prompts.sum))
	}
	if r.timed {
		r.time(s)
	}
	return s
}

// time adds what arrivals say.
func (r *Record) time(s *Summary) {
	span := r.spanS()
	s.DurationS, s.GapCV = stats.Number(span), stats.Number(r.gaps.cv())
	if span > 0 {
		s.RatePerS = stats.Number(float64(r.prompts.n-1) / span)
	}
	if minutes := r.windows(60); len(minutes) > 0 {
		peak := 0.0
		for _, c := range minutes {
			peak = max(peak, c/60)
		}
		s.PeakPerS = stats.Number(peak)
	}
	s.PeakIn1S, s.Crowd = stats.Number(slices.Max(r.perSecond)), r.crowd()
	for _, w := range windowsS() {
		s.Dispersion = append(s.Dispersion, Dispersion{w, stats.Number(r.dispersion(w))})
	}
	s.Tenths = stats.Number(r.dispersionOfTenths())
	s.OverTime = r.overTime()
}

// overTime cuts the stream into equal parts of whole seconds.
func (r *Record) overTime() []Window {
	each := max(1, (len(r.perSecond)+parts-1)/parts)
	var all []Window
	for from := 0; from < len(r.perSecond); from += each {
		sum, end := 0.0, min(from+each, len(r.perSecond))
		for _, c := range r.perSecond[from:end] {
			sum += float64(c)
		}
		all = append(all, Window{StartS: float64(from), RatePerS: sum / float64(end-from)})
	}
	return all
}

// setHours counts by the hour of the day; the stream began at so many seconds since 1970.
func (s *Summary) setHours(began int64) {
	for h := range 24 {
		s.Hours = append(s.Hours, Hour{Hour: h})
	}
	for second, c := range s.record.perSecond {
		s.Hours[(began+int64(second))/3600%24].Requests += int64(c)
	}
}
