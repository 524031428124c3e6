package openai

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// direct is the connection of a stream, to which chunks of HTTP/1.1 are written past the server of net/http, which has
// flushed the head of the answer and adds what ends it. A token then costs one system call, no wake-up of a goroutine
// and no copy.
type direct struct {
	conn net.Conn
	raw  syscall.RawConn
	try  func(fd uintptr) bool // writes what of data the connection takes at once
	data []byte
	n    int
	err  error
}

// connection is the key of a context under which there is the connection of a request.
type connection struct{}

// withConnection is the ConnContext of a server whose streams are written directly.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, c)
}

// directTo returns the connection of a request; nil: its answer cannot be written past the server.
func directTo(r *http.Request) *direct {
	c, ok := r.Context().Value(connection{}).(net.Conn)
	s, able := c.(syscall.Conn)
	if !ok || !able || !writesAtOnce || r.ProtoMajor != 1 || r.ProtoMinor < 1 {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{conn: c, raw: raw}
	d.try = func(fd uintptr) bool {
		d.n, d.err = writeAtOnce(fd, d.data)
		return true
	}
	return d
}

// write writes what of data the connection takes without waiting.
func (d *direct) write(data []byte) (n int, err error) {
	d.data, d.n = data, 0
	err = d.raw.Write(d.try)
	d.data = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}

// frameHead is how much of a buffer is for the length of what follows, as the chunks of HTTP/1.1 have it.
const frameHead = 10

// frame returns the buffer as one chunk.
func (p *progress) frame() []byte {
	var digits [frameHead]byte
	head := append(strconv.AppendInt(digits[:0], int64(len(p.buffer)-frameHead), 16), "\r\n"...)
	p.buffer = append(p.buffer, "\r\n"...)
	from := frameHead - len(head)
	copy(p.buffer[from:], head)
	return p.buffer[from:]
}

// What has become of a stream when somebody has written to it.
const (
	flowing = iota // everything is written
	stuck          // the connection takes no more for now
	over           // nothing is left to write, or nobody to read it
)

// send writes what there is to send, as far as the connection takes it. Its caller has the stream.
func (st *stream) send() int {
	st.collect()
	if !st.empty() {
		b := st.frame()
		n, err := st.direct.write(b)
		switch {
		case err != nil:
			st.failed = true
			return over
		case n < len(b):
			st.rest = b[n:]
			return stuck
		}
		st.written()
	}
	if st.open == 0 {
		return over
	}
	return flowing
}

// visit is what a writer does to a stream.
func (st *stream) visit() {
	st.queued.Store(false)
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.own && st.send() != flowing {
		st.own = true
		st.wake()
	}
}

// serveDirect sends the head of the answer, and then whatever the writers could not. It reports whether the client took
// everything.
func (st *stream) serveDirect(ctx context.Context) bool {
	st.w.WriteHeader(http.StatusOK)
	_ = st.control.SetWriteDeadline(time.Now().Add(st.server.limits.Write))
	st.failed = st.control.Flush() != nil
	for !st.failed {
		if !st.unblock() {
			return false
		}
		st.mu.Lock()
		state := st.send()
		st.own = state != flowing
		st.mu.Unlock()
		switch state {
		case over:
			return !st.failed
		case stuck:
			continue
		}
		if !st.await(ctx) {
			return false
		}
		if st.rest == nil {
			return !st.failed
		}
	}
	return false
}

// await waits until a writer has left the stream to its own goroutine, and reports whether that was before ctx is done.
func (st *stream) await(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			st.mu.Lock()
			st.own = true
			st.mu.Unlock()
			return false
		case <-st.turn:
		}
		st.mu.Lock()
		own := st.own
		st.mu.Unlock()
		if own {
			return true
		}
	}
}

// unblock waits until the connection has taken the rest of the buffer, and reports whether it has in time.
func (st *stream) unblock() bool {
	if st.rest != nil {
		_ = st.direct.conn.SetWriteDeadline(time.Now().Add(st.server.limits.Write))
		if _, err := st.direct.conn.Write(st.rest); err != nil {
			return false
		}
		st.rest = nil
		st.written()
	}
	return st.direct.conn.SetWriteDeadline(time.Time{}) == nil // who does not wait needs none
}
