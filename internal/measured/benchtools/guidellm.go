package benchtools

import (
	"cmp"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// guidellm is a report of guidellm: a run per benchmark. Request latencies are in seconds, all else in milliseconds.
// Its inter_token_latency_ms is (last − first)/(tokens − 1) per request, weighted by tokens − 1, so that its mean is
// that of all gaps: ITL here. Its time_per_output_token_ms includes the first token and is none of the metrics here.
var guidellm = datafile.Schema{
	Name:  "guidellm",
	About: "reports of guidellm (JSON with benchmarks[].metrics.time_to_first_token_ms)",
	Is: func(s *datafile.Source) bool {
		if len(s.JSON) == 0 || !s.JSON[0].Has("benchmarks") {
			return false
		}
		list, ok := s.JSON[0].Fields["benchmarks"].([]any)
		return ok && (len(list) == 0 || hasMetrics(list[0]))
	},
	Read: readGuideLLM,
}

func hasMetrics(benchmark any) bool {
	fields, ok := benchmark.(map[string]any)
	return ok && fields["metrics"] != nil
}

func readGuideLLM(s *datafile.Source, f *measured.File) error {
	notesOfLoad(f)
	f.Notes = append(f.Notes, "the mean of inter_token_latency_ms is weighted by tokens and compared as itl, or as tpot "+
		"where all outputs are equally long; time_per_output_token_ms includes the first token and is not compared; "+
		"requests that the tool leaves out as warm-up or cool-down are part of the simulation")
	report := s.JSON[0]
	list := report.Elements("benchmarks")
	if len(list) == 0 {
		report.Fail("benchmarks", []any{}, "at least one benchmark")
	}
	for i, id := range s.RunIDs(len(list)) {
		if report.Origin.Err != nil {
			break
		}
		f.Runs = append(f.Runs, guideRun(report, list[i], id))
	}
	return report.Origin.Err
}

// settingsOf returns the settings of a benchmark, which versions keep under different keys.
func settingsOf(b datafile.Object) datafile.Object {
	for _, key := range []string{"config", "args"} {
		if s := b.Sub(key); s.Fields != nil {
			return s
		}
	}
	return b.Sub("config")
}

func guideRun(report, b datafile.Object, id string) measured.Run {
	metrics, settings := b.Sub("metrics"), settingsOf(b)
	run := measured.Run{ID: id, Labels: measured.Labels{Source: "guidellm", Model: measuredModel(guideModel(report, b))}}
	run.Rows = []measured.Row{{ID: id, Request: -1}}
	row := &run.Rows[0]
	totals := b
	if at, key, ok := b.Find("request_totals"); ok {
		totals = at.Sub(key)
	}
	good, _ := totals.Amount("successful")
	bad, _ := totals.Amount("errored")
	cut, _ := totals.Amount("incomplete")
	if good == 0 {
		run.Skip = "no request completed"
		return run
	}
	a := setup.Load{
		Requests: int(good + bad + cut),
		Prompt:   summarised(successful(metrics, "prompt_token_count"), "mean"),
		Output:   summarised(successful(metrics, "output_token_count"), "mean"),
	}
	a.InFlight, _ = successful(metrics, "request_concurrency").Optional("mean")
	if seconds, ok := settings.Search("max_seconds", "max_duration"); ok {
		a.Seconds = seconds
	}
	row.Values = guideValues(metrics, a.Output.AllEqual())
	strategy := settings
	if at, key, ok := settings.Find("strategy"); ok {
		strategy = at.Sub(key)
	}
	unlike := guideArrivals(strategy, &a)
	if b.Origin.Err != nil {
		return run
	}
	if a.Seconds > 0 {
		a.Requests = 0
	}
	run.Refuse(setup.TooManyFailed(bad, good+bad+cut), cmp.Or(unlike, a.Skip()))
	a.Label(&run.Labels)
	run.Over = a.Overlay()
	return run
}

// guideArrivals reads the strategy of a benchmark and says why there is no such workload.
func guideArrivals(s datafile.Object, a *setup.Load) (skip string) {
	kind := cmp.Or(s.Text("type_"), s.Text("type"), s.Text("kind"))
	limit, _ := s.Positive("max_concurrency")
	switch kind {
	case "synchronous":
		a.Clients = 1
	case "concurrent":
		streams, ok := s.Positive("streams")
		a.Clients = int(streams)
		if !ok {
			a.Clients = int(s.Required("max_concurrency", "the number of streams above 0"))
		}
	case "throughput":
		a.Clients = int(limit)
		if limit == 0 {
			a.Clients, a.Seconds = a.Requests, 0
		}
	case "constant", "poisson":
		a.Process, a.Rate, a.Clients = kind, s.Required("rate", "requests/s above 0"), int(limit)
	case "":
		s.Fail("type_", nil, "the strategy: synchronous, concurrent, constant, poisson or throughput")
	default:
		a.Clients = 1
		return "strategy " + kind + " is not read"
	}
	return ""
}

func guideModel(report, b datafile.Object) string {
	for _, o := range []datafile.Object{b, report} {
		for _, from := range []datafile.Object{o.Sub("config"), o.Sub("args"), o} {
			if at, key, ok := from.Find("model"); ok && at.Text(key) != "" {
				return at.Text(key)
			}
		}
	}
	return ""
}

// successful returns the statistics of a metric over the requests that completed.
func successful(metrics datafile.Object, key string) datafile.Object {
	if at := metrics.Sub(key).Sub("successful"); at.Fields != nil {
		return at
	}
	return metrics.Sub(key)
}

func guideValues(metrics datafile.Object, equal bool) []measured.Value {
	ttft := statisticsOf(successful(metrics, "time_to_first_token_ms"), 1)
	values := ttft.values(nil, measured.TTFT)
	perToken := statisticsOf(successful(metrics, "inter_token_latency_ms"), 1)
	if equal {
		values = perToken.values(values, measured.TPOT)
	} else {
		values = weighted(values, perToken)
	}
	e2e := statisticsOf(successful(metrics, "request_latency"), 1000)
	values = e2e.values(values, measured.E2E)
	for _, m := range []struct {
		metric measured.Metric
		key    string
	}{{measured.OutputPerS, "output_tokens_per_second"}, {measured.RequestsPerS, "requests_per_second"}} {
		if x, ok := successful(metrics, m.key).Positive("mean"); ok {
			values = append(values, measured.Lead(m.metric, measured.Mean, x))
		}
	}
	return values
}

// weighted appends times per token that are weighted by tokens: the mean is that of all gaps, and the percentiles are
// neither of gaps nor of requests.
func weighted(values []measured.Value, perToken statistics) []measured.Value {
	for stat, x := range perToken {
		switch v := measured.Other(measured.TPOT, measured.Stat(stat), x); {
		case x == 0:
		case measured.Stat(stat) == measured.Mean:
			values = append(values, measured.Lead(measured.ITL, measured.Mean, x))
		default:
			v.Skip = "percentiles over requests weighted by their tokens"
			values = append(values, v)
		}
	}
	return values
}
