package views

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Stream is what lies between the steps of an engine and a client: an API server that sends tokens in chunks, and a
// network. What is constant of it belongs in the run too, as its ingress and egress: clients of a closed loop feel it.
// What is not is a view: when their next requests come does not depend on it.
//
// The zero Stream sends the tokens of every step at once and takes no time.
type Stream struct {
	// Interval is vLLM's stream_interval: a chunk is sent with the first token, then whenever so many have come since
	// the one before, and at the end (vllm/v1/engine/output_processor.py). 0 is 1.
	Interval   int32
	Detokenize sim.Duration // of the API server for a token, one after another within a request
	Frame      sim.Duration // of the API server for a chunk: serialising it and framing it as an event
	RTT        sim.Duration // of the network: half with the request, half with every chunk
	// Jitter is the mean of a random delay of each chunk beyond that, exponential and independent from chunk to chunk.
	// Chunks keep their order, as on one connection: a late one holds up those behind it.
	Jitter sim.Duration
}

// Up returns the time a request takes to the server.
func (s *Stream) Up() sim.Duration { return s.RTT / 2 }

// Down returns the time a chunk takes from the server to the client, without jitter.
func (s *Stream) Down() sim.Duration { return s.RTT - s.Up() }

// Egress returns the time a chunk of one token takes from the engine to the client, if nothing delays it.
func (s *Stream) Egress() sim.Duration { return s.Detokenize + s.Frame + s.Down() }

// Plain reports whether all tokens take that time, so that no request has to be traced.
func (s *Stream) Plain() bool { return s.Constant() && s.Whole() }

// Constant reports whether the client's times are the engine's, shifted.
func (s *Stream) Constant() bool {
	return s.Detokenize == 0 && s.Frame == 0 && s.Jitter == 0
}

// Whole reports whether a chunk is what a step emits.
func (s *Stream) Whole() bool { return s.Interval <= 1 }

// Wire delivers chunks to clients. What it draws depends on seed, request and position alone.
type Wire struct {
	stream Stream
	draws  *rng.Keyed
}

// NewWire returns the wire of a run.
func NewWire(s Stream, seed uint64) *Wire {
	return &Wire{s, rng.NewKeyed(seed, "metrics.wire")}
}

// Stream returns what the wire does.
func (w *Wire) Stream() Stream { return w.stream }

// Deliver returns the chunks that a client receives of the tokens that an engine emitted for request id. Of a request
// that did not end well, what waits for a chunk to fill is lost.
func (w *Wire) Deliver(id int32, steps []Chunk, complete bool) []Chunk {
	s := &w.stream
	if *s == (Stream{Interval: s.Interval}) && s.Whole() {
		return steps
	}
	chunks := make([]Chunk, 0, len(steps)/int(max(1, s.Interval))+2)
	var free, last sim.Time // when the server has done what came before; when the client has the chunk before
	waiting, position := int32(0), int32(0)
	for i, step := range steps {
		free = max(free, step.At).Add(s.Detokenize * sim.Duration(step.Tokens))
		waiting += step.Tokens
		if position > 0 && waiting < s.Interval && !(complete && i == len(steps)-1) {
			continue
		}
		free = free.Add(s.Frame)
		last = max(last, free.Add(s.Down()+w.delay(id, position)))
		chunks = append(chunks, Chunk{last, waiting})
		position, waiting = position+waiting, 0
	}
	return slices.Clip(chunks)
}

// delay draws the random delay of the chunk that begins at a position.
func (w *Wire) delay(id, position int32) sim.Duration {
	if w.stream.Jitter == 0 {
		return 0
	}
	return sim.Duration(w.draws.At(uint64(id), uint64(position)).ExpFloat64() * float64(w.stream.Jitter))
}
