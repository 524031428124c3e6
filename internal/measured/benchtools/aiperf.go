package benchtools

import (
	"cmp"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// aiperf is the profile that AIPerf exports, and GenAI-Perf before it: one run, each metric with its unit. What it
// calls inter_token_latency is one value per request, (E2E − TTFT)/(tokens − 1): TPOT here.
var aiperf = datafile.Schema{
	Name:  "AIPerf",
	About: "profiles of AIPerf and GenAI-Perf (JSON with request_latency, request_throughput, input_config)",
	Is: func(s *datafile.Source) bool {
		return len(s.JSON) > 0 && s.JSON[0].Has("request_latency") && s.JSON[0].Sub("request_latency").Has("unit") &&
			s.JSON[0].HasAny("input_config", "request_throughput", "time_to_first_token")
	},
	Read: readAIPerf,
}

func readAIPerf(s *datafile.Source, f *measured.File) error {
	notesOfLoad(f)
	f.Notes = append(f.Notes, "inter_token_latency is compared as tpot, which it is per request; arrivals at a rate are "+
		"Poisson unless the settings say otherwise")
	for i, id := range s.RunIDs(len(s.JSON)) {
		run := aiperfRun(s.JSON[i], id)
		if err := s.JSON[i].Origin.Err; err != nil {
			return err
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// aiperfMetrics are what the profile calls the metrics.
var aiperfMetrics = []struct {
	metric measured.Metric
	key    string
}{{measured.TTFT, "time_to_first_token"}, {measured.TPOT, "inter_token_latency"}, {measured.E2E, "request_latency"}}

func aiperfRun(o datafile.Object, id string) measured.Run {
	settings := o.Sub("input_config")
	run := measured.Run{ID: id, Labels: measured.Labels{Source: "AIPerf", Model: measuredModel(aiperfModel(settings))}}
	row := measured.Row{ID: id, Request: -1}
	for _, m := range aiperfMetrics {
		at := o.Sub(m.key)
		found := statisticsOf(at, milliseconds(at))
		row.Values = found.values(row.Values, m.metric)
	}
	if x, ok := o.Sub("output_token_throughput").Positive("avg"); ok {
		row.Values = append(row.Values, measured.Lead(measured.OutputPerS, measured.Mean, x))
	}
	requestsPerS, ok := o.Sub("request_throughput").Positive("avg")
	if ok {
		row.Values = append(row.Values, measured.Lead(measured.RequestsPerS, measured.Mean, requestsPerS))
	}
	run.Rows = []measured.Row{row}
	good := aiperfCount(o, "request_count")
	bad := aiperfCount(o, "error_request_count")
	latency := o.Sub("request_latency")
	ms, _ := latency.Optional("avg")
	a := setup.Load{Requests: int(good + bad), InFlight: requestsPerS * ms * milliseconds(latency) / 1000}
	phases := aiperfPhases(settings)
	skip := ""
	switch len(phases) {
	case 0:
		aiperfArrivals(settings, &a)
	case 1:
		skip = aiperfPhase(phases[0], &a)
	default:
		skip = "it has several phases, each with a load of its own"
	}
	if settings.Origin.Err != nil {
		return run
	}
	run.Refuse(setup.TooManyFailed(bad, good+bad), cmp.Or(skip, replays(settings), a.Skip()))
	if run.Skip != "" &&
		a.Clients == 0 && a.Rate == 0 {
		return run
	}
	if a.Requests == 0 {
		o.Fail("request_count", nil, "the number of requests, as request_count.avg or in input_config")
		return run
	}
	a.Prompt = summarised(o.Sub("input_sequence_length"), "avg")
	a.Output = summarised(o.Sub("output_sequence_length"), "avg")
	a.Label(&run.Labels)
	run.Over = a.Overlay()
	return run
}

// aiperfPhases returns the phases of a profile that were measured. AIPerf lists them from 0.13 on, as its
// aiperf/config/phases.py has them.
func aiperfPhases(settings datafile.Object) (measured []datafile.Object) {
	for _, p := range settings.Elements("phases") {
		if p.Text("kind") != "warmup" && p.Fields["exclude_from_results"] != true {
			measured = append(measured, p)
		}
	}
	return measured
}

// aiperfPhase reads when the requests of a phase were sent, and says why there is no such workload.
func aiperfPhase(p datafile.Object, a *setup.Load) (skip string) {
	if x, ok := p.Positive("concurrency"); ok {
		a.Clients = int(x)
	}
	if x, ok := p.Positive("requests"); ok && a.Requests == 0 {
		a.Requests = int(x)
	}
	for _, key := range []string{"rate_ramp", "rate_series", "concurrency_ramp"} {
		if p.Fields[key] != nil {
			return "the load ramps up, which no workload does"
		}
	}
	kind := p.Text("type")
	switch kind {
	case "concurrency":
		p.Required("concurrency", "requests under way above 0")
	case "constant", "poisson", "gamma":
		a.Rate = p.Required("rate", "requests/s above 0")
		if kind == "constant" {
			a.Process = kind
		}
		if shape, ok := p.Positive("smoothness"); ok && kind == "gamma" {
			a.CV = setup.GammaCV(shape)
		}
	case "fixed_schedule":
		return "it replays a trace, which the data do not hold"
	default:
		return "its phase is of type " + kind + ", which no workload is like"
	}
	return ""
}

// aiperfArrivals finds when requests were sent, wherever a version before 0.13 keeps it in its settings.
func aiperfArrivals(settings datafile.Object, a *setup.Load) {
	if x, ok := settings.Search("concurrency"); ok {
		a.Clients = int(x)
	}
	a.Rate, _ = settings.Search("request_rate")
	if a.Requests == 0 {
		x, _ := settings.Search("request_count", "num_requests")
		a.Requests = int(x)
	}
	if a.Clients == 0 && a.Rate == 0 && replays(settings) == "" {
		settings.Fail("concurrency", nil, "concurrency or request_rate in the settings of the run")
	}
	at, key, _ := settings.Find("arrival_pattern", "request_rate_mode", "request_distribution")
	switch at.Text(key) {
	case "constant":
		a.Process = "constant"
	case "gamma":
		if shape, ok := settings.Search("arrival_smoothness", "burstiness"); ok {
			a.CV = setup.GammaCV(shape)
		}
	}
}

// replays says that requests followed a recording, which is another file.
func replays(settings datafile.Object) string {
	for _, key := range []string{"fixed_schedule", "custom_dataset_type"} {
		at, _, ok := settings.Find(key)
		if value := at.Fields[key]; ok && (value == true || strings.Contains(at.Text(key), "trace")) {
			return "it replays a trace, which the data do not hold"
		}
	}
	return ""
}

func aiperfModel(settings datafile.Object) string {
	for _, m := range settings.Sub("models").Elements("items") {
		return m.Text("name")
	}
	at, key, _ := settings.Find("model_names", "model", "model_name")
	return at.Text(key)
}

// aiperfCount reads a count that is a metric of its own.
func aiperfCount(o datafile.Object, key string) float64 {
	x, _ := o.Sub(key).Amount("avg")
	return x
}

// milliseconds returns the factor from the unit of a metric, milliseconds where it says none.
func milliseconds(metric datafile.Object) float64 {
	switch unit := strings.ToLower(metric.Text("unit")); unit {
	case "", "ms", "milliseconds", "millisecond":
	case "s", "sec", "second", "seconds":
		return 1e3
	case "us", "µs", "microseconds":
		return 1e-3
	case "ns", "nanoseconds":
		return 1e-6
	default:
		metric.Fail("unit", unit, "ms, s, us or ns")
	}
	return 1
}
