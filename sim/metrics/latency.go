package metrics

import (
	"encoding/json"
	"math"
)

// Latency holds the distributions that users feel; see recorder.go for their definitions. After a warm-up, latencies of
// requests are those of requests that arrived later, and ITL that of tokens emitted later.
type Latency struct {
	TTFT     Quantiles `json:"ttft_s"`
	ITL      Quantiles `json:"itl_s"`
	ITLChunk Quantiles `json:"itl_chunk_s"`
	TPOT     Quantiles `json:"tpot_s"`
	E2E      Quantiles `json:"e2e_s"`
	Queue    Quantiles `json:"queue_s"`

	Tokenize *Quantiles `json:"tokenize_s,omitempty"` // absent where no request took time to be tokenised

	Unanswered *Quantiles `json:"unanswered_s,omitempty"` // absent where every request that ended had a token

	TTFO *Quantiles `json:"ttfo_s,omitempty"` // absent where no output has reasoning
	Task *Quantiles `json:"task_s,omitempty"` // absent without agents
}

// latency returns the distributions.
func (m *Recorder) latency() Latency {
	l := Latency{
		TTFT: m.TTFT.Quantiles(), ITL: m.TokenGaps().Quantiles(), ITLChunk: m.ChunkGaps().Quantiles(),
		TPOT: m.TPOT.Quantiles(), E2E: m.E2E.Quantiles(), Queue: m.Queue.Quantiles(),
	}
	if m.Tokenizing.N() > 0 {
		tokenize := m.Tokenizing.Quantiles()
		l.Tokenize = &tokenize
	}
	if m.Waited.N() > 0 {
		waited := m.Waited.Quantiles()
		l.Unanswered = &waited
	}
	if m.Thinks {
		ttfo := m.TTFO.Quantiles()
		l.TTFO = &ttfo
	}
	if m.Tasks != nil {
		task := m.Tasks.Time.Quantiles()
		l.Task = &task
	}
	return l
}

// NamedQuantiles is a latency with its name in tables.
type NamedQuantiles struct {
	Name string
	Quantiles
}

// Named returns the latencies in the order of tables. Where some tokens come together, the gaps between chunks stand
// before those between tokens, of which most are 0.
func (l *Latency) Named() []NamedQuantiles {
	all := []NamedQuantiles{{"TTFT", l.TTFT}}
	if l.TTFO != nil {
		all = append(all, NamedQuantiles{"TTFO", *l.TTFO})
	}
	if l.Bursts() {
		all = append(all, NamedQuantiles{"ITL, chunks", l.ITLChunk}, NamedQuantiles{"ITL, tokens", l.ITL})
	} else {
		all = append(all, NamedQuantiles{"ITL", l.ITL})
	}
	all = append(all, NamedQuantiles{"TPOT", l.TPOT}, NamedQuantiles{"E2E", l.E2E})
	if l.Tokenize != nil {
		all = append(all, NamedQuantiles{"tokenize", *l.Tokenize})
	}
	all = append(all, NamedQuantiles{"queue", l.Queue})
	if l.Task != nil {
		all = append(all, NamedQuantiles{"task", *l.Task})
	}
	return all
}

// Bursts reports whether clients receive some tokens together, so that a chunk is not a token.
func (l *Latency) Bursts() bool { return l.ITLChunk.N != l.ITL.N }

// Quantiles describes a distribution. With N = 0 the other fields are NaN, and null in JSON.
type Quantiles struct {
	N                                   int64
	Mean, P50, P90, P95, P99, P999, Max float64
}

// MarshalJSON writes NaN as null.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		N    int64 `json:"n"`
		Mean any   `json:"mean"`
		P50  any   `json:"p50"`
		P90  any   `json:"p90"`
		P95  any   `json:"p95"`
		P99  any   `json:"p99"`
		P999 any   `json:"p999"`
		Max  any   `json:"max"`
	}{q.N, orNull(q.Mean), orNull(q.P50), orNull(q.P90), orNull(q.P95), orNull(q.P99), orNull(q.P999), orNull(q.Max)})
}

// orNull returns what JSON has for x: null for what is no number.
func orNull(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Streamed is what clients see of the requests that were traced token by token, where the constant delay in Latency is
// not all of it: chunks delay tokens, or an API server or a network takes more time for one token than for another.
type Streamed struct {
	Requests int64     `json:"requests"` // completed requests of the sample
	TTFT     Quantiles `json:"ttft_s"`
	ITL      Quantiles `json:"itl_s"` // 0 for all tokens of a chunk but one
	ITLChunk Quantiles `json:"itl_chunk_s"`
	TPOT     Quantiles `json:"tpot_s"`
	E2E      Quantiles `json:"e2e_s"`
	Delay    Delay     `json:"streaming"`
}

// Delay is the mean time from when the engine emits a token until the client has it.
type Delay struct {
	MeanS     float64 `json:"mean_s"`
	ChunkS    float64 `json:"chunk_s"`    // the part spent waiting for the last token of its chunk
	DeliveryS float64 `json:"delivery_s"` // the part spent in the API server and the network
}
