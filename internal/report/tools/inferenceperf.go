package tools

import (
	"fmt"
	"io"
	"strconv"

	"github.com/decodesim/decodesim/sim/metrics/views"
)

// perfConfig is what config.yaml beside the metrics must say of a run for its readers to know the model.
func (r *Result) perfConfig(w io.Writer) error {
	_, err := fmt.Fprintf(w, "# Simulated by decodesim %s: scenario %s, seed %d.\nserver:\n  model_name: %s\n",
		r.Version, strconv.Quote(r.Scenario), r.Seed, strconv.Quote(r.Model))
	return err
}

// perfStage is stage_0_lifecycle_metrics.json. Token counts are under prompt_len and output_len, as before 0.7.
func (r *Result) perfStage() any {
	c, v := &r.Run.Counts, r.view("inference-perf")
	latency, throughput := map[string]any{}, map[string]any{}
	for i := range v.Rows {
		latency[v.Rows[i].Key] = perfSummary(&v.Rows[i].Distribution)
	}
	for i, rate := range v.Tool.Rates {
		throughput[rate.Key] = v.Rates[i]
	}
	prompts, outputs := r.lengths()
	good := map[string]any{
		"count": c.Completed, "latency": latency, "throughput": throughput, "prompt_len": perfSummary(&prompts),
		"output_len": perfSummary(&outputs),
	}
	if g := v.Goodput; g != nil {
		good["goodput_metrics"] = map[string]any{
			"request_goodput": g.PerS, "goodput_percentage": 100 * g.Share, "total_requests": c.Completed,
		}
	}
	return map[string]any{
		"load_summary": r.perfLoad(), "successes": good,
		"failures":               map[string]any{"count": c.Failed, "request_latency": nil},
		"benchmark_time_seconds": r.Run.DurationS, "decodesim": r.origin(),
	}
}

func (r *Result) perfLoad() any {
	c := &r.Run.Counts
	sent := c.Completed + c.Failed
	span := c.LastSent.Sub(c.First).Seconds()
	load := map[string]any{"count": sent,
		"schedule_delay": map[string]any{"mean": 0.0, "min": 0.0, "max": 0.0, "median": 0.0}}
	if span > 0 {
		load["send_duration"], load["achieved_rate"] = span, float64(sent)/span
	}
	if r.Load.Clients > 0 {
		load["concurrency"] = r.Load.Clients
	} else {
		load["requested_rate"] = r.Load.RatePerS
	}
	return load
}

// perfSummary is a distribution; nil: it has no values.
func perfSummary(d *views.Distribution) any {
	if d.Count == 0 {
		return nil
	}
	s := map[string]any{"mean": d.Mean(), "min": d.Min(), "max": d.Max(), "median": d.Quantile(.5)}
	for _, q := range []percentile{{"p0.1", .001}, {"p1", .01}, {"p5", .05}, {"p10", .1}, {"p25", .25}, {"p75", .75},
		{"p90", .9}, {"p95", .95}, {"p99", .99}, {"p99.9", .999}} {
		s[q.name] = d.Quantile(q.p)
	}
	return s
}

// perfRequests is per_request_lifecycle_metrics.json: the completed requests of the sample.
func (r *Result) perfRequests() any {
	v := r.view("inference-perf")
	all := []any{}
	for _, one := range r.completed() {
		times := []float64{}
		for _, c := range one.Chunks {
			times = append(times, c.At.Seconds())
		}
		computed := map[string]any{"input_tokens": one.Prompt, "output_tokens": one.Tokens()}
		for i := range v.Rows {
			if row := &v.Rows[i]; row.Kind == views.ITL {
				gaps := list(row.Measure, one)
				computed["inter_token_latencies"], computed[row.Key] = gaps, mean(gaps)
			} else {
				computed[row.Key] = value(row.Measure, one)
			}
		}
		all = append(all, map[string]any{
			"start_time": one.Send.Seconds(), "end_time": times[len(times)-1], "computed_metrics": computed, "error": nil,
			"info": map[string]any{"response_metrics": map[string]any{"output_token_times": times,
				"output_tokens": one.Tokens()}},
		})
	}
	return all
}

// mean is the mean gap of a request; null without gaps.
func mean(gaps []float64) any {
	if len(gaps) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range gaps {
		sum += x
	}
	return sum / float64(len(gaps))
}
