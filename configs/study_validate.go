package configs

import (
	"fmt"
	"reflect"
	"slices"

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
	c.text("scenario", s.Scenario, "the name of a scenario or a path to a YAML file")
	if s.Scenario != "" && !isScenarioPath(s.Scenario) && !slices.Contains(ScenarioNames(), s.Scenario) {
		c.fail("scenario", "%s", strict.UnknownName("scenario", s.Scenario, ScenarioNames()))
	}
	if s.Budget.GPUs == 0 && s.Budget.USDPerHour == 0 && !c.given("budget.gpus") && !c.given("budget.usd_per_hour") {
		c.fail("budget", "missing; expected gpus: 64, say, or usd_per_hour, or both")
	}
	c.checkTags(reflect.ValueOf(s).Elem(), func(string) bool { return false })
	s.checkRate(&c)
	s.Search.check(&c)
	return c.err
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
	c.counts("search.tensor_parallel", s.TensorParallel, 1024)
	c.counts("search.prefill_tensor_parallel", s.PrefillTensorParallel, 1024)
	c.counts("search.max_num_seqs", s.MaxNumSeqs, countMax)
	c.counts("search.max_num_batched_tokens", s.MaxNumBatchedTokens, countMax)
	if !slices.Contains(s.Topology, Disaggregated) {
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
