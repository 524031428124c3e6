package measured

import (
	"cmp"
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// inferencePerf is a summary of kubernetes-sigs/inference-perf, of all stages or of one. Latencies are in seconds.
//
// Some versions stamp every line of the event stream, the blank ones too, so that a token has two stamps and its
// times per token are half of what they are. Those are told by their ratio to (E2E − TTFT)/(tokens − 1); a client that
// counts tokens wrong, as when it tokenises random text again, hides it.
var inferencePerf = schema{
	name:  "inference-perf",
	about: "summaries of inference-perf (JSON with load_summary, successes.latency)",
	is: func(s *source) bool {
		return len(s.json) > 0 && s.json[0].has("load_summary", "successes")
	},
	read: readInferencePerf,
}

func readInferencePerf(s *source, f *File) error {
	notesOfLoad(f)
	f.Notes = append(f.Notes, "arrivals at a rate are Poisson, as the tool's constant ones nearly are; a stage is simulated on a server that "+
		"was idle before; times per token are compared only where they agree with (E2E − TTFT)/(tokens − 1), "+
		"for some versions stamp each token twice; output lengths are as the client counted them unless config.yaml fixes them")
	settings, err := readSettings(s)
	if err != nil {
		return err
	}
	for i, id := range s.names(len(s.json)) {
		run := perfRun(s.json[i], settings, id)
		for _, o := range []object{s.json[i], settings} {
			if o.origin.err != nil {
				return o.origin.err
			}
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// readSettings reads the tool's config.yaml beside the data, if it is there.
func readSettings(s *source) (object, error) {
	o := object{origin: &origin{file: "config.yaml", line: 1}}
	data, path, err := s.companion("config.yaml")
	if err != nil || data == nil {
		return o, err
	}
	o.origin.file = path
	if err := yaml.Unmarshal(data, &o.fields); err != nil {
		return o, fmt.Errorf("%s: not YAML: %w", path, err)
	}
	return o, nil
}

func perfRun(o, settings object, id string) Run {
	server := settings.sub("server")
	run := Run{ID: id, Labels: Labels{Source: "inference-perf", Model: measuredModel(server.text("model_name"))}}
	run.Rows = []Row{{ID: id, Request: -1}}
	good, bad := o.sub("successes"), o.sub("failures")
	completed, _ := good.amount("count")
	failures, _ := bad.amount("count")
	if completed == 0 {
		run.Skip = "no request completed"
		return run
	}
	a := asked{requests: int(completed + failures)}
	a.prompt = perfCounts(good, "prompt_len", "prompt_tokens", "input_len", "input_tokens")
	a.output = perfCounts(good, "output_len", "output_tokens")
	told := false
	if n, ok := settings.sub("data").search("output_len"); ok {
		a.output, told = counts{mean: n, points: []point{{0, n}, {1, n}}}, true
	}
	perfArrivals(o.sub("load_summary"), settings.sub("load"), &a)
	run.Rows[0].Values = perfValues(good, &a.output, told)
	if o.origin.err != nil {
		return run
	}
	run.Skip = cmp.Or(failed(failures, completed+failures), a.skip())
	a.label(&run.Labels)
	run.Over = a.over()
	return run
}

// perfCounts reads the token counts under the first of the names there is.
func perfCounts(good object, names ...string) counts {
	for _, name := range names {
		if at := good.sub(name); at.fields != nil {
			return summarised(at, "mean")
		}
	}
	good.fail(names[0], nil, "token counts with a mean")
	return counts{}
}

// perfArrivals reads the load of one stage; that of several is in the settings.
func perfArrivals(summary, load object, a *asked) {
	if x, ok := summary.above("concurrency"); ok {
		a.clients = int(x)
		return
	}
	if a.rate, _ = summary.above("requested_rate"); a.rate > 0 {
		return
	}
	stages := load.elements("stages")
	at := 0.0
	for _, s := range stages {
		rate, seconds := s.required("rate", "requests/s above 0"), s.required("duration", "seconds above 0")
		a.points = append(a.points, fmt.Sprintf("{at_s: %s, rate: %s}, {at_s: %s, rate: %s}",
			plain(at), plain(rate), plain(at+seconds), plain(rate)))
		at += seconds
	}
	if a.points == nil {
		if a.rate, _ = summary.above("achieved_rate"); a.rate == 0 {
			summary.fail("requested_rate", nil, "requests/s, concurrency, or config.yaml with load.stages beside the file")
		}
	}
}

// perfValues reads latencies and rates. n are the output lengths; told: they are what the server was made to emit.
func perfValues(good object, n *counts, told bool) []Value {
	latency := good.sub("latency")
	of := func(key string) statistics { return statisticsOf(latency.sub(key), 1000) }
	ttft, e2e, tpot, itl := of("time_to_first_token"), of("request_latency"), of("time_per_output_token"), of("inter_token_latency")
	values := ttft.values(nil, TTFT)
	values = e2e.values(values, E2E)
	fair := (e2e[Mean] - ttft[Mean]) / max(1, n.average()-1)
	timed := e2e[Mean] > 0 && ttft[Mean] > 0
	if doubt := stampDoubt(tpot[Mean], fair, timed); doubt != "" && told && timed {
		values = append(values, Lead(TPOT, Mean, fair))
	} else {
		values = append(values, skipAll(tpot.values(nil, TPOT), doubt)...)
	}
	values = append(values, skipAll(itl.values(nil, ITL), stampDoubt(itl[Mean], fair, timed))...)
	rates := good.sub("throughput")
	if x, ok := rates.above("output_tokens_per_sec"); ok {
		v := Lead(OutputPerS, Mean, x)
		if told {
			v.Skip = "output tokens are as the client counted them, not as the server emitted them"
		}
		values = append(values, v)
	}
	if x, ok := rates.above("requests_per_sec"); ok {
		values = append(values, Lead(RequestsPerS, Mean, x))
	}
	return values
}

// stampDoubt says why a time per token is not compared, given what it should be by the latencies of whole requests.
func stampDoubt(reported, fair float64, timed bool) string {
	ratio := fair / math.Max(reported, 1e-9)
	switch {
	case reported == 0:
		return ""
	case !timed:
		return "times per token cannot be checked without request_latency and time_to_first_token"
	case ratio > 1.7 && ratio < 2.4:
		return "each token has two time stamps, which halves times per token"
	case ratio < 0.85 || ratio > 1.2:
		return "times per token do not agree with request_latency, time_to_first_token and output_len"
	}
	return ""
}

func skipAll(values []Value, why string) []Value {
	for i := range values {
		values[i].Skip = why
	}
	return values
}
