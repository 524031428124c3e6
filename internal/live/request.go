package live

import (
	"sync/atomic"

	"github.com/decodesim/decodesim/sim"
)

// Ask is what a client asks for.
type Ask struct {
	Prompt  Prompt
	Limit   int32  // max_tokens: the output has no more
	Least   int32  // min_tokens: and no fewer
	Exact   bool   // ignore_eos: the output has exactly Limit tokens
	Session int32  // for routers; 0: none
	Adapter uint16 // LoRA adapter that it has, from 1 on; 0: the model itself
	Replica int    // of the first pool, that it is pinned to; negative: the router picks one
	Samples *Samples
	Answer  *Answer
}

// Samples are the answers to one prompt, of which a client can have several.
type Samples struct {
	N       int
	ended   int
	longest int32 // in tokens
}

// Answer is how far the output to a request is. One goroutine reads it while the owner of the fleet writes it: it is a
// few numbers, so a client that reads slowly keeps nothing waiting and costs no memory.
type Answer struct {
	Changed func() // is called when something has changed, and returns at once; several answers may share it
	Final   bool   // only its end is of interest

	id       int32
	replica  int32
	output   int32 // tokens that the model will emit
	begun    bool  // its first token is emitted
	pending  int32 // tokens emitted that wait for a chunk to be full
	released atomic.Int32
	cached   atomic.Int32
	due      atomic.Int64 // sim.Time of the latest token released
	outcome  atomic.Int32 // sim.Outcome; -1: under way
	admitted atomic.Bool
	refusal  Refusal // is final before outcome is
}

// NewAnswer returns an answer of which nothing is there yet.
func NewAnswer(changed func()) *Answer {
	a := &Answer{Changed: changed, id: -1}
	a.outcome.Store(underway)
	return a
}

const underway = -1

// Released returns how many tokens the client may have, and when the latest of them was due.
func (a *Answer) Released() (tokens int32, due sim.Time) {
	tokens = a.released.Load()
	return tokens, sim.Time(a.due.Load())
}

// Ended returns the outcome; false: the request is under way. When it has ended, Released is final.
func (a *Answer) Ended() (sim.Outcome, bool) {
	o := a.outcome.Load()
	return sim.Outcome(max(0, o)), o != underway
}

// Admitted reports whether the request has entered the fleet. One that never does ends.
func (a *Answer) Admitted() bool { return a.admitted.Load() }

// Refusal returns why a request was rejected that has ended so.
func (a *Answer) Refusal() Refusal { return a.refusal }

// Cached returns how many tokens of the prompt were cached, once the first token has been released.
func (a *Answer) Cached() int32 { return a.cached.Load() }

// wake has the reader of the answer look again.
func (a *Answer) wake() {
	if a.Final && a.outcome.Load() == underway {
		return
	}
	a.Changed()
}
