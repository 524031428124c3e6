package views

import "github.com/decodesim/decodesim/sim"

// Chunk is tokens that arrive together.
type Chunk struct {
	At     sim.Time
	Tokens int32
}

// Record is one request as its client saw it. All definitions are functions of it.
type Record struct {
	ID      int32
	Class   uint8
	Prompt  int32 // tokens
	Cached  int32 // prompt tokens that were in the prefix cache
	Send    sim.Time
	Up      sim.Duration // what the network takes to the server
	Steps   []Chunk      // as the engine emitted them: one for each step of it
	Chunks  []Chunk      // as the client received them
	Outcome sim.Outcome
}

// Tokens returns n, the tokens received.
func (r *Record) Tokens() int32 { return tokensOf(r.Chunks) }

func tokensOf(chunks []Chunk) int32 {
	n := int32(0)
	for _, c := range chunks {
		n += c.Tokens
	}
	return n
}

// timing is a stream of chunks that answers a request sent at an instant.
type timing struct {
	send   sim.Time
	chunks []Chunk
}

func (r *Record) client() timing { return timing{r.Send, r.Chunks} }
func (r *Record) server() timing { return timing{r.Send.Add(r.Up), r.Steps} }

// first is F = t_1 − t_send.
func (t timing) first() float64 { return t.chunks[0].At.Sub(t.send).Seconds() }

// total is E2E = t_m − t_send.
func (t timing) total() float64 { return t.chunks[len(t.chunks)-1].At.Sub(t.send).Seconds() }

// decode is t_m − t_1, exact where E2E − F would round.
func (t timing) decode() float64 {
	return t.chunks[len(t.chunks)-1].At.Sub(t.chunks[0].At).Seconds()
}

// n is Σ k_j.
func (t timing) n() float64 { return float64(tokensOf(t.chunks)) }

// gap is t_{j+1} − t_j, for j from 1.
func (t timing) gap(j int) float64 { return t.chunks[j].At.Sub(t.chunks[j-1].At).Seconds() }

// Example is a request on which the tools disagree: sent at 0, one token at 100 ms, two at 140 ms and two at 180 ms.
func Example() Record {
	chunks := []Chunk{
		{sim.Time(100 * sim.Millisecond), 1}, {sim.Time(140 * sim.Millisecond), 2}, {sim.Time(180 * sim.Millisecond), 2},
	}
	return Record{Prompt: 1, Steps: chunks, Chunks: chunks}
}
