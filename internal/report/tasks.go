package report

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// tasks prints how tasks of agents ended, and what the time went to of the tasks that were completed.
func tasks(t *text.Page, s *metrics.Summary) {
	k := s.Tasks
	if k == nil {
		return
	}
	t.Item("tasks", fmt.Sprintf("%s begun: %s completed, %s failed, %s out of context, %s unfinished", text.Count(k.Begun),
		text.Count(k.Completed), text.Count(k.Failed), text.Count(k.Full), text.Count(k.Unfinished)))
	if said := TaskSentence(s); said != "" {
		t.Item("task time", said)
	}
}

// TaskSentence says what the mean task of agents is made of; empty: none was completed.
func TaskSentence(s *metrics.Summary) string {
	k, took := s.Tasks, s.Latency.Task
	if k == nil || took == nil || took.N == 0 {
		return ""
	}
	agents := ""
	if k.Agents > 1 {
		agents = fmt.Sprintf(" by %s agents", text.Significant(k.Agents))
	}
	share := func(x float64) string { return text.WholePercent(x / took.Mean) }
	p := &k.Parts
	return fmt.Sprintf("%s in the mean, of %s requests%s: %s generation, %s prompts, %s tools, %s waiting",
		text.Duration(took.Mean), text.Significant(k.Requests), agents, share(p.Generation), share(p.Prompts),
		share(p.Tools), share(p.Waiting))
}
