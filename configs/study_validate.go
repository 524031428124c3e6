package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// Limits of a study. One longer than these would not end the same day.
const (
	studyGPUsMax     = 4096
	studySeedsMax    = 100
	studyRequestsMin = 400
	studyRequestsMax = 10_000_000
	studyListMax     = 32
	studyRangeMax    = 1e6 // rate.max over rate.min
)

// validate reports the first value that no study could have.
func (s *Study) validate() error {
	c := checker{origins: &s.origins}
	c.text("name", s.Name, "a name")
	s.checkSubject(&c)
	given := c.given("budget.gpus") || c.given("budget.usd_per_hour") || c.given("budget.power_w")
	if !s.Budget.Limited() && !given && s.Rate.At == 0 && !c.given("rate.at") {
		c.fail("budget", "missing; expected gpus: 64, say, or usd_per_hour, or power_w")
	}
	c.checkTags(reflect.ValueOf(s).Elem(), func(string) bool { return false })
	if len(s.SLO.Rules) > 0 && !s.SLO.OfRequests() && c.given("attainment") {
		c.fail("attainment", "%g, but slo has rules alone, which say it themselves; expected null, or limits beside them "+
			"such as slo.ttft_ms", s.Attainment)
	}
	s.checkRate(&c)
	s.Search.check(&c)
	return c.err
}

// checkSubject requires a scenario, or what stands in its place.
func (s *Study) checkSubject(c *checker) {
	if s.Scenario == "" && s.Model == "" {
		c.text("scenario", s.Scenario, "the name of a scenario or a path to a YAML file; or model, trace and search.gpu")
	}
	if s.Engine != "" {
		c.oneOf("engine", s.Engine, catalog.EngineNames())
	}
	if s.Scenario != "" {
		if !isScenarioPath(s.Scenario) && !slices.Contains(ScenarioNames(), s.Scenario) {
			c.fail("scenario", "%s", strict.UnknownName("scenario", s.Scenario, ScenarioNames()))
		}
		for _, of := range [][2]string{{"model", s.Model}, {"weights", s.Weights}, {"kv_cache", s.KVCache}} {
			if of[1] != "" {
				c.fail(of[0], "%q beside scenario %q, which says that itself; expected set: [%s=…] to change it", of[1],
					s.Scenario, of[0])
			}
		}
		if s.Trace != "" {
			c.fail("trace", "%q beside scenario %q, which has a workload of its own; expected one of them", s.Trace, s.Scenario)
		}
		return
	}
	if len(s.Search.GPU) == 0 {
		c.fail("search.gpu", "missing; expected catalog names of GPUs, such as [h200-sxm, b200-sxm]")
	}
	if s.Trace == "" && !slices.ContainsFunc(s.Set, func(set string) bool { return strings.HasPrefix(set, "workload.") }) {
		c.fail("trace", "missing; expected a file of recorded requests, or lengths by workload.prompt_tokens=1000 (or a "+
			"law such as {distribution: lognormal, mean: 1000, cv: 1}) and workload.output_tokens=300 in set; or --prompt "+
			"1000 and --output 300")
	}
}

// given reports whether somebody said what stands at path.
func (c *checker) given(path string) bool { return c.origins.given(path) }

func (s *Study) checkRate(c *checker) {
	r := &s.Rate
	at, ranged := r.At != 0 || c.given("rate.at"), r.Min != 0 || r.Max != 0 || c.given("rate.min") || c.given("rate.max")
	switch {
	case at && ranged:
		c.fail("rate.at", "%g beside a range; expected at, or min and max", r.At)
	case !at && !ranged:
		c.fail(
			"rate", "missing; expected at: the requests/s to carry, or min and max: where to look for the most that is carried")
	case at:
		c.above("rate.at", r.At, 0, 1e9)
	default:
		c.above("rate.min", r.Min, 0, 1e9)
		if !(r.Max > r.Min && r.Max <= r.Min*studyRangeMax) {
			c.fail("rate.max", "%g is out of range; expected a number above rate.min, %g, and at most %g times that", r.Max,
				r.Min, studyRangeMax)
		}
	}
}

func (s *StudySearch) check(c *checker) {
	if len(s.Topology) == 0 {
		c.fail("search.topology", "is empty; expected a list of %s, %s or both", Colocated, Disaggregated)
	}
	for i, t := range s.Topology {
		c.oneOf(fmt.Sprintf("search.topology[%d]", i), t, []string{Colocated, Disaggregated})
		if slices.Contains(s.Topology[:i], t) {
			c.fail(fmt.Sprintf("search.topology[%d]", i), "%q twice; expected each once", t)
		}
	}
	s.checkGPUs(c)
	s.checkLayouts(c)
	c.counts("search.tensor_parallel", s.TensorParallel, 1024)
	c.counts("search.prefill_tensor_parallel", s.PrefillTensorParallel, 1024)
	c.counts("search.max_num_seqs", s.MaxNumSeqs, countMax)
	c.counts("search.max_num_batched_tokens", s.MaxNumBatchedTokens, countMax)
	if !slices.Contains(s.Topology, Disaggregated) {
		if s.PrefillGPU != nil || s.PrefillParallel != nil {
			c.fail("search.topology", "has no %s, but search.prefill_gpu or search.prefill_parallel is given; accepted: null",
				Disaggregated)
		}
		if s.PrefillTensorParallel != nil {
			c.fail("search.prefill_tensor_parallel", "given, but search.topology has no %s; accepted: null", Disaggregated)
		}
		if !s.Split.All() {
			c.fail("search.split", "%q, but search.topology has no %s; accepted: %s", s.Split, Disaggregated, AllSplits)
		}
	}
	if len(s.Split) == 0 {
		c.fail("search.split", "is empty; expected %s, or a list such as [1P3D, 2P2D]", AllSplits)
	}
	for _, text := range s.Split {
		if _, _, ok := ParseSplit(text); !ok && !s.Split.All() {
			c.fail("search.split", "%q is not a split; expected %s, or prefill and decode replicas such as 1P3D", text,
				AllSplits)
		}
	}
}

// checkGPUs requires GPUs of the catalog, each once.
func (s *StudySearch) checkGPUs(c *checker) {
	for _, of := range []struct {
		path string
		list []string
	}{{"search.gpu", s.GPU}, {"search.prefill_gpu", s.PrefillGPU}} {
		if of.list != nil && len(of.list) == 0 {
			c.fail(of.path, "is empty; expected catalog names of GPUs, or null for the scenario's")
		}
		for i, name := range of.list {
			path := fmt.Sprintf("%s[%d]", of.path, i)
			if !slices.Contains(catalog.GPUNames(), name) {
				c.fail(path, "%s", catalog.UnknownGPU(name).Error())
			}
			if slices.Contains(of.list[:i], name) {
				c.fail(path, "%q twice; expected each once", name)
			}
		}
	}
}

// checkLayouts requires layouts that can be read, and no second say in tensor parallelism.
func (s *StudySearch) checkLayouts(c *checker) {
	for _, of := range []struct {
		path, other string
		layouts     Layouts
		tensor      []int
	}{
		{"search.parallel", "search.tensor_parallel", s.Parallel, s.TensorParallel},
		{"search.prefill_parallel", "search.prefill_tensor_parallel", s.PrefillParallel, s.PrefillTensorParallel},
	} {
		if of.layouts == nil {
			continue
		}
		if of.tensor != nil {
			c.fail(of.path, "given beside %s; expected only one of them", of.other)
		}
		if n := len(of.layouts); n == 0 || n > studyListMax {
			c.fail(of.path, "has %d values; expected 1 to %d, or %s", n, studyListMax, AutoLayouts)
		}
		for i, text := range of.layouts {
			path := fmt.Sprintf("%s[%d]", of.path, i)
			if _, ok := ParseLayout(text); !ok && !of.layouts.Auto() {
				c.fail(path, "%q is not a layout; expected %s, or one such as tp8, tp8-pp2, dp8-ep or tp2-dp4-ep", text,
					AutoLayouts)
			}
			if slices.Contains(of.layouts[:i], text) {
				c.fail(path, "%q twice; expected each once", text)
			}
		}
	}
}

// counts requires a list of different positive numbers, or none.
func (c *checker) counts(path string, list []int, high int64) {
	if list != nil && len(list) == 0 || len(list) > studyListMax {
		c.fail(path, "has %d values; expected 1 to %d, or null for the scenario's", len(list), studyListMax)
	}
	for i, n := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.count(at, int64(n), high)
		if slices.Contains(list[:i], n) {
			c.fail(at, "%d twice; expected each once", n)
		}
	}
}
