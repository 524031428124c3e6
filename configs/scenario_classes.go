package configs

import (
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// Class is a service class: a share of the requests, drawn for each one (for each session, where there are sessions).
type Class struct {
	Name         string        `yaml:"name" doc:"of the class"`
	Share        float64       `yaml:"share" required:"a number above 0 and at most 1" doc:"of the requests; all shares sum to 1"`
	Priority     int64         `yaml:"priority" bound:"[-128,127]" doc:"lower first, where the queue order is priority"`
	SLO          *ClassSLO     `yaml:"slo" about:"limits of the class, in place of all the scenario's"`
	PromptTokens *lengths.Spec `yaml:"prompt_tokens" about:"law of prompt lengths; null: the workload's"`
	OutputTokens *lengths.Spec `yaml:"output_tokens" about:"law of output lengths; null: the workload's"`
	MaxTokens    int64         `yaml:"max_tokens,omitempty" bound:"[1,1073741823]" doc:"the client's limit on the output; null: the workload's"`
}

// ClassSLO holds the limits of a class, in place of all the scenario's. 0: no such limit.
type ClassSLO struct {
	TTFTMS float64 `yaml:"ttft_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the first token; null: no limit"`
	TPOTMS float64 `yaml:"tpot_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds per token after it; null: no limit"`
	E2EMS  float64 `yaml:"e2e_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the last token; null: no limit"`
}

// classes returns the service classes; nil: none.
func (w *Workload) classes() []requests.Class {
	var classes []requests.Class
	for i := range w.Classes {
		c := &w.Classes[i]
		k := requests.Class{Name: c.Name, Share: c.Share, Priority: c.Priority}
		if c.PromptTokens != nil {
			k.Prompt = *c.PromptTokens
		}
		if c.OutputTokens != nil {
			k.Output = *c.OutputTokens
		}
		if c.MaxTokens > 0 {
			k.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: float64(c.MaxTokens)}
		}
		classes = append(classes, k)
	}
	return classes
}
