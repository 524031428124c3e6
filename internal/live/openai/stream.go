package openai

import (
	"net/http"
	"time"

	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/sim"
)

// stream is an answer under way, as server-sent events.
type stream struct {
	server   *Server
	job      *job
	wire     *wire
	w        http.ResponseWriter
	control  *http.ResponseController
	sent     []int32 // tokens of each answer
	closed   []bool
	open     int
	due      sim.Time  // of the latest token in buffer
	fresh    int32     // tokens in buffer
	deadline time.Time // by which the client must have taken what is written
	buffer   []byte
}

// stream sends the answers to j until all have ended or the client has gone.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, j *job, x *wire) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	n := len(j.answers)
	st := &stream{server: s, job: j, wire: x, w: w, control: http.NewResponseController(w), sent: make([]int32, n),
		closed: make([]bool, n), open: n}
	for st.open > 0 {
		select {
		case <-r.Context().Done():
			s.loop.Cancel(time.Now(), j.answers)
			return
		case <-j.wake:
		}
		st.collect()
		if !st.flush() {
			s.loop.Cancel(time.Now(), j.answers)
			return
		}
	}
}

// collect puts what there is to send into the buffer.
func (st *stream) collect() {
	for i, a := range st.job.answers {
		if st.closed[i] {
			continue
		}
		outcome, ended := a.Ended() // before Released, which is then final
		tokens, due := a.Released()
		switch {
		case ended && outcome != sim.Completed:
			st.buffer = append(append(append(st.buffer, "data: "...), broken(outcome).body()...), "\n\n"...)
		case ended:
			st.buffer = st.wire.chunk(st.buffer, i, st.sent[i], tokens-st.sent[i], st.job.reason(i))
		case tokens > st.sent[i]:
			st.buffer = st.wire.chunk(st.buffer, i, st.sent[i], tokens-st.sent[i], "")
		}
		if tokens > st.sent[i] {
			st.due, st.fresh = due, st.fresh+tokens-st.sent[i]
		}
		st.sent[i] = tokens
		if ended {
			st.closed[i] = true
			st.open--
		}
	}
	if st.open == 0 {
		st.buffer = st.wire.closing(st.buffer)
	}
}

// flush writes the buffer in one piece, and reports whether the client takes it.
func (st *stream) flush() bool {
	if len(st.buffer) == 0 {
		return true
	}
	if now := time.Now(); st.deadline.Sub(now) < st.server.limits.Write/2 {
		st.deadline = now.Add(st.server.limits.Write)
		_ = st.control.SetWriteDeadline(st.deadline) // a test's recorder has none
	}
	if _, err := st.w.Write(st.buffer); err != nil {
		return false
	}
	err := st.control.Flush()
	st.server.written.observe(st.server.clock, st.due, st.fresh)
	st.buffer, st.fresh = st.buffer[:0], 0
	return err == nil
}

// broken is what a client gets for a request that did not complete.
func broken(o sim.Outcome) *failure {
	if o == sim.Rejected {
		return refused(http.StatusTooManyRequests, "RateLimitError", "The request was not admitted: it exceeds a limit "+
			"of the deployment.")
	}
	return refused(http.StatusInternalServerError, "InternalServerError", "The replica that served the request has "+
		"failed, or the server ends.")
}

// collect sends the answers to j in one piece when all have ended.
func (s *Server) collect(w http.ResponseWriter, r *http.Request, j *job, x *wire) {
	for !allEnded(j.answers) {
		select {
		case <-r.Context().Done():
			s.loop.Cancel(time.Now(), j.answers)
			return
		case <-j.wake:
		}
	}
	for _, a := range j.answers {
		if o, _ := a.Ended(); o != sim.Completed {
			broken(o).write(w)
			return
		}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.Write))
	writeBody(w, http.StatusOK, x.whole(nil))
}

func allEnded(answers []*live.Answer) bool {
	for _, a := range answers {
		if _, ended := a.Ended(); !ended {
			return false
		}
	}
	return true
}
