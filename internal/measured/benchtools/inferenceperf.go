package benchtools

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// inferencePerf is a summary of kubernetes-sigs/inference-perf, of all stages or of one. Latencies are in seconds.
//
// Some versions stamp every line of the event stream, the blank ones too, so that a token has two stamps and its
// times per token are half of what they are. Such files are recognised by their ratio to (E2E − TTFT)/(tokens − 1); a
// client that counts tokens wrong, as when it tokenises random text again, hides it.
var inferencePerf = datafile.Schema{
	Name:  "inference-perf",
	About: "summaries of inference-perf (JSON with load_summary, successes.latency)",
	Is: func(s *datafile.Source) bool {
		return len(s.JSON) > 0 && s.JSON[0].Has("load_summary", "successes")
	},
	Read: readInferencePerf,
}

func readInferencePerf(s *datafile.Source, f *measured.File) error {
	notesOfLoad(f)
	f.Notes = append(f.Notes, "arrivals at a rate are Poisson, as the tool's constant ones nearly are; a stage is "+
		"simulated on a server that was idle before; times per token are compared only where they agree with (E2E − "+
		"TTFT)/(tokens − 1), for some versions stamp each token twice; output lengths are as the client counted them "+
		"unless config.yaml fixes them")
	settings, err := readSettings(s)
	if err != nil {
		return err
	}
	for i, id := range s.RunIDs(len(s.JSON)) {
		run := perfRun(s.JSON[i], settings, id)
		for _, o := range []datafile.Object{s.JSON[i], settings} {
			if o.Origin.Err != nil {
				return o.Origin.Err
			}
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// readSettings reads the tool's config.yaml beside the data, if it is there.
func readSettings(s *datafile.Source) (datafile.Object, error) {
	data, path, err := s.CompanionUpTo(datafile.SettingsMax, "config.yaml")
	if err != nil || data == nil {
		return datafile.Object{Origin: &datafile.Origin{File: "config.yaml", Line: 1}}, err
	}
	return datafile.ReadSettings(path, data)
}

func perfRun(o, settings datafile.Object, id string) measured.Run {
	server := settings.Sub("server")
	run := measured.Run{ID: id, Labels: measured.Labels{Source: "inference-perf",
		Model: measuredModel(server.Text("model_name"))}}
	run.Rows = []measured.Row{{ID: id, Request: -1}}
	good, bad := o.Sub("successes"), o.Sub("failures")
	completed, _ := good.Amount("count")
	failures, _ := bad.Amount("count")
	if completed == 0 {
		run.Skip = "no request completed"
		return run
	}
	a := setup.Load{Requests: int(completed + failures)}
	a.Prompt = perfCounts(good, "prompt_len", "prompt_tokens", "input_len", "input_tokens")
	a.Output = perfCounts(good, "output_len", "output_tokens")
	known := false
	if n, ok := settings.Sub("data").Search("output_len"); ok {
		a.Output, known = setup.Counts{Mean: n, Points: []setup.Point{{P: 0, Tokens: n}, {P: 1, Tokens: n}}}, true
	}
	perfArrivals(o.Sub("load_summary"), settings.Sub("load"), &a)
	run.Rows[0].Values = perfValues(good, &a.Output, known)
	if o.Origin.Err != nil {
		return run
	}
	run.Refuse(setup.TooManyFailed(failures, completed+failures), a.Skip())
	a.Label(&run.Labels)
	run.Over = a.Overlay()
	return run
}

// perfCounts reads the token counts under the first of the names there is.
func perfCounts(good datafile.Object, names ...string) setup.Counts {
	for _, name := range names {
		if at := good.Sub(name); at.Fields != nil {
			return summarised(at, "mean")
		}
	}
	good.Fail(names[0], nil, "token counts with a mean")
	return setup.Counts{}
}

// perfArrivals reads the load of one stage; that of several is in the settings.
func perfArrivals(summary, load datafile.Object, a *setup.Load) {
	if x, ok := summary.Positive("concurrency"); ok {
		a.Clients = int(x)
		return
	}
	a.Rate, _ = summary.Positive("requested_rate")
	if a.Rate > 0 {
		return
	}
	stages := load.Elements("stages")
	at := 0.0
	for _, s := range stages {
		rate, seconds := s.Required("rate", "requests/s above 0"), s.Required("duration", "seconds above 0")
		a.Points = append(a.Points, fmt.Sprintf("{at_s: %s, rate: %s}, {at_s: %s, rate: %s}",
			setup.Number(at), setup.Number(rate), setup.Number(at+seconds), setup.Number(rate)))
		at += seconds
	}
	if a.Points == nil {
		a.Rate, _ = summary.Positive("achieved_rate")
		if a.Rate == 0 {
			summary.Fail("requested_rate", nil, "requests/s, concurrency, or config.yaml with load.stages beside the file")
		}
	}
}

// perfValues reads latencies and rates. n are the output lengths; known: the lengths are what the server was made to
// emit.
func perfValues(good datafile.Object, n *setup.Counts, known bool) []measured.Value {
	latency := good.Sub("latency")
	of := func(key string) statistics { return statisticsOf(latency.Sub(key), 1000) }
	ttft, e2e := of("time_to_first_token"), of("request_latency")
	tpot, itl := of("time_per_output_token"), of("inter_token_latency")
	values := ttft.values(nil, measured.TTFT)
	values = e2e.values(values, measured.E2E)
	fair := (e2e[measured.Mean] - ttft[measured.Mean]) / max(1, n.Average()-1)
	timed := e2e[measured.Mean] > 0 && ttft[measured.Mean] > 0
	if doubt := stampDoubt(tpot[measured.Mean], fair, timed); doubt != "" && known && timed {
		values = append(values, measured.Lead(measured.TPOT, measured.Mean, fair))
	} else {
		values = append(values, skipAll(tpot.values(nil, measured.TPOT), doubt)...)
	}
	values = append(values, skipAll(itl.values(nil, measured.ITL), stampDoubt(itl[measured.Mean], fair, timed))...)
	rates := good.Sub("throughput")
	if x, ok := rates.Positive("output_tokens_per_sec"); ok {
		v := measured.Lead(measured.OutputPerS, measured.Mean, x)
		if known {
			v.Skip = "output tokens are as the client counted them, not as the server emitted them"
		}
		values = append(values, v)
	}
	if x, ok := rates.Positive("requests_per_sec"); ok {
		values = append(values, measured.Lead(measured.RequestsPerS, measured.Mean, x))
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

func skipAll(values []measured.Value, why string) []measured.Value {
	for i := range values {
		values[i].Skip = why
	}
	return values
}
