package workloads

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Choices says how many answers each prompt gets. The zero Choices is one.
//
// Without Beam they are n of the OpenAI API: answers of lengths of their own to one prompt. vLLM V1 serves them as that many
// requests, which find each other's prompt in the cache (vllm/v1/engine/parallel_sampling.py, unverified). With Beam they
// are the paths of a beam search, of equal length. Its paths also share what they emit up to where they part; here they
// share the prompt only, so the cache they take is an upper bound, and no path is dropped for a fork of another.
//
// What is shared is kept once and computed once. Every answer still reads it for itself in each step.
type Choices struct {
	N    int64
	Beam bool
}

// ChoicesMax bounds the answers to a prompt.
const ChoicesMax = 1024

// manifold is a source whose prompts may have several answers.
type manifold interface {
	sim.Source
	Contents() *sim.Contents
	Requests() float64
	Err() error
	answers() *sizes // that draw outputs; nil: they are recorded
}

var (
	_ sim.Source   = (*Fan)(nil)
	_ sim.Source   = (*FanClosed)(nil)
	_ sim.Follower = (*FanClosed)(nil)
)

// Fan makes each request of a source several that differ in their output only: with the same arrival, prompt, class and
// deadline, and ids in a row. The first of them has the output that the source says, so more answers change no prompt and
// no first answer. The others draw theirs from the same law; recorded outputs are those of all answers.
type Fan struct {
	source  manifold
	sizes   *sizes
	n       int32
	beam    bool
	outputs *rng.Keyed // by prompt and answer
	tree    *sim.Contents
	current sim.Request // the source's, whose answers are being sent
	next    int32       // of its answers
	prompts int32       // begun
	err     error
}

// NewFan returns the source that gives each prompt of an Open or a Trace its answers.
func NewFan[S interface {
	*Open | *Trace
	manifold
}](source S, c Choices, seed uint64) (*Fan, error) {
	return newFan(source, c, seed)
}

func newFan(source manifold, c Choices, seed uint64) (*Fan, error) {
	if c.N < 1 || c.N > ChoicesMax {
		return nil, refuse(c.key(), c.N, fmt.Sprintf("a whole number from 1 to %d", ChoicesMax))
	}
	if n := source.Requests(); n*float64(c.N) > requestsMax {
		return nil, refuse("requests", int64(n), fmt.Sprintf("at most %d prompts of %d answers", requestsMax/c.N, c.N))
	}
	f := &Fan{source: source, sizes: source.answers(), n: int32(c.N), beam: c.Beam, tree: source.Contents()}
	f.next = f.n
	if f.tree == nil {
		f.tree = new(sim.Contents)
	}
	f.outputs = rng.NewKeyed(seed, "workloads.answers")
	return f, nil
}

func (c *Choices) key() string {
	if c.Beam {
		return "beam_width"
	}
	return "n"
}

// Next fills the next answer.
func (f *Fan) Next(r *sim.Request) bool {
	if f.next == f.n && !f.begin() {
		return false
	}
	*r = f.current
	r.ID = (f.prompts-1)*f.n + f.next
	if f.next > 0 {
		r.Output = f.output()
	}
	f.next++
	return true
}

// begin takes the next prompt and reports whether there is one.
func (f *Fan) begin() bool {
	if f.prompts == requestsMax/f.n {
		f.err = fmt.Errorf("workloads: prompt %d has answers beyond request %d; accepted: fewer prompts or answers", f.prompts, requestsMax)
		return false
	}
	f.current = sim.Request{}
	if !f.source.Next(&f.current) {
		return false
	}
	f.prompts++
	f.next = 0
	f.share(&f.current)
	return true
}

// share gives r, where something of its prompt is its own, a node for it: the answers have the whole prompt in common.
func (f *Fan) share(r *sim.Request) {
	if own := r.Prompt - f.tree.Tokens(r.Content); own > 0 && f.n > 1 {
		r.Content = f.tree.Add(r.Content, own)
	}
}

// output returns what an answer after the first emits.
func (f *Fan) output() int32 {
	r := &f.current
	if f.beam || f.sizes == nil || f.sizes.pairs != nil {
		return r.Output
	}
	law := &f.sizes.output
	if k := f.sizes.classes; k != nil {
		law = either(k.of[r.Class].output, law)
	}
	output := law.draw(f.outputs.At(uint64(r.ID), uint64(f.next)))
	if r.MaxOutput > 0 {
		output = min(output, r.MaxOutput)
	}
	return output
}

// Contents returns the tree that the requests' Content is in.
func (f *Fan) Contents() *sim.Contents { return f.tree }

// Err says why the source ended before its limits, or nil.
func (f *Fan) Err() error {
	if f.err != nil {
		return f.err
	}
	return f.source.Err()
}

func (o *Open) answers() *sizes   { return o.sizes }
func (l *Closed) answers() *sizes { return l.sizes }
func (t *Trace) answers() *sizes  { return nil }
