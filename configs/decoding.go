package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
)

// Decoding is how tokens are chosen, as far as it costs time, and how many answers a prompt gets. Of the workload requests
// then counts prompts; of the results it counts answers.
type Decoding struct {
	Sampling          string  `yaml:"sampling" doc:"greedy top-k top-p: what choosing a token costs, by the vocabulary"`
	StructuredOutputS float64 `yaml:"structured_output_s,omitempty"` // what the host takes per step to constrain the output
	N                 int64   `yaml:"n,omitempty"`                   // answers to each prompt, of lengths of their own; absent: 1
	BeamWidth         int64   `yaml:"beam_width,omitempty"`          // paths of a beam search, of equal length; absent: none
}

// choices returns how many answers a prompt gets.
func (d *Decoding) choices() workloads.Choices {
	if d.BeamWidth > 0 {
		return workloads.Choices{N: d.BeamWidth, Beam: true}
	}
	return workloads.Choices{N: max(1, d.N)}
}

// decoding returns what choosing tokens costs.
func (s *Scenario) decoding() hardware.Decoding {
	return hardware.Decoding{Sampling: hardware.Sampling(s.Decoding.Sampling), StructuredS: s.Decoding.StructuredOutputS}
}

// checkDecoding reports what no engine chooses by, and answers that no workload could ask for.
func (s *Scenario) checkDecoding(c *checker) {
	d := &s.Decoding
	c.oneOf("decoding.sampling", d.Sampling, hardware.Samplings())
	c.within("decoding.structured_output_s", d.StructuredOutputS, 0, 3600)
	c.maybeCount("decoding.n", d.N, workloads.ChoicesMax)
	c.maybeCount("decoding.beam_width", d.BeamWidth, workloads.ChoicesMax)
	if d.N > 0 && d.BeamWidth > 0 {
		c.fail("decoding.beam_width", "%d stands beside n, %d; expected only one of them", d.BeamWidth, d.N)
	}
	if k := d.choices(); k.N > 1 {
		s.checkChoices(c, k)
	}
}

// checkChoices refuses answers that nobody could continue, number or compute together.
func (s *Scenario) checkChoices(c *checker, k workloads.Choices) {
	path := "decoding.n"
	if k.Beam {
		path = "decoding.beam_width"
	}
	const requestsMax = 1<<31 - 1
	switch w := &s.Workload; {
	case w.Sessions != nil:
		c.fail(path, "%d, but a session goes on from one answer; expected 1, or a workload without sessions", k.N)
	case w.Requests > requestsMax/k.N:
		c.fail("workload.requests", "%d prompts of %d answers each; expected at most %d prompts", w.Requests, k.N, requestsMax/k.N)
	}
	if !k.Beam || len(s.Pools) == 0 {
		return
	}
	if s.Speculation.On() {
		c.fail(path, "%d stands beside speculation, with which paths of a beam would not be of equal length; expected only one of them", k.N)
	}
	for i := range s.Pools {
		if seats := s.Pools[i].Seats(); seats > 0 && s.Pools[i].Decodes() && k.N > int64(seats) {
			c.fail(path, "%d paths, but a replica runs %d sequences at once; expected at most that", k.N, seats)
		}
	}
}

// fan makes what the run takes its requests from: the source, or several answers to each of its prompts.
func (b *Built) fan() (sim.Source, error) {
	k := b.Scenario.Decoding.choices()
	if k.N == 1 {
		return b.source, nil
	}
	switch s := b.source.(type) {
	case *workloads.Open:
		return workloads.NewFan(s, k, b.Scenario.Seed)
	case *workloads.Trace:
		return workloads.NewFan(s, k, b.Scenario.Seed)
	case *workloads.Closed:
		return workloads.NewFanClosed(s, k, b.Scenario.Seed)
	}
	panic(fmt.Sprintf("configs: %d answers of a %T", k.N, b.source))
}

// noteChoices says what several answers to a prompt are taken for.
func (s *Scenario) noteChoices() (notes []string) {
	d, w := &s.Decoding, &s.Workload
	k := d.choices()
	if k.N == 1 {
		return nil
	}
	notes = append(notes, fmt.Sprintf("each prompt is %d requests, one for each answer: what is counted and timed is answers", k.N))
	if k.Beam {
		notes = append(notes, "the paths of a beam share the prompt only and none is dropped for another's fork: the KV cache they take is an upper "+
			"bound; choosing among them takes no time; a client of a beam search has nothing before its end, so ttft and itl are the engine's")
	}
	cached, replicas := true, 0
	for i := range s.Pools {
		if p := &s.Pools[i]; p.prefills() {
			cached, replicas = cached && p.EnablePrefixCaching, replicas+p.Replicas
		}
	}
	if !cached {
		notes = append(notes, fmt.Sprintf("enable_prefix_caching is false: each prompt is computed and kept %d times", k.N))
	} else if replicas > 1 {
		notes = append(notes, fmt.Sprintf("the router places each answer by itself: a prompt is computed on every one of the %d replicas that has "+
			"one of its answers", replicas))
	}
	if !k.Beam && (w.Trace != nil || w.Lengths != nil) {
		notes = append(notes, "all answers to a prompt are as long as the recorded one")
	}
	return notes
}

// drawn returns how many prompts and outputs the laws of a run that sent so many requests have been asked for.
func (s *Scenario) drawn(sent int64) (prompts, outputs int64) {
	k, distinct := s.Decoding.choices(), s.Workload.Distinct
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
