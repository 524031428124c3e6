package workloads

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Choices says how many outputs each prompt gets. The zero Choices is one.
//
// Without Beam they are n of the OpenAI API: outputs of independent lengths to one prompt. vLLM V1 serves them as that
// many requests, which find each other's prompt in the cache (vllm/v1/engine/parallel_sampling.py, unverified). With
// Beam they are the paths of a beam search, of equal length. Its paths also share what they emit up to where they
// diverge; here they share the prompt only, so the cache they take is an upper bound, and no path is dropped for a fork
// of another.
//
// What is shared is in the cache once and computed once. Every request still reads all of it in each step.
type Choices struct {
	N    int64
	Beam bool
}

// ChoicesMax bounds the outputs of a prompt.
const ChoicesMax = 1024

// fannable is a source whose prompts may have several outputs.
type fannable interface {
	sim.Source
	Contents() *sim.Contents
	Requests() float64
	Err() error
}

// sampled is a source that draws its outputs.
type sampled interface{ Sampler() *requests.Sampler }

var (
	_ sim.Source   = (*Fan)(nil)
	_ sim.Source   = (*FanClosed)(nil)
	_ sim.Follower = (*FanClosed)(nil)
	_ sampled      = (*Open)(nil)
	_ sampled      = (*sessions.Closed)(nil)
)

// Fan makes each request of a source several that differ in their output only: with the same arrival, prompt, class and
// deadline, and consecutive ids. The first of them has the output that the source says, so more choices change no
// prompt and no first output. The others draw theirs from the same law; a recorded output is that of all choices.
type Fan struct {
	source  fannable
	sampler *requests.Sampler // nil: outputs are recorded
	n       int32
	beam    bool
	outputs *rng.Keyed // by prompt and choice
	tree    *sim.Contents
	current sim.Request // the source's request whose choices are being sent
	next    int32       // index of its next choice
	prompts int32       // begun
	err     error
}

// NewFan returns the source that gives each prompt of an open loop or a trace its choices.
func NewFan[S interface {
	*Open | *Mixed | *traces.Trace
	fannable
}](source S, c Choices, seed uint64) (*Fan, error) {
	return newFan(source, c, seed)
}

func newFan(source fannable, c Choices, seed uint64) (*Fan, error) {
	if c.N < 1 || c.N > ChoicesMax {
		return nil, check.Count(c.key(), c.N, ChoicesMax)
	}
	if n := source.Requests(); n*float64(c.N) > check.RequestsMax {
		return nil, check.Refuse("requests", int64(n),
			fmt.Sprintf("at most %d prompts of %d answers", check.RequestsMax/c.N, c.N))
	}
	f := &Fan{source: source, n: int32(c.N), beam: c.Beam, tree: source.Contents()}
	if s, ok := source.(sampled); ok && !s.Sampler().Recorded() {
		f.sampler = s.Sampler()
	}
	f.next = f.n
	if f.tree == nil {
		f.tree = new(sim.Contents)
	}
	f.outputs = rng.NewKeyed(seed, "workloads.answers")
	return f, nil
}

// key returns the scenario key of N.
func (c *Choices) key() string {
	if c.Beam {
		return "beam_width"
	}
	return "n"
}

// Next fills the next choice.
func (f *Fan) Next(r *sim.Request) bool {
	if f.next == f.n && !f.begin() {
		return false
	}
	*r = f.current
	r.ID = (f.prompts-1)*f.n + f.next
	if f.next > 0 && f.sampler != nil && !f.beam {
		r.Reasoning, r.Output = f.output()
	}
	f.next++
	return true
}

// begin takes the next prompt and reports whether there is one.
func (f *Fan) begin() bool {
	if f.prompts == check.RequestsMax/f.n {
		f.err = fmt.Errorf("workloads: prompt %d has answers beyond request %d; accepted: fewer prompts or answers",
			f.prompts, check.RequestsMax)
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

// share makes all of the prompt of r content, since its choices have the whole prompt in common.
func (f *Fan) share(r *sim.Request) {
	if unshared := r.Prompt - f.tree.Tokens(r.Content); unshared > 0 && f.n > 1 {
		r.Content = f.tree.Add(r.Content, unshared)
	}
}

// output draws what a choice after the first emits.
func (f *Fan) output() (hidden, output int32) {
	r := &f.current
	output = f.sampler.Laws(r.Class).Output.Draw(f.outputs.At(uint64(r.ID), uint64(f.next)))
	if f.sampler.Reasons() {
		hidden, output = f.sampler.Reason(r.Class, output, uint64(r.ID), uint64(f.next))
	}
	if r.MaxOutput > 0 {
		output = min(output, r.MaxOutput)
	}
	return min(hidden, output), output
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

// FanClosed is the Fan of a closed loop: a client waits for all choices of its prompt before it thinks.
type FanClosed struct {
	Fan
	loop    *sessions.Closed
	waiting []prompt // from prompt number base on; those in front of head have finished
	head    int
	base    int32
}

// prompt is one whose choices have not all ended.
type prompt struct {
	remaining int32    // choices that have not ended
	ended     sim.Time // the latest so far
}

// NewFanClosed returns the source that gives each prompt of a closed loop its choices.
func NewFanClosed(loop *sessions.Closed, c Choices, seed uint64) (*FanClosed, error) {
	f, err := newFan(loop, c, seed)
	if err != nil {
		return nil, err
	}
	return &FanClosed{Fan: *f, loop: loop}, nil
}

// When returns the instant of the earliest request that is due.
func (f *FanClosed) When() sim.Time {
	if f.next < f.n {
		return f.current.Arrival
	}
	return f.loop.When()
}

// Next fills the next choice.
func (f *FanClosed) Next(r *sim.Request) bool {
	if !f.Fan.Next(r) {
		return false
	}
	if f.next == 1 {
		f.waiting = append(f.waiting, prompt{remaining: f.n, ended: r.Arrival})
	}
	return true
}

// Done counts the end of r. With the last choice of a prompt, however many failed, the client has waited until the
// latest ended.
func (f *FanClosed) Done(at sim.Time, r *sim.Request) {
	p := &f.waiting[r.ID/f.n-f.base]
	p.ended = max(p.ended, at)
	p.remaining--
	if p.remaining > 0 {
		return
	}
	f.loop.Done(p.ended, r)
	f.forget()
}

// forget drops the finished prompts in front, and moves the others to the start of the slice if they are at most half.
func (f *FanClosed) forget() {
	for f.head < len(f.waiting) && f.waiting[f.head].remaining == 0 {
		f.head++
	}
	if 2*f.head >= len(f.waiting) {
		n := copy(f.waiting, f.waiting[f.head:])
		f.waiting, f.base, f.head = f.waiting[:n], f.base+int32(f.head), 0
	}
}
