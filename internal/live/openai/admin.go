package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// administer adds what only the endpoint of the whole fleet has.
func (s *Server) administer(m *http.ServeMux) {
	m.HandleFunc("GET /summary", s.summary)
	m.HandleFunc("GET /fleet", s.state)
	m.HandleFunc("POST /fleet", s.command)
	m.HandleFunc("GET /{$}", page)
}

// summary answers with the results so far, and what the host adds to them.
func (s *Server) summary(w http.ResponseWriter, _ *http.Request) {
	r, ok := s.loop.Summary()
	if !ok {
		refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "the server ends").write(w)
		return
	}
	writeJSON(w, struct {
		*metrics.Summary
		Live Delays `json:"live"`
	}{r, s.Delays()})
}

// Delays is what the host adds to the latencies that are simulated: how long after a token was due its client could
// have it, and how long after that it was written to the connection.
type Delays struct {
	Released metrics.Quantiles `json:"released_s"`
	Written  metrics.Quantiles `json:"written_s"`
}

// Delays returns what the host has added so far.
func (s *Server) Delays() (d Delays) {
	d.Released, _ = s.loop.Delay()
	d.Written, _ = s.written.quantiles()
	return d
}

// replicaX is a replica as GET /fleet has it.
type replicaX struct {
	Pool     string  `json:"pool"`
	Replica  int     `json:"replica"`
	State    string  `json:"state"`
	Running  int     `json:"running"`
	Waiting  int     `json:"waiting"`
	KVUsed   int64   `json:"kv_blocks_used"`
	KVTotal  int64   `json:"kv_blocks"`
	StepS    float64 `json:"step_s"`
	Batch    int     `json:"step_tokens"`
	Tokens   int64   `json:"output_tokens"`
	Prompted int64   `json:"prompt_tokens"`
	Cached   int64   `json:"prompt_tokens_cached"`
}

// state answers with the state of every replica.
func (s *Server) state(w http.ResponseWriter, _ *http.Request) {
	state, ok := s.loop.State()
	if !ok {
		refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "the server ends").write(w)
		return
	}
	list := []replicaX{}
	for i := range state.Replicas {
		r := &state.Replicas[i]
		list = append(list, replicaX{r.Pool, r.Replica, r.Life, r.Running, r.Waiting, r.KVUsed, r.KVTotal, r.LastStepS,
			r.LastBatch, r.Generated, r.Prompted, r.Cached})
	}
	writeJSON(w, map[string]any{
		"at_s": state.At.Seconds(), "model": s.model, "arrived": state.Arrived, "ended": state.Ended,
		"output_tokens": state.Tokens, "replicas": list, "live": s.Delays(),
	})
}

// command carries out a change of the fleet.
func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	var c live.Command
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err == nil {
		err = inputs.DuplicateField(text)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&c)
	}
	if err != nil {
		badJSON(err).write(w)
		return
	}
	at, err := s.loop.Command(time.Now(), c)
	if err != nil {
		bad("", "%s", err).write(w)
		return
	}
	writeJSON(w, map[string]any{"at_s": float64(at.Sub(0)/sim.Microsecond) / 1e6}) // an instant of whole microseconds
}
