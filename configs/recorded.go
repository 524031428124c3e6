package configs

import (
	"github.com/decodesim/decodesim/workloads/lengths"
)

// Recorded is lengths as they were, in place of prompt_tokens and output_tokens: the k-th request sent has the k-th of
// them, whichever client sends it.
type Recorded struct {
	File   string    `yaml:"file,omitempty" doc:"CSV or JSON lines, plain or gzipped, with a prompt and an output in tokens per row; null: values"`
	Values [][]int64 `yaml:"values,omitempty" doc:"prompts and outputs in tokens, such as [[512, 128], [90, 400]]; null: file"`
	Repeat bool      `yaml:"repeat" doc:"start again after the last; false: no more requests than there are lengths"`
}

// valuesMax bounds the lengths that are written out: more belong into a file.
const valuesMax = 100_000

// Bounded reports whether recorded lengths say how many requests there are: each is sent once.
func (w *Workload) Bounded() bool { return w.Lengths != nil && !w.Lengths.Repeat && w.Distinct == 0 }

// checkRecorded refuses recorded lengths of two kinds, of none, and beside laws.
func (w *Workload) checkRecorded(c *checker) {
	const path = "workload.lengths"
	l := w.Lengths
	switch file, values := c.origins.given(path+".file"), c.origins.given(path+".values"); {
	case w.PromptTokens != nil:
		c.fail("workload.prompt_tokens", "stands beside lengths, which say how long prompts are; expected only one of them")
	case w.OutputTokens != nil:
		c.fail("workload.output_tokens", "stands beside lengths, which say how long outputs are; expected only one of them")
	case file && values:
		c.fail(path+".values", "stands beside file; expected only one of them")
	case file:
		c.text(path+".file", l.File, "a path to a CSV or JSON-lines file")
	case !values:
		c.fail(path, "says no lengths; expected file, or values such as [[512, 128], [90, 400]]")
	case len(l.Values) > valuesMax:
		c.fail(path+".values", "has %d pairs; expected at most %d, or file", len(l.Values), valuesMax)
	}
}

// probe returns lengths to judge the rest of a workload by before any file is read: those written out, or any.
func (l *Recorded) probe() (pairs *lengths.Pairs, err error) {
	if l.File == "" {
		return lengths.NewPairs(l.Values)
	}
	return lengths.NewPairs([][]int64{{1, 1}})
}
