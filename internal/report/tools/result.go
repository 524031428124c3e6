package tools

import (
	"encoding/json"
	"io"
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// Result is a simulated run to be written as a measured one.
type Result struct {
	Run      *views.Run
	Load     Load
	Model    string
	Scenario string
	Seed     uint64
	Version  string
}

// Load is how requests were sent.
type Load struct {
	Process  string  // of arrivals; empty: as recorded, or by clients that wait for their answers
	RatePerS float64 // 0: as fast as the clients are answered
	CV       float64 // of gamma gaps
	Clients  int     // that wait for their answers; 0: an open loop
	Seconds  float64 // after which the run ended, whatever was under way; 0: after its requests
}

// File is a file that a tool leaves.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Files returns what the named tool leaves of a run; nil: it has no schema of its own here.
func Files(tool string, r *Result) []File {
	switch tool {
	case "vllm":
		return []File{{"vllm_bench.json", document(func() any { return r.vllm() })}}
	case "aiperf":
		return []File{
			{"profile_export_aiperf.json", document(func() any { return r.aiperf() })},
			{"profile_export.jsonl", r.aiperfRecords},
		}
	case "guidellm":
		return []File{{"benchmarks.json", document(func() any { return r.guidellm() })}}
	case "inference-perf":
		return []File{
			{"config.yaml", r.perfConfig},
			{"stage_0_lifecycle_metrics.json", document(func() any { return r.perfStage() })},
			{"per_request_lifecycle_metrics.json", document(func() any { return r.perfRequests() })},
		}
	}
	return nil
}

// document writes a value as JSON, made when it is written.
func document(of func() any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(of())
	}
}

// origin says in every file what the numbers are.
type origin struct {
	Version      string `json:"version"`
	Scenario     string `json:"scenario"`
	Seed         uint64 `json:"seed"`
	Simulated    bool   `json:"simulated"`
	Arrivals     string `json:"arrivals"`
	SampledEvery int32  `json:"sampled_every"` // lists hold every so many-th request
	Sampled      int    `json:"sampled"`
}

func (r *Result) origin() origin {
	arrivals := r.Load.Process
	switch {
	case r.Load.Clients > 0:
		arrivals = "closed loop"
	case arrivals == "":
		arrivals = "trace"
	}
	return origin{r.Version, r.Scenario, r.Seed, true, arrivals, r.Run.Every, len(r.Run.Records)}
}

// view returns the run in the terms of a tool.
func (r *Result) view(tool string) *views.View {
	t, ok := views.Named(tool)
	if !ok {
		panic("tools: no view of " + tool)
	}
	return views.Of(t, r.Run)
}

// completed returns the sampled requests that got their whole answer.
func (r *Result) completed() []*views.Record {
	var all []*views.Record
	for i := range r.Run.Records {
		if one := &r.Run.Records[i]; one.Outcome == sim.Completed {
			all = append(all, one)
		}
	}
	return all
}

// lengths are the token counts of the completed requests of the sample.
func (r *Result) lengths() (prompts, outputs views.Distribution) {
	return views.Tokens(r.Run.Records)
}

// number is NaN as null.
type number float64

// MarshalJSON implements json.Marshaler.
func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// value returns the only value of a measure of one request in the unit of the tool; NaN: there is none.
func value(m *views.Measure, r *views.Record) number {
	values, _ := m.Values(r)
	if len(values) == 0 {
		return number(math.NaN())
	}
	return number(values[0] / m.Unit.Size)
}

// list returns all values of a measure of one request in the unit of the tool.
func list(m *views.Measure, r *views.Record) []float64 {
	values, _ := m.Values(r)
	all := make([]float64, len(values))
	for i, x := range values {
		all[i] = x / m.Unit.Size
	}
	return all
}
