package configs

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim/metrics"
)

// validate reports the first value that no model or deployment could have. What depends on the model (attention heads,
// memory) is checked where the parts are built.
func (s *Scenario) validate() error {
	c := checker{origins: &s.origins}
	c.text("name", s.Name, "a name")
	c.text("model", s.Model.Config, "a catalog name, or a path to a HuggingFace config.json")
	if len(s.Pools) > 0 {
		s.Workload.checkKind(&c)
	}
	c.checkTags(reflect.ValueOf(s).Elem(), s.idle)
	s.checkPools(&c)
	s.checkFleet(&c)
	s.checkAlerts(&c)
	s.checkTaskRules(&c)
	s.Speculation.check(&c)
	s.checkDecoding(&c)
	s.Noise.check(&c)
	s.Workload.check(&c)
	s.checkAdapters(&c)
	return c.err
}

// poolName is what --set and the environment can name.
var poolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

func (s *Scenario) checkPools(c *checker) {
	if len(s.Pools) == 0 {
		c.fail("pools", "missing; expected a list with at least one pool, such as [{gpu: h100-sxm}]")
	}
	for i := range s.Pools {
		p, path := &s.Pools[i], fmt.Sprintf("pools[%d]", i)
		if !poolName.MatchString(p.Name) {
			c.fail(path+".name", "%q is not a name of a pool; expected a letter, then letters, digits, - and _", p.Name)
		}
		for j := range i {
			if strings.EqualFold(s.Pools[j].Name, p.Name) {
				c.fail(path+".name", "%q is the name of pools[%d] already; expected one of its own", p.Name, j)
			}
		}
		p.check(c, path)
	}
	s.checkRoles(c)
}

// countMax bounds counts of replicas, GPUs and sequences, so that their products fit an int.
const countMax = 1 << 20

// check refuses values out of range and, by name, what this version has no model for.
func (p *Pool) check(c *checker, path string) {
	if p.ReplicasMax != 0 && p.ReplicasMax < p.Replicas {
		c.fail(path+".replicas_max", "%d is below replicas, %d; expected at least that, or null", p.ReplicasMax, p.Replicas)
	}
	p.checkStragglers(c, path)
	if p.StartsCold && p.ColdStartS == 0 && p.WeightsLoadBps == 0 {
		c.fail(path+".starts_cold", "true has no effect without cold_start_s or weights_load_bps; "+
			"expected one of them, or null")
	}
	if p.Model != "" && p.Role != RoleEncode {
		c.fail(path+".model", "%q, but a pool of role %s runs the scenario's; accepted: null, or role %s", p.Model, p.Role,
			RoleEncode)
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		c.fail(path+".engine", "%s", strict.Message(err))
		return
	}
	p.checkArguments(c, path, &engine)
	p.checkRanks(c, path)
	if p.Efficiency == (EfficiencyRef{}) && c.origins.given(path+".efficiency") {
		c.fail(path+".efficiency", "is empty; expected a name, a path to a file of efficiencies, or null for the engine's")
	}
	if p.Efficiency.Base != "" && !catalog.IsEfficiencyPath(p.Efficiency.Base) {
		c.oneOf(path+".efficiency", catalog.Unreleased(p.Efficiency.Base), catalog.EfficiencyNames())
		if _, err := catalog.EfficienciesOf(p.Efficiency.Base); err != nil {
			c.fail(path+".efficiency", "%s", strict.Message(err))
		}
	}
	p.checkTransfer(c, path, &engine)
}

// checkAlerts refuses alerts that could not be evaluated.
func (s *Scenario) checkAlerts(c *checker) {
	for i := range s.Alerts {
		a, path := &s.Alerts[i], fmt.Sprintf("alerts[%d].", i)
		if n := len(a.Rule); n != 1 {
			c.fail(path+"rule", "has %d rules; expected one, such as 'ttft p95 <= 1s'", n)
		}
		if w := s.SLO.WindowS; w > 0 && a.OverS > 0 && !multiple(a.OverS, w) {
			c.fail(path+"over_s", "%g is no multiple of slo.window_s, %g; expected one", a.OverS, w)
		}
	}
}

// checkTaskRules refuses rules about the time of tasks where there are none.
func (s *Scenario) checkTaskRules(c *checker) {
	if s.Workload.Tasks() {
		return
	}
	about := func(path string, lines slo.Lines) {
		for _, r := range lines.Rules() {
			if r.Terms[0].Metric == metrics.RuleTask {
				c.fail(path, "%q is about tasks of agents; expected workload.agents, trace.follow_answers, or a rule "+
					"on e2e", r.String())
			}
		}
	}
	about("slo.rules", s.SLO.Rules)
	for i := range s.Alerts {
		about(fmt.Sprintf("alerts[%d].rule", i), s.Alerts[i].Rule)
	}
	for i := range s.Workload.Classes {
		if k := s.Workload.Classes[i].SLO; k != nil {
			about(fmt.Sprintf("workload.classes[%d].slo.rules", i), k.Rules)
		}
	}
}

// multiple reports whether x is a whole number of times as much as unit, to the nanosecond.
func multiple(x, unit float64) bool {
	n := int64(x/unit + 0.5)
	return n > 0 && abs(x-float64(float64(n)*unit)) < 1e-9
}

func abs(x float64) float64 { return max(x, -x) }

// checkStragglers refuses slow replicas of which only half is said.
func (p *Pool) checkStragglers(c *checker, path string) {
	slow, slowdown := path+".straggler_replicas", path+".straggler_slowdown"
	switch {
	case p.StragglerReplicas != 0 && !c.origins.given(slowdown):
		c.fail(slowdown, "missing beside straggler_replicas; expected a number such as 1.5")
	case p.StragglerSlowdown != 0 && !c.origins.given(slow):
		c.fail(slow, "missing beside straggler_slowdown; expected a whole number from 1 to %d", p.Replicas)
	}
	c.maybeCount(slow, int64(p.StragglerReplicas), int64(p.Replicas))
}

// checker keeps the first error.
type checker struct {
	origins *origins
	err     error
}

func (c *checker) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = c.origins.errorf(path, format, args...)
	}
}

// text requires a value that can stand on one line.
func (c *checker) text(path, text, want string) {
	switch {
	case text == "":
		c.fail(path, "missing; expected %s", want)
	case !inputs.PrintableName(text):
		c.fail(path, "%q has characters that do not print; expected %s", text, want)
	}
}

func (c *checker) oneOf(path, name string, names []string) {
	if c.err == nil && !slices.Contains(names, name) {
		c.fail(path, "%q is unknown; %s", name, strict.DidYouMean("values", name, names))
	}
}

func (c *checker) whole(path string, n, low, high int64) {
	if n < low || n > high {
		c.fail(path, "%d is out of range; expected a whole number from %d to %d", n, low, high)
	}
}

func (c *checker) count(path string, n, high int64) { c.whole(path, n, 1, high) }

// maybeCount accepts an absent number too, which is zero as long as nobody wrote it.
func (c *checker) maybeCount(path string, n, high int64) {
	if n != 0 || c.origins.given(path) {
		c.count(path, n, high)
	}
}

// above requires low < x ≤ high.
func (c *checker) above(path string, x, low, high float64) {
	if !(x > low && x <= high) {
		c.fail(path, "%g is out of range; expected a number above %g and at most %g", x, low, high)
	}
}

// maybeAbove accepts an absent number too.
func (c *checker) maybeAbove(path string, x, low, high float64) {
	if x != 0 || c.origins.given(path) {
		c.above(path, x, low, high)
	}
}

// within requires low ≤ x ≤ high.
func (c *checker) within(path string, x, low, high float64) {
	if !(x >= low && x <= high) || math.IsNaN(x) {
		c.fail(path, "%g is out of range; expected a number from %g to %g", x, low, high)
	}
}
