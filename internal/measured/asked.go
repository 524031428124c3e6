package measured

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// asked is the load that a benchmark tool put on a deployment of which it knows the address only.
type asked struct {
	clients  int     // limit of requests under way; 0: none
	rate     float64 // requests/s; 0: as fast as the limit lets them, or all at once
	process  string  // of arrivals at the rate; empty: poisson
	cv       float64 // of gamma gaps
	points   []string
	requests int
	seconds  float64 // after which the tool stopped; 0: after the requests
	prompt   counts
	output   counts
	lengths  [][2]int // prompt and output of each request, in the order sent; nil: counts tell what is known
	underWay float64  // requests under way as measured, the most or the mean; 0: unknown
}

// tooMany is why a run is not simulated whose failures the simulation would serve.
const tooMany = "more than one request in 20 failed"

// failed returns why a run with failures is not simulated; empty: they are few.
func failed(failures, all float64) string {
	if all > 0 && failures > 0.05*all {
		return tooMany
	}
	return ""
}

// skip says why no workload is like this load. A limit beside a rate is none where it was never near. What was measured
// decides here only whether a prediction is made, and none of it reaches the scenario.
func (a *asked) skip() string {
	if (a.rate > 0 || a.points != nil) && a.clients > 0 && a.underWay >= 0.95*float64(a.clients) {
		return "a limit of concurrency was reached under a request rate, which no workload has"
	}
	return ""
}

// over writes the load as the workload of a scenario.
func (a *asked) over() string {
	var p setup
	switch {
	case a.points != nil:
		p.load("arrivals: {process: piecewise, points: [%s]}", strings.Join(a.points, ", "))
	case a.rate > 0 && a.cv > 0:
		p.load("arrivals: {process: gamma, rate: %s, cv: %s}", plain(a.rate), plain(a.cv))
	case a.rate > 0:
		p.load("arrivals: {process: %s, rate: %s}", cmp.Or(a.process, "poisson"), plain(a.rate))
	default:
		p.load("closed_loop: {concurrency: %d}", a.together())
	}
	if a.requests > 0 && a.lengths == nil {
		p.load("requests: %d", a.requests)
	}
	if a.seconds > 0 {
		p.load("duration_s: %s", plain(a.seconds))
	}
	if a.lengths != nil {
		p.load("%s", recorded(a.lengths))
	} else {
		p.load("prompt_tokens: %s", a.prompt.law())
		p.load("output_tokens: %s", a.output.law())
	}
	return "workload:\n  " + strings.Join(p.workload, "\n  ") + "\n"
}

// together is how many requests a closed loop has under way: all there are, if nothing limits them.
func (a *asked) together() int {
	if a.clients == 0 {
		return a.requests
	}
	return a.clients
}

// label says what the load is.
func (a *asked) label(l *Labels) {
	l.Load = fmt.Sprintf("%.0f/%.0f", math.Round(a.prompt.average()), math.Round(a.output.average()))
	if a.rate == 0 && a.points == nil {
		l.Concurrency = a.together()
	}
}

// gammaCV returns the variation of gamma gaps of a shape, CV = 1/√shape; 0: the gaps are exponential.
func gammaCV(shape float64) float64 {
	if shape == 1 {
		return 0
	}
	return 1 / math.Sqrt(shape)
}

// names labels the runs of a file by its name, and by their place if there are several.
func (s *source) names(runs int) []string {
	stem := stemOf(s.path)
	all := make([]string, runs)
	for i := range all {
		if all[i] = stem; runs > 1 {
			all[i] = fmt.Sprintf("%s-%d", stem, i+1)
		}
	}
	return all
}

// measuredModel returns the catalog's name of a model, or the name as the file has it.
func measuredModel(name string) string {
	if known, unknown := catalogModel(name); unknown == "" {
		return known
	}
	return name
}

// notesOfLoad are what every reader assumes of a load whose deployment the user describes.
func notesOfLoad(f *File) {
	f.Notes = append(f.Notes, noteOfDeployment,
		"prompt and output lengths are drawn independently of each other, with the distribution that the data tell: from each "+
			"request's length, from percentiles, or else all at the mean")
}

const noteOfDeployment = "the load is that of the data and the deployment that of the scenario; what the data do not say, such as prompts " +
	"that share a beginning, is the scenario's too"
