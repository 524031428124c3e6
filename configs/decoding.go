package configs

import (
	"github.com/decodesim/decodesim/workloads"
)

// Decoding is how tokens are chosen, as far as it costs time, and how many answers a prompt gets. Of the workload
// requests then counts prompts; of the results it counts answers.
type Decoding struct {
	Sampling          string  `yaml:"sampling" oneof:"samplings" doc:"greedy top-k top-p: what choosing a token costs, by the vocabulary"`
	StructuredOutputS float64 `yaml:"structured_output_s,omitempty" bound:"[0,3600]" about:"time of the host per step to constrain the output"`
	N                 int64   `yaml:"n,omitempty" bound:"[1,choices]" unit:"answers" about:"answers to each prompt, each of a length of its own; null: 1"`
	BeamWidth         int64   `yaml:"beam_width,omitempty" bound:"[1,choices]" about:"paths of a beam search, of equal length; null: none"`
}

// Choices returns how many answers a prompt gets.
func (d *Decoding) Choices() workloads.Choices {
	if d.BeamWidth > 0 {
		return workloads.Choices{N: d.BeamWidth, Beam: true}
	}
	return workloads.Choices{N: max(1, d.N)}
}

// checkDecoding reports what no engine chooses by, and answers that no workload could ask for.
func (s *Scenario) checkDecoding(c *checker) {
	d := &s.Decoding
	if d.N > 0 && d.BeamWidth > 0 {
		c.fail("decoding.beam_width", "%d stands beside n, %d; expected only one of them", d.BeamWidth, d.N)
	}
	if k := d.Choices(); k.N > 1 {
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
		c.fail("workload.requests", "%d prompts of %d answers each; expected at most %d prompts", w.Requests, k.N,
			requestsMax/k.N)
	}
	if !k.Beam || len(s.Pools) == 0 {
		return
	}
	if s.Speculation.On() {
		c.fail(
			path, "%d stands beside speculation, with which paths of a beam would not be of equal length; expected only one "+
				"of them", k.N)
	}
	for i := range s.Pools {
		if most := s.Pools[i].SequencesMax(); most > 0 && s.Pools[i].Decodes() && k.N > int64(most) {
			c.fail(path, "%d paths, but a replica runs %d sequences at once; expected at most that", k.N, most)
		}
	}
}
