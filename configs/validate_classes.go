package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/sessions"
)

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
		if w.Trace != nil && k.MaxTokens > 0 {
			c.fail(path+"max_tokens", "%d has no effect on a trace; accepted: null", k.MaxTokens)
		}
		c.law(path+"prompt_tokens", k.PromptTokens)
		c.law(path+"output_tokens", k.OutputTokens)
	}
}

// checkSessions requires the turns, and refuses what has no sessions.
func (w *Workload) checkSessions(c *checker) {
	const path = "workload.sessions"
	s := w.Sessions
	switch {
	case s == nil:
		return
	case w.Trace != nil:
		c.fail(path, "stands beside trace, whose requests are recorded; expected only one of them")
	case w.Lengths != nil:
		c.fail(path, "stands beside lengths, which are of single requests; expected only one of them")
	case w.Distinct != 0:
		c.fail(path, "stands beside distinct_prompts, which are sent again and again; expected only one of them")
	case s.Turns == nil:
		c.fail(path+".turns", "missing; expected a law, such as {distribution: fixed, mean: 5}")
	}
	c.law(path+".turns", s.Turns)
	if s.ThinkTimeS == nil {
		return
	}
	c.named(path+".think_time_s.distribution", s.ThinkTimeS.Distribution, sessions.SpanNames())
}

// law requires the name of a law, with a suggestion, and both coordinates of its points.
func (c *checker) law(path string, l *lengths.Spec) {
	if l != nil {
		c.named(path+".distribution", l.Distribution, lengths.Names())
	}
}
