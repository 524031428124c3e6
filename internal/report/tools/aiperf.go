package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// percentile is one that a tool exports, by its name there.
type percentile struct {
	name string
	p    float64
}

// aiperf is profile_export_aiperf.json: a mapping with a unit for each metric. A metric without values is absent.
func (r *Result) aiperf() any {
	c, v := &r.Run.Counts, r.view("aiperf")
	profile := map[string]any{
		"schema_version": "1.0", "input_config": r.aiperfSettings(), "was_cancelled": false, "error_summary": []any{},
		"start_time": stamp(0), "end_time": stamp(r.Run.DurationS), "decodesim": r.origin(),
		"benchmark_duration":  single("sec", r.Run.DurationS),
		"request_count":       single("requests", float64(c.Completed)),
		"error_request_count": single("requests", float64(c.Failed)),
		"total_osl":           single("tokens", float64(c.Output)), "total_isl": single("tokens", float64(c.Prompt)),
		"request_throughput": single("requests/sec", v.Rates[0]), "output_token_throughput": single("tokens/sec", v.Rates[1]),
	}
	for i := range v.Rows {
		row := &v.Rows[i]
		if row.Count > 0 {
			unit := row.Unit.Name
			if unit != "ms" {
				unit = "tokens/sec/user"
			}
			profile[row.Key] = aiperfMetric(unit, row.Unit.Size, &row.Distribution)
		}
	}
	prompts, outputs := r.lengths()
	if prompts.Count > 0 {
		profile["input_sequence_length"] = aiperfMetric("tokens", 1, &prompts)
		profile["output_sequence_length"] = aiperfMetric("tokens", 1, &outputs)
	}
	if v.Goodput != nil {
		profile["goodput"] = single("requests/sec", v.Goodput.PerS)
		profile["good_request_count"] = single("requests", math.Round(v.Goodput.PerS*r.Run.DurationS))
	}
	return profile
}

func single(unit string, x float64) any { return map[string]any{"unit": unit, "avg": x} }

func aiperfMetric(unit string, size float64, d *views.Distribution) any {
	m := map[string]any{
		"unit": unit, "avg": d.Mean() / size, "std": d.Std() / size, "min": d.Min() / size, "max": d.Max() / size,
		"count": d.Count,
	}
	for _, q := range []percentile{{"p1", .01}, {"p5", .05}, {"p10", .1}, {"p25", .25}, {"p50", .5}, {"p75", .75},
		{"p90", .9}, {"p95", .95}, {"p99", .99}} {
		m[q.name] = d.Quantile(q.p) / size
	}
	return m
}

// aiperfSettings say how requests were sent. Arrivals that the tool does not have are a schedule.
func (r *Result) aiperfSettings() any {
	loadgen := map[string]any{"request_count": r.Run.Counts.Completed + r.Run.Counts.Failed}
	input := map[string]any{}
	if r.Load.Clients > 0 {
		loadgen["concurrency"] = r.Load.Clients
	} else {
		loadgen["request_rate"] = r.Load.RatePerS
		switch r.Load.Process {
		case "gamma":
			loadgen["arrival_smoothness"] = 1 / (r.Load.CV * r.Load.CV)
			fallthrough
		case "poisson", "constant":
			loadgen["arrival_pattern"] = r.Load.Process
		default:
			input["fixed_schedule"] = true
		}
	}
	if r.Load.Seconds > 0 {
		loadgen["benchmark_duration"] = r.Load.Seconds
	}
	return map[string]any{
		"endpoint": map[string]any{"model_names": []string{r.Model}, "type": "chat", "streaming": true},
		"loadgen":  loadgen, "input": input,
	}
}

// stamp is an instant of a run that began with the epoch.
func stamp(s float64) string {
	whole := int64(s)
	return fmt.Sprintf("1970-01-%02dT%02d:%02d:%02d.%06d", 1+whole/86400, whole/3600%24, whole/60%60, whole%60,
		int64((s-float64(whole))*1e6))
}

// aiperfRecords is profile_export.jsonl, a line for each request of the sample.
func (r *Result) aiperfRecords(w io.Writer) error {
	v, e := r.view("aiperf"), json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range r.Run.Records {
		one := &r.Run.Records[i]
		metadata := map[string]any{
			"session_num": one.ID, "x_request_id": fmt.Sprint(one.ID), "benchmark_phase": "profiling", "worker_id": "decodesim",
			"record_processor_id": "decodesim", "request_start_ns": int64(one.Send) / 1000,
		}
		if n := len(one.Chunks); n > 0 {
			metadata["request_ack_ns"], metadata["request_end_ns"] = int64(one.Chunks[0].At)/1000, int64(one.Chunks[n-1].At)/1000
		}
		line := map[string]any{"metadata": metadata, "metrics": map[string]any{}, "error": nil}
		if one.Outcome == sim.Completed {
			line["metrics"] = aiperfValues(v, one)
		} else {
			line["error"] = map[string]any{"type": one.Outcome.String(), "message": one.Outcome.String()}
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func aiperfValues(v *views.View, one *views.Record) map[string]any {
	values := map[string]any{
		"input_sequence_length":  map[string]any{"value": one.Prompt, "unit": "tokens"},
		"output_sequence_length": map[string]any{"value": one.Tokens(), "unit": "tokens"},
	}
	for i := range v.Rows {
		row := &v.Rows[i]
		all := list(row.Measure, one)
		switch {
		case row.Key == "inter_chunk_latency":
			values[row.Key] = map[string]any{"value": all, "unit": row.Unit.Name}
		case len(all) > 0:
			values[row.Key] = map[string]any{"value": all[0], "unit": row.Unit.Name}
		}
	}
	return values
}
