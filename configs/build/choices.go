package build

import (
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/traces"
)

// decodingOf returns what choosing tokens costs.
func decodingOf(s *configs.Scenario) hardware.Decoding {
	return hardware.Decoding{Sampling: hardware.Sampling(s.Decoding.Sampling), StructuredS: s.Decoding.StructuredOutputS}
}

// fan makes what the run takes its requests from: the source, or several answers to each of its prompts.
func (b *Built) fan() (sim.Source, error) {
	k := b.Scenario.Decoding.Choices()
	if k.N == 1 {
		return b.source, nil
	}
	switch s := b.source.(type) {
	case *workloads.Open:
		return workloads.NewFan(s, k, b.Scenario.Seed)
	case *workloads.Mixed:
		return workloads.NewFan(s, k, b.Scenario.Seed)
	case *traces.Trace:
		return workloads.NewFan(s, k, b.Scenario.Seed)
	case *sessions.Closed:
		return workloads.NewFanClosed(s, k, b.Scenario.Seed)
	}
	panic(fmt.Sprintf("configs: %d answers of a %T", k.N, b.source))
}

// noteChoices says what several answers to a prompt are taken for.
func noteChoices(s *configs.Scenario) (notes []string) {
	d, w := &s.Decoding, &s.Workload
	k := d.Choices()
	if k.N == 1 {
		return nil
	}
	notes = append(
		notes, fmt.Sprintf("each prompt is %d requests, one for each answer: what is counted and timed is answers", k.N))
	if k.Beam {
		notes = append(
			notes, "the paths of a beam share the prompt only and none is dropped for another's fork: the KV cache they take "+
				"is an upper "+
				"bound; choosing among them takes no time; a client of a beam search has nothing before its end, so ttft and itl "+
				"are the engine's")
	}
	cached, replicas := true, 0
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Prefills() {
			cached, replicas = cached && p.EnablePrefixCaching, replicas+p.Replicas
		}
	}
	if !cached {
		notes = append(notes, fmt.Sprintf("enable_prefix_caching is false: each prompt is computed and kept %d times", k.N))
	} else if replicas > 1 {
		notes = append(
			notes, fmt.Sprintf(
				"the router places each answer by itself: a prompt is computed on every one of the %d replicas that has "+
					"one of its answers", replicas))
	}
	if !k.Beam && (w.Trace != nil || w.Lengths != nil) {
		notes = append(notes, "all answers to a prompt are as long as the recorded one")
	}
	return notes
}

// drawn returns how many prompts and outputs the laws of a run that sent so many requests have been asked for.
func drawn(s *configs.Scenario, sent int64) (prompts, outputs int64) {
	k, distinct := s.Decoding.Choices(), s.Workload.Distinct
	prompts = (sent + k.N - 1) / k.N
	others := sent - prompts // not drawn with their prompt
	if k.Beam {
		others = 0
	}
	if distinct > 0 { // drawn once, then sent again and again
		prompts = distinct
	}
	return prompts, prompts + others
}
