package openai

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/sim"
)

// stream is an answer under way, as server-sent events. As a rule the writers of the server write it straight to its
// connection. When that takes no more, and where it cannot be written so, its own goroutine does.
type stream struct {
	server  *Server
	job     *job
	wire    *wire
	w       http.ResponseWriter
	control *http.ResponseController
	direct  *direct // nil: it is written through w

	queued atomic.Bool   // a writer will visit it
	begun  atomic.Bool   // the head of the answer is on its way: before, its own goroutine alone looks at it
	turn   chan struct{} // has an element when its own goroutine is to go on

	mu     sync.Mutex // over what follows, while own is false
	own    bool       // its own goroutine has it, and no writer touches it
	failed bool       // its client takes nothing any more
	progress
}

// progress is how much of a stream is sent.
type progress struct {
	sent   []int32 // tokens of each answer
	closed []bool
	open   int
	due    sim.Time // of the latest token in buffer
	fresh  int32    // tokens in buffer
	buffer []byte   // what is to be written, behind room for the head of a chunk
	rest   []byte   // of the buffer, that the connection did not take
}

// newStream returns the stream of the answers to j, of which nothing is written yet.
func (s *Server) newStream(w http.ResponseWriter, r *http.Request, j *job, x *wire) *stream {
	n := len(j.answers)
	st := &stream{server: s, job: j, wire: x, w: w, control: http.NewResponseController(w), direct: directTo(r),
		turn: make(chan struct{}, 1), own: true,
		progress: progress{sent: make([]int32, n), closed: make([]bool, n), open: n, buffer: make([]byte, frameHead, 512)}}
	j.changed = st.changed
	return st
}

// changed has somebody send what there is.
func (st *stream) changed() {
	if st.direct == nil || !st.begun.Load() {
		st.wake()
	} else if !st.queued.Swap(true) {
		st.server.writers.add(st)
	}
}

// wake has its own goroutine go on.
func (st *stream) wake() {
	select {
	case st.turn <- struct{}{}:
	default:
	}
}

// serve sends the answers until all have ended, and reports whether the client took them. What the fleet does not admit
// is refused before the answer begins, with a status by which clients know that they may try again.
func (st *stream) serve(ctx context.Context) bool {
	for !allDecided(st.job.answers) {
		select {
		case <-ctx.Done():
			return false
		case <-st.turn:
		}
	}
	if f := st.server.notAdmitted(st.job); f != nil {
		f.write(st.w)
		return false
	}
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	st.begun.Store(true)
	if st.direct != nil {
		return st.serveDirect(ctx)
	}
	for {
		st.collect()
		if !st.flush() {
			return false
		}
		if st.open == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-st.turn:
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
			st.buffer = append(append(append(st.buffer, "data: "...), broken().body()...), "\n\n"...)
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
			if st.open == 0 {
				st.buffer = st.wire.closing(st.buffer)
			}
		}
	}
}

// empty reports whether there is nothing to write.
func (p *progress) empty() bool { return len(p.buffer) == frameHead }

// written notes that the buffer is on its way to the client.
func (st *stream) written() {
	st.server.written.observe(st.server.clock, st.due, st.fresh)
	st.buffer, st.fresh = st.buffer[:frameHead], 0
}

// flush writes the buffer through w, and reports whether the client takes it.
func (st *stream) flush() bool {
	if st.empty() {
		return true
	}
	_ = st.control.SetWriteDeadline(time.Now().Add(st.server.limits.Write)) // a test's recorder has none
	if _, err := st.w.Write(st.buffer[frameHead:]); err != nil {
		return false
	}
	err := st.control.Flush()
	st.written()
	return err == nil
}

// broken is what a client gets for a request that was admitted and did not complete.
func broken() *failure {
	return refused(http.StatusInternalServerError, "InternalServerError", "The replica that served the request has "+
		"failed, or the server ends.")
}

// collect sends the answers to j in one piece when wake says that all have ended. It reports whether the client has
// waited for them.
func (s *Server) collect(w http.ResponseWriter, r *http.Request, j *job, x *wire, wake <-chan struct{}) bool {
	for {
		if f := s.notAdmitted(j); f != nil {
			f.write(w)
			return false
		}
		if allEnded(j.answers) {
			break
		}
		select {
		case <-r.Context().Done():
			return false
		case <-wake:
		}
	}
	for _, a := range j.answers {
		if o, _ := a.Ended(); o != sim.Completed {
			broken().write(w)
			return true
		}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.Write))
	writeBody(w, http.StatusOK, x.whole(nil))
	return true
}

func allEnded(answers []*live.Answer) bool {
	for _, a := range answers {
		if _, ended := a.Ended(); !ended {
			return false
		}
	}
	return true
}
