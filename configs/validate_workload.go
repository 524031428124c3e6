package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// checkKind requires exactly one of the sections that say when requests come.
func (w *Workload) checkKind(c *checker) {
	ways := w.ways()
	if w.Preset != "" {
		c.fail("workload.preset", "%q can only stand in the file of a scenario, where the keys of the file stand over it",
			w.Preset)
		return
	}
	switch {
	case !c.origins.given("workload") && len(ways) == 0:
		c.fail("workload", "missing; expected arrivals, closed_loop or trace in it")
	case len(ways) == 0:
		c.fail("workload", "says not when requests come; expected one of arrivals, closed_loop, trace, or arrivals of "+
			"every class")
	case len(ways) > 1:
		c.fail("workload."+ways[1], "stands beside %s; expected one of arrivals, closed_loop, trace%s", ways[0],
			w.withoutThose(c, ways))
	}
}

// withoutThose says how a --set leaves out all that stands beside the last of ways: so a trace in place of arrivals and
// lengths of a built-in scenario is found in one step.
func (w *Workload) withoutThose(c *checker, ways []string) string {
	last := ways[len(ways)-1]
	if last == "classes[0].arrivals" {
		return ""
	}
	drop := ways[: len(ways)-1 : len(ways)-1]
	if last == "trace" {
		for _, key := range []string{"prompt_tokens", "output_tokens", "lengths", "max_tokens", "prefix", "distinct_prompts",
			"order"} {
			if c.origins.given("workload." + key) {
				drop = append(drop, key)
			}
		}
	}
	return "; for " + last + ", --set workload." + strings.Join(drop, "=null --set workload.") + "=null"
}

// check refuses workloads that no source could send.
func (w *Workload) check(c *checker) {
	w.checkExtent(c)
	w.checkPatience(c)
	w.checkClasses(c)
	w.checkMix(c)
	w.checkSessions(c)
	w.checkAgents(c)
	w.checkReasoning(c)
	switch {
	case w.Trace != nil:
		w.checkTrace(c)
	case w.ClosedLoop != nil:
		if ramp := w.ClosedLoop.RampS; w.DurationS > 0 && ramp > w.DurationS {
			c.fail("workload.closed_loop.ramp_s",
				"%g leaves clients that never start within duration_s, %g; expected at most that", ramp, w.DurationS)
		}
	}
	if w.Trace == nil {
		w.checkLaws(c)
	}
}

// checkExtent requires an end, which a trace and recorded lengths have of their own.
func (w *Workload) checkExtent(c *checker) {
	tasks := w.Agents != nil && w.Agents.Tasks > 0
	if w.Requests == 0 && w.DurationS == 0 && w.Trace == nil && !w.Bounded() && !tasks {
		c.fail("workload", "has no end; expected requests, duration_s or both")
	}
	if w.DurationS > 0 && w.WarmupS >= w.DurationS {
		c.fail("workload.warmup_s", "%g leaves nothing to measure of duration_s, %g; expected less", w.WarmupS, w.DurationS)
	}
}

func (w *Workload) checkPatience(c *checker) {
	switch {
	case w.Cancel.Probability > 0 && w.Cancel.AfterS == 0:
		c.fail("workload.cancel.after_s", "missing; expected seconds above 0 beside a probability of %g",
			w.Cancel.Probability)
	case w.Cancel.Probability == 0 && w.Cancel.AfterS > 0:
		c.fail("workload.cancel.after_s", "%g has no effect; expected a probability above 0 beside it", w.Cancel.AfterS)
	}
}

// checkTrace requires a file, and refuses laws that the trace would replace in silence.
func (w *Workload) checkTrace(c *checker) {
	t, path := w.Trace, "workload.trace."
	c.text(path+"file", t.File, "a path to a CSV or JSON-lines file")
	c.maybeAbove(path+"end_s", t.EndS, t.StartS, sim.HorizonS)
	if t.Rate > 0 && t.Speed != 1 {
		c.fail(path+"rate", "%g stands beside a speed of %g; expected only one of them", t.Rate, t.Speed)
	}
	if w.MaxTokens > 0 {
		c.fail("workload.max_tokens", "%d has no effect on a trace; accepted: null", w.MaxTokens)
	}
	if w.Prefix != nil {
		c.fail("workload.prefix", "stands beside trace, whose block ids say what prompts share; expected only one of them")
	}
	if w.Distinct != 0 || c.origins.given("workload.distinct_prompts") {
		c.fail("workload.distinct_prompts", "stands beside trace, which has prompts of its own; expected only one of them")
	}
	if w.Order != "" || c.origins.given("workload.order") {
		c.fail("workload.order", "stands beside trace, which has an order of its own; expected only one of them")
	}
	if w.PromptTokens != nil {
		c.fail("workload.prompt_tokens", "stands beside trace, which has lengths of its own; expected only one of them")
	}
	if w.OutputTokens != nil {
		c.fail("workload.output_tokens", "stands beside trace, which has lengths of its own; expected only one of them")
	}
	if w.Lengths != nil {
		c.fail("workload.lengths", "stands beside trace, which has lengths of its own; expected only one of them")
	}
}

// checkLaws lets workloads judge the laws, so that no rule is written twice, and points its answer at the file.
func (w *Workload) checkLaws(c *checker) {
	switch {
	case w.Lengths != nil:
		w.checkRecorded(c)
	default:
		w.checkLaw(c, "prompt_tokens", 512, w.PromptTokens, func(k *Class) *lengths.Spec { return k.PromptTokens })
		w.checkLaw(c, "output_tokens", 256, w.OutputTokens, func(k *Class) *lengths.Spec { return k.OutputTokens })
	}
	w.checkNames(c)
	if c.err != nil {
		return
	}
	if err := w.probe(); err != nil {
		c.refused(err)
		return
	}
	w.checkZeros(c)
}

// checkZeros refuses the zeros of arrivals that would stand for what their absence means: who writes one means none at
// all.
func (w *Workload) checkZeros(c *checker) {
	check := func(path string, a *arrivals.Spec) {
		if a == nil {
			return
		}
		for _, of := range []struct {
			key   string
			value float64
		}{{"rate", a.Rate}, {"cv", a.CV}, {"period_s", a.PeriodS}} {
			if at := path + "." + of.key; of.value == 0 && c.given(at) {
				c.fail(at, "0 would count as none; accepted: a number above 0, or null")
			}
		}
	}
	check("workload.arrivals", w.Arrivals)
	for i := range w.Classes {
		check(fmt.Sprintf("workload.classes[%d].arrivals", i), w.Classes[i].Arrivals)
	}
}

// checkLaw requires a law of the lengths under a key for every request: the workload's, or one of each class. Where
// some classes have their own, the key of the first that has none is the one to look at.
func (w *Workload) checkLaw(c *checker, key string, mean int, law *lengths.Spec, own func(*Class) *lengths.Spec) {
	lacks := func(k Class) bool { return own(&k) == nil }
	has := func(k Class) bool { return own(&k) != nil }
	without := slices.IndexFunc(w.Classes, lacks)
	switch {
	case law != nil || len(w.Classes) > 0 && without < 0:
	case slices.ContainsFunc(w.Classes, has):
		c.fail(fmt.Sprintf("workload.classes[%d].%s", without, key), "missing, and workload.%s too; expected a length law, "+
			"such as {distribution: fixed, mean: %d}, in one of them", key, mean)
	default:
		c.fail("workload."+key, "missing; expected a length law, such as {distribution: fixed, mean: %d}", mean)
	}
}

// probe makes a source of the laws, to see whether it can be made. Of a closed loop only the lengths are laws.
func (w *Workload) probe() error {
	probe := *w
	if w.Arrivals == nil { // as many arrivals as there may be requests, within the clock
		probe.Arrivals, probe.Requests, probe.DurationS = &arrivals.Spec{Process: "constant", Rate: 1000}, max(1, w.Requests),
			0
	}
	if w.Sessions != nil {
		_, err := sessions.NewSessionLoop(w.SessionSource(0), 1)
		return err
	}
	if w.Agents != nil {
		_, err := sessions.NewAgentLoop(w.AgentSource(0), 1)
		return err
	}
	if w.Mixed() {
		_, err := workloads.NewMix(w.MixSource(), 1)
		return err
	}
	if w.Lengths == nil {
		_, err := workloads.NewOpenLoop(probe.OpenSource(nil), 1)
		return err
	}
	pairs, err := w.Lengths.probe()
	if err != nil {
		return err
	}
	if w.Lengths.File != "" { // how many there are is seen when it is read
		probe.Lengths = &Recorded{Repeat: true}
		if probe.Requests == 0 && probe.DurationS == 0 {
			probe.Requests = 1
		}
	}
	_, err = workloads.NewOpenLoop(probe.OpenSource(pairs), 1)
	return err
}

// checkNames requires the name of each law, with a suggestion.
func (w *Workload) checkNames(c *checker) {
	if w.Arrivals != nil {
		c.named("workload.arrivals.process", w.Arrivals.Process, arrivals.Names())
	}
	c.law("workload.prompt_tokens", w.PromptTokens)
	c.law("workload.output_tokens", w.OutputTokens)
}

// named requires one of the names.
func (c *checker) named(path, got string, names []string) {
	if got == "" {
		c.fail(path, "missing; valid values: %s", strict.Quoted(names))
	}
	c.oneOf(path, got, names)
}

// refused points an error of workloads at the key that it is about.
func (c *checker) refused(err error) {
	var r *check.Refusal
	if !errors.As(err, &r) {
		c.fail("workload", "%s", strings.TrimPrefix(err.Error(), "workloads: "))
		return
	}
	path := "workload." + r.Field
	if r.Value == "0" && !c.origins.given(path) {
		c.fail(path, "missing; accepted: %s", r.Accepted)
		return
	}
	c.fail(path, "is %s; accepted: %s", r.Value, r.Accepted)
}

// Refused points the answer of a workload that refuses its arguments at the key they come from.
func (s *Scenario) Refused(err error) error {
	c := checker{origins: &s.origins}
	c.refused(err)
	return c.err
}

// IsRefusal reports whether an error names an argument of a workload.
func IsRefusal(err error) bool {
	var r *check.Refusal
	return errors.As(err, &r)
}

// checkClasses refuses classes without a name or a share, and whose SLO no request could have. Whether shares sum to 1
// and what laws may be is for workloads to judge.
func (w *Workload) checkClasses(c *checker) {
	if len(w.Classes) == 0 && c.origins.given("workload.classes") {
		c.fail("workload.classes",
			"is empty; expected a list such as [{name: chat, share: 0.8}, {name: batch, share: 0.2}], or null")
	}
	for i := range w.Classes {
		k, path := &w.Classes[i], fmt.Sprintf("workload.classes[%d].", i)
		if !poolName.MatchString(k.Name) {
			c.fail(path+"name", "%q is not a name of a class; expected a letter, then letters, digits, - and _", k.Name)
		}
		w.checkShare(c, i)
		if w.Trace != nil && k.MaxTokens > 0 {
			c.fail(path+"max_tokens", "%d has no effect on a trace; accepted: null", k.MaxTokens)
		}
		c.law(path+"prompt_tokens", k.PromptTokens)
		c.law(path+"output_tokens", k.OutputTokens)
		c.law(path+"reasoning_tokens", k.ReasoningTokens)
		if w.Trace != nil && k.ReasoningTokens != nil {
			c.fail(path+"reasoning_tokens",
				"stands beside trace, which has lengths of its own; expected workload.reasoning.share")
		}
	}
}

// law requires the name of a law, with a suggestion, and both coordinates of its points.
func (c *checker) law(path string, l *lengths.Spec) {
	if l == nil {
		return
	}
	if l.Distribution == "" {
		c.fail(path+".distribution", "missing; expected %[1]s={distribution: lognormal, mean: 1000, cv: 1}, say, or "+
			"%[1]s=1000 for a fixed length; valid values: %[2]s", path, strict.Quoted(lengths.Names()))
	}
	c.oneOf(path+".distribution", l.Distribution, lengths.Names())
}
