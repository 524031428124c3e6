package measured

import (
	"cmp"
	"strings"
)

// aiperf is the profile that AIPerf exports, and GenAI-Perf before it: one run, each metric with its unit. What it calls
// inter_token_latency is one value per request, (E2E − TTFT)/(tokens − 1): TPOT here.
var aiperf = schema{
	name:  "AIPerf",
	about: "profiles of AIPerf and GenAI-Perf (JSON with request_latency, request_throughput, input_config)",
	is: func(s *source) bool {
		return len(s.json) > 0 && s.json[0].has("request_latency") && s.json[0].sub("request_latency").has("unit") &&
			s.json[0].hasOne("input_config", "request_throughput", "time_to_first_token")
	},
	read: readAIPerf,
}

func readAIPerf(s *source, f *File) error {
	notesOfLoad(f)
	f.Notes = append(f.Notes, "inter_token_latency is compared as tpot, which it is per request; arrivals at a rate are "+
		"Poisson unless the settings say otherwise")
	for i, id := range s.names(len(s.json)) {
		run := aiperfRun(s.json[i], id)
		if err := s.json[i].origin.err; err != nil {
			return err
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// aiperfMetrics are what the profile calls the metrics.
var aiperfMetrics = []struct {
	metric Metric
	key    string
}{{TTFT, "time_to_first_token"}, {TPOT, "inter_token_latency"}, {E2E, "request_latency"}}

func aiperfRun(o object, id string) Run {
	settings := o.sub("input_config")
	run := Run{ID: id, Labels: Labels{Source: "AIPerf", Model: measuredModel(aiperfModel(settings))}}
	row := Row{ID: id, Request: -1}
	for _, m := range aiperfMetrics {
		at := o.sub(m.key)
		found := statisticsOf(at, milliseconds(at))
		row.Values = found.values(row.Values, m.metric)
	}
	if x, ok := o.sub("output_token_throughput").above("avg"); ok {
		row.Values = append(row.Values, Lead(OutputPerS, Mean, x))
	}
	requestsPerS, ok := o.sub("request_throughput").above("avg")
	if ok {
		row.Values = append(row.Values, Lead(RequestsPerS, Mean, requestsPerS))
	}
	run.Rows = []Row{row}
	good := aiperfCount(o, "request_count")
	bad := aiperfCount(o, "error_request_count")
	latency := o.sub("request_latency")
	ms, _ := latency.optional("avg")
	a := asked{requests: int(good + bad), underWay: requestsPerS * ms * milliseconds(latency) / 1000}
	aiperfArrivals(settings, &a)
	if settings.origin.err != nil {
		return run
	}
	if run.Skip = cmp.Or(failed(bad, good+bad), replays(settings), a.skip()); run.Skip != "" && a.clients == 0 && a.rate == 0 {
		return run
	}
	if a.requests == 0 {
		o.fail("request_count", nil, "the number of requests, as request_count.avg or in input_config")
		return run
	}
	a.prompt = summarised(o.sub("input_sequence_length"), "avg")
	a.output = summarised(o.sub("output_sequence_length"), "avg")
	a.label(&run.Labels)
	run.Over = a.over()
	return run
}

// aiperfArrivals finds when requests were sent, wherever a version keeps it in its settings.
func aiperfArrivals(settings object, a *asked) {
	if x, ok := settings.search("concurrency"); ok {
		a.clients = int(x)
	}
	a.rate, _ = settings.search("request_rate")
	if a.requests == 0 {
		x, _ := settings.search("request_count", "num_requests")
		a.requests = int(x)
	}
	if a.clients == 0 && a.rate == 0 && replays(settings) == "" {
		settings.fail("concurrency", nil, "concurrency or request_rate in the settings of the run")
	}
	at, key, _ := settings.find("arrival_pattern", "request_rate_mode", "request_distribution")
	switch at.text(key) {
	case "constant":
		a.process = "constant"
	case "gamma":
		if shape, ok := settings.search("arrival_smoothness", "burstiness"); ok {
			a.cv = gammaCV(shape)
		}
	}
}

// replays says that requests followed a recording, which is another file.
func replays(settings object) string {
	for _, key := range []string{"fixed_schedule", "custom_dataset_type"} {
		at, _, ok := settings.find(key)
		if value := at.fields[key]; ok && (value == true || strings.Contains(at.text(key), "trace")) {
			return "it replays a trace, which the data do not hold"
		}
	}
	return ""
}

func aiperfModel(settings object) string {
	at, key, _ := settings.find("model_names", "model", "model_name")
	return at.text(key)
}

// aiperfCount reads a count that is a metric of its own.
func aiperfCount(o object, key string) float64 {
	x, _ := o.sub(key).amount("avg")
	return x
}

// milliseconds returns the factor from the unit of a metric, milliseconds where it says none.
func milliseconds(metric object) float64 {
	switch unit := strings.ToLower(metric.text("unit")); unit {
	case "", "ms", "milliseconds", "millisecond":
	case "s", "sec", "second", "seconds":
		return 1e3
	case "us", "µs", "microseconds":
		return 1e-3
	case "ns", "nanoseconds":
		return 1e-6
	default:
		metric.fail("unit", unit, "ms, s, us or ns")
	}
	return 1
}
