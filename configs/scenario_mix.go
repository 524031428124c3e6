package configs

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
)

// Clients divides the rate of arrivals among clients that differ.
type Clients struct {
	Count        int64   `yaml:"count" required:"a number of clients" bound:"[1,16384]" unit:"clients" doc:"clients"`
	RateSkew     float64 `yaml:"rate_skew" bound:"[0,5]" doc:"the k-th client has a share of the rate in proportion to k^-rate_skew; 0: equal shares"`
	CVSpread     float64 `yaml:"cv_spread" bound:"[0,10]" doc:"standard deviation / mean, over the clients, of the cv of a client's gaps, whose mean is arrivals.cv"`
	PromptSpread float64 `yaml:"prompt_spread" bound:"[0,10]" doc:"standard deviation / mean, over the clients, of the mean prompt of each; that of all is prompt_tokens'"`
	OutputSpread float64 `yaml:"output_spread" bound:"[0,10]" doc:"standard deviation / mean, over the clients, of the mean output of each; that of all is output_tokens'"`
}

// ByClass reports whether classes have arrivals of their own.
func (w *Workload) ByClass() bool {
	for i := range w.Classes {
		if w.Classes[i].Arrivals != nil {
			return true
		}
	}
	return false
}

// Mixed reports whether requests are of several streams.
func (w *Workload) Mixed() bool { return w.Clients != nil || w.ByClass() }

// Processes returns the arrivals of the workload, or those of its classes; none: they are recorded, or clients wait.
func (w *Workload) Processes() (all []arrivals.Spec) {
	if w.Arrivals != nil {
		return []arrivals.Spec{*w.Arrivals}
	}
	for i := range w.Classes {
		if a := w.Classes[i].Arrivals; a != nil {
			all = append(all, *a)
		}
	}
	return all
}

// ScaleRates multiplies the rates of all arrivals by a factor. What it changes is copied first.
func (w *Workload) ScaleRates(factor float64) {
	if w.Arrivals != nil {
		a := w.Arrivals.Scaled(factor)
		w.Arrivals = &a
	}
	w.Classes = slices.Clone(w.Classes)
	for i := range w.Classes {
		if of := w.Classes[i].Arrivals; of != nil {
			a := of.Scaled(factor)
			w.Classes[i].Arrivals = &a
		}
	}
}

// MixSource returns the mix of a workload of several streams.
func (w *Workload) MixSource() workloads.Mix {
	m := workloads.Mix{Mix: w.laws(nil), Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience()}
	if c := w.Clients; c != nil {
		m.Clients = workloads.Clients{Count: c.Count, RateSkew: c.RateSkew, CVSpread: c.CVSpread,
			PromptSpread: c.PromptSpread, OutputSpread: c.OutputSpread}
		give(&m.Clients.Arrivals, w.Arrivals)
		return m
	}
	for i := range w.Classes {
		var a arrivals.Spec
		give(&a, w.Classes[i].Arrivals)
		m.ByClass = append(m.ByClass, a)
	}
	return m
}

// checkMix requires that all classes say when their requests come, or none, and refuses what streams do not have.
func (w *Workload) checkMix(c *checker) {
	if !w.Mixed() {
		return
	}
	path, of := "workload.clients", "clients"
	if w.ByClass() {
		path, of = "workload.classes[0].arrivals", "classes with arrivals of their own"
	}
	switch {
	case w.ByClass() && w.Clients != nil:
		c.fail("workload.clients", "stands beside classes with arrivals of their own; expected only one of them")
	case w.Sessions != nil:
		c.fail("workload.sessions", "stands beside %s, whose requests do not wait for answers; expected only one of them", of)
	case w.Agents != nil:
		c.fail("workload.agents", "stands beside %s, whose requests do not wait for answers; expected only one of them", of)
	case w.Lengths != nil:
		c.fail("workload.lengths", "stands beside %s, whose lengths are drawn; expected only one of them", of)
	case w.Distinct != 0:
		c.fail("workload.distinct_prompts", "stands beside %s; expected only one of them", of)
	case w.Clients != nil && w.Arrivals == nil:
		c.fail(path, "stands without arrivals, whose rate clients share; expected workload.arrivals beside it")
	}
	if !w.ByClass() {
		return
	}
	for i := range w.Classes {
		k, path := &w.Classes[i], fmt.Sprintf("workload.classes[%d].", i)
		switch {
		case k.Arrivals == nil:
			c.fail(path+"arrivals", "missing; expected arrivals of every class, or of none")
			continue
		case k.Share != 0:
			c.fail(path+"share", "%g stands beside arrivals, which say how many requests there are; expected only one of them",
				k.Share)
		}
		c.named(path+"arrivals.process", k.Arrivals.Process, arrivals.Names())
	}
}

// checkShare requires the share of a class without arrivals of its own.
func (w *Workload) checkShare(c *checker, i int) {
	if w.Classes[i].Share == 0 && !w.ByClass() {
		c.fail(fmt.Sprintf("workload.classes[%d].share", i),
			"missing; expected a number above 0 and at most 1, or arrivals of every class")
	}
}

// byShare returns the classes with the shares of the requests that their own arrivals come to.
func (w *Workload) byShare() []Class {
	classes := slices.Clone(w.Classes)
	if !w.ByClass() {
		return classes
	}
	m, err := workloads.NewMix(w.MixSource(), 0)
	if err != nil {
		panic(err) // it was made when the scenario was checked
	}
	for i, share := range m.Shares() {
		classes[i].Arrivals, classes[i].Share = nil, share
	}
	return classes
}

// ways returns the keys that say when requests come, of which a workload has one.
func (w *Workload) ways() (given []string) {
	for _, way := range []struct {
		key   string
		there bool
	}{{"arrivals", w.Arrivals != nil}, {"closed_loop", w.ClosedLoop != nil}, {"trace", w.Trace != nil},
		{"classes[0].arrivals", w.ByClass()}} {
		if way.there {
			given = append(given, way.key)
		}
	}
	return given
}
