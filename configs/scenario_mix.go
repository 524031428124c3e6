package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
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

// Adapters is a set of LoRA adapters, and how often each is asked for.
type Adapters struct {
	Count     int64     `yaml:"count" required:"a number of adapters" bound:"[1,65535]" unit:"adapters" doc:"adapters"`
	Rank      int       `yaml:"rank,omitempty" bound:"[1,512]" unit:"rows" doc:"rows of each; null: max_lora_rank of the pools, the least"`
	Zipf      float64   `yaml:"zipf" bound:"[0,10]" doc:"the k-th adapter is asked for in proportion to k^-zipf; 0: all are alike"`
	Weights   []float64 `yaml:"weights,omitempty" doc:"of each adapter, in place of zipf; null: as zipf says"`
	BaseShare float64   `yaml:"base_share" bound:"[0,1]" doc:"share of the requests that have no adapter"`
}

// Adapted reports whether some requests have adapters.
func (w *Workload) Adapted() bool {
	for i := range w.Classes {
		if w.Classes[i].Adapters != nil {
			return true
		}
	}
	return w.Adapters != nil
}

// AdapterMix returns the adapters of the requests; an absent rank is as given.
func (w *Workload) AdapterMix(rank int) (m workloads.AdapterMix) {
	of := func(a *Adapters) *workloads.Adapters {
		if a == nil {
			return nil
		}
		set := &workloads.Adapters{Count: a.Count, Zipf: a.Zipf, Weights: a.Weights, BaseShare: a.BaseShare, Rank: a.Rank}
		if set.Rank == 0 {
			set.Rank = rank
		}
		return set
	}
	m.All = of(w.Adapters)
	for i := range w.Classes {
		m.Classes = append(m.Classes, of(w.Classes[i].Adapters))
	}
	return m
}

// checkAdapters refuses adapters where no pool serves them, or one that a request may come to does not, and adapters
// of more rows than a slot has.
func (s *Scenario) checkAdapters(c *checker) {
	w := &s.Workload
	if !w.Adapted() {
		return
	}
	check := func(path string, a *Adapters) {
		for i := range s.Pools {
			p, at := &s.Pools[i], fmt.Sprintf("pools[%d]", i)
			switch {
			case a == nil:
			case !p.EnableLoRA:
				c.fail(path, "names adapters, but %s serves the model alone; expected %s.enable_lora: true, a key of %s", at, at,
					strings.Join(catalog.EnginesWith("enable_lora"), ", "))
			case a.Rank > p.MaxLoRARank:
				c.fail(path+".rank", "%d is above %s of %s, %d; expected at most that", a.Rank,
					c.origins.name(at+".max_lora_rank"), at, p.MaxLoRARank)
			}
		}
		if a != nil && len(a.Weights) == 0 && c.origins.given(path+".weights") {
			c.fail(path+".weights", "is empty; expected a weight for each adapter, or null")
		}
	}
	check("workload.adapters", w.Adapters)
	for i := range w.Classes {
		check(fmt.Sprintf("workload.classes[%d].adapters", i), w.Classes[i].Adapters)
	}
	if c.err == nil {
		if _, _, err := workloads.NewAdapted(nil, w.AdapterMix(1), nil, 0); err != nil {
			c.refused(err)
		}
	}
}
