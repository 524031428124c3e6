package setup

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
)

// Load is the load that a benchmark tool put on a deployment of which it knows the address only.
type Load struct {
	Clients  int     // limit of requests under way; 0: none
	Rate     float64 // requests/s; 0: as fast as the limit lets them, or all at once
	Process  string  // of arrivals at the rate; empty: poisson
	CV       float64 // of gamma gaps
	Points   []string
	Requests int
	Seconds  float64 // after which the tool stopped; 0: after the requests
	Prompt   Counts
	Output   Counts
	Lengths  [][2]int // prompt and output of each request, in the order sent; nil: counts tell what is known
	InFlight float64  // requests under way as measured, the most or the mean; 0: unknown
}

// tooMany is why a run is not simulated whose failures the simulation would serve.
const tooMany = "more than one request in 20 failed"

// TooManyFailed returns why a run with failures is not simulated; empty: they are few.
func TooManyFailed(failures, all float64) string {
	if all > 0 && failures > 0.05*all {
		return tooMany
	}
	return ""
}

// Skip says why no workload is like this load. A limit beside a rate is none where it was never near. What was measured
// decides here only whether a prediction is made, and none of it reaches the scenario.
func (a *Load) Skip() string {
	if (a.Rate > 0 || a.Points != nil) && a.Clients > 0 && a.InFlight >= 0.95*float64(a.Clients) {
		return "a limit of concurrency was reached under a request rate, which no workload has"
	}
	return ""
}

// Overlay writes the load as the workload of a scenario.
func (a *Load) Overlay() string {
	var p Scenario
	switch {
	case a.Points != nil:
		p.AddWorkload("arrivals: {process: piecewise, points: [%s]}", strings.Join(a.Points, ", "))
	case a.Rate > 0 && a.CV > 0:
		p.AddWorkload("arrivals: {process: gamma, rate: %s, cv: %s}", Number(a.Rate), Number(a.CV))
	case a.Rate > 0:
		p.AddWorkload("arrivals: {process: %s, rate: %s}", cmp.Or(a.Process, "poisson"), Number(a.Rate))
	default:
		p.AddWorkload("closed_loop: {concurrency: %d}", a.concurrency())
	}
	if a.Requests > 0 && a.Lengths == nil {
		p.AddWorkload("requests: %d", a.Requests)
	}
	if a.Seconds > 0 {
		p.AddWorkload("duration_s: %s", Number(a.Seconds))
	}
	if a.Lengths != nil {
		p.AddWorkload("%s", RecordedLengths(a.Lengths))
	} else {
		p.AddWorkload("prompt_tokens: %s", a.Prompt.law())
		p.AddWorkload("output_tokens: %s", a.Output.law())
	}
	return "workload:\n  " + strings.Join(p.Workload, "\n  ") + "\n"
}

// concurrency is how many requests a closed loop has under way: all there are, if nothing limits them.
func (a *Load) concurrency() int {
	if a.Clients == 0 {
		return a.Requests
	}
	return a.Clients
}

// Label says what the load is.
func (a *Load) Label(l *measured.Labels) {
	l.Load = fmt.Sprintf("%.0f/%.0f", math.Round(a.Prompt.Average()), math.Round(a.Output.Average()))
	if a.Rate == 0 && a.Points == nil {
		l.Concurrency = a.concurrency()
	}
}

// GammaCV returns the variation of gamma gaps of a shape, CV = 1/√shape; 0: the gaps are exponential.
func GammaCV(shape float64) float64 {
	if shape == 1 {
		return 0
	}
	return 1 / math.Sqrt(shape)
}
