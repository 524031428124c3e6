package measured

import "cmp"

// guidellm is a report of guidellm: a run per benchmark. Request latencies are in seconds, all else in milliseconds. Its
// inter_token_latency_ms is (last − first)/(tokens − 1) per request, weighted by tokens − 1, so that its mean is that of
// all gaps: ITL here. Its time_per_output_token_ms includes the first token and is none of the metrics here.
var guidellm = schema{
	name:  "guidellm",
	about: "reports of guidellm (JSON with benchmarks[].metrics.time_to_first_token_ms)",
	is: func(s *source) bool {
		if len(s.json) == 0 || !s.json[0].has("benchmarks") {
			return false
		}
		list, ok := s.json[0].fields["benchmarks"].([]any)
		return ok && (len(list) == 0 || hasMetrics(list[0]))
	},
	read: readGuideLLM,
}

func hasMetrics(benchmark any) bool {
	fields, ok := benchmark.(map[string]any)
	return ok && fields["metrics"] != nil
}

func readGuideLLM(s *source, f *File) error {
	notesOfLoad(f)
	f.Notes = append(f.Notes, "the mean of inter_token_latency_ms is weighted by tokens and compared as itl, or as tpot where all outputs "+
		"are equally long; time_per_output_token_ms includes the first token and is not compared; requests that the tool leaves out as "+
		"warm-up or cool-down are part of the simulation")
	report := s.json[0]
	list := report.elements("benchmarks")
	if len(list) == 0 {
		report.fail("benchmarks", []any{}, "at least one benchmark")
	}
	for i, id := range s.names(len(list)) {
		if report.origin.err != nil {
			break
		}
		f.Runs = append(f.Runs, guideRun(report, list[i], id))
	}
	return report.origin.err
}

// settingsOf returns the settings of a benchmark, which versions keep under different keys.
func settingsOf(b object) object {
	for _, key := range []string{"config", "args"} {
		if s := b.sub(key); s.fields != nil {
			return s
		}
	}
	return b.sub("config")
}

func guideRun(report, b object, id string) Run {
	metrics, settings := b.sub("metrics"), settingsOf(b)
	run := Run{ID: id, Labels: Labels{Source: "guidellm", Model: measuredModel(guideModel(report, b))}}
	run.Rows = []Row{{ID: id, Request: -1}}
	row := &run.Rows[0]
	totals := b
	if at, key, ok := b.find("request_totals"); ok {
		totals = at.sub(key)
	}
	good, _ := totals.amount("successful")
	bad, _ := totals.amount("errored")
	cut, _ := totals.amount("incomplete")
	if good == 0 {
		run.Skip = "no request completed"
		return run
	}
	a := asked{
		requests: int(good + bad + cut),
		prompt:   summarised(successful(metrics, "prompt_token_count"), "mean"),
		output:   summarised(successful(metrics, "output_token_count"), "mean"),
	}
	a.underWay, _ = successful(metrics, "request_concurrency").optional("mean")
	if seconds, ok := settings.search("max_seconds", "max_duration"); ok {
		a.seconds = seconds
	}
	row.Values = guideValues(metrics, a.output.equal())
	strategy := settings
	if at, key, ok := settings.find("strategy"); ok {
		strategy = at.sub(key)
	}
	run.Skip = guideArrivals(strategy, &a)
	if b.origin.err != nil {
		return run
	}
	if a.seconds > 0 {
		a.requests = 0
	}
	run.Skip = cmp.Or(run.Skip, failed(bad, good+bad+cut), a.skip())
	a.label(&run.Labels)
	run.Over = a.over()
	return run
}

// guideArrivals reads the strategy of a benchmark and says why there is no such workload.
func guideArrivals(s object, a *asked) (skip string) {
	kind := cmp.Or(s.text("type_"), s.text("type"), s.text("kind"))
	limit, _ := s.above("max_concurrency")
	switch kind {
	case "synchronous":
		a.clients = 1
	case "concurrent":
		streams, ok := s.above("streams")
		if a.clients = int(streams); !ok {
			a.clients = int(s.required("max_concurrency", "the number of streams above 0"))
		}
	case "throughput":
		if a.clients = int(limit); limit == 0 {
			a.clients, a.seconds = a.requests, 0
		}
	case "constant", "poisson":
		a.process, a.rate, a.clients = kind, s.required("rate", "requests/s above 0"), int(limit)
	case "":
		s.fail("type_", nil, "the strategy: synchronous, concurrent, constant, poisson or throughput")
	default:
		a.clients = 1
		return "strategy " + kind + " is not read"
	}
	return ""
}

func guideModel(report, b object) string {
	for _, o := range []object{b, report} {
		for _, from := range []object{o.sub("config"), o.sub("args"), o} {
			if at, key, ok := from.find("model"); ok && at.text(key) != "" {
				return at.text(key)
			}
		}
	}
	return ""
}

// successful returns the statistics of a metric over the requests that completed.
func successful(metrics object, key string) object {
	if at := metrics.sub(key).sub("successful"); at.fields != nil {
		return at
	}
	return metrics.sub(key)
}

func guideValues(metrics object, equal bool) []Value {
	ttft := statisticsOf(successful(metrics, "time_to_first_token_ms"), 1)
	values := ttft.values(nil, TTFT)
	perToken := statisticsOf(successful(metrics, "inter_token_latency_ms"), 1)
	if equal {
		values = perToken.values(values, TPOT)
	} else {
		values = weighted(values, perToken)
	}
	e2e := statisticsOf(successful(metrics, "request_latency"), 1000)
	values = e2e.values(values, E2E)
	for _, m := range []struct {
		metric Metric
		key    string
	}{{OutputPerS, "output_tokens_per_second"}, {RequestsPerS, "requests_per_second"}} {
		if x, ok := successful(metrics, m.key).above("mean"); ok {
			values = append(values, Lead(m.metric, Mean, x))
		}
	}
	return values
}

// weighted appends times per token that are weighted by tokens: the mean is that of all gaps, and the percentiles are
// neither of gaps nor of requests.
func weighted(values []Value, perToken statistics) []Value {
	for stat, x := range perToken {
		switch v := Other(TPOT, Stat(stat), x); {
		case x == 0:
		case Stat(stat) == Mean:
			values = append(values, Lead(ITL, Mean, x))
		default:
			v.Skip = "percentiles over requests weighted by their tokens"
			values = append(values, v)
		}
	}
	return values
}
