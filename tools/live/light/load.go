//go:build linux

package main

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// client is a connection and the answer that is under way on it.
type client struct {
	fd         int
	sent, last time.Time
	chunks     int
	done       bool   // the last event has come, and the end of the answer is to follow
	rest       []byte // of the buffer: what may go on with the next read
	buffer     [16 << 10]byte
}

// Every event with text has the first of these; answers end with the others, in chunks of HTTP.
var text, end, last = []byte(`"content":" `), []byte("data: [DONE]"), []byte("0\r\n\r\n")

// load measures a server.
func load(port, streams, requests, tokens, words int, rate float64, rest time.Duration) {
	p, byFD := newPoller(), map[int]*client{}
	p.rest = rest
	free := make([]*client, 0, streams)
	for range streams {
		c := &client{fd: dial(port)}
		byFD[c.fd], free = c, append(free, c)
		p.add(c.fd)
	}
	clients := make([]*client, 1<<16)
	for fd, c := range byFD {
		clients[fd] = c
	}
	ttft, itl := make([]time.Duration, 0, requests), make([]time.Duration, 0, requests*tokens)
	e2e, delayed := make([]time.Duration, 0, requests), make([]time.Duration, 0, requests)
	began := time.Now()
	for begun, ended := 0, 0; ended < requests; {
		due := began.Add(time.Duration(float64(begun) / rate * 1e9))
		for begun < requests && len(free) > 0 && !time.Now().Before(due) {
			c := free[len(free)-1]
			free = free[:len(free)-1]
			delayed = append(delayed, time.Since(due))
			c.ask(port, begun, tokens, words)
			begun++
			due = began.Add(time.Duration(float64(begun) / rate * 1e9))
		}
		if begun == requests || len(free) == 0 {
			due = time.Now().Add(time.Second)
		}
		for _, e := range p.wait(due) {
			c := clients[e.Fd]
			if c == nil || !c.read(&ttft, &itl) {
				continue
			}
			e2e = append(e2e, c.last.Sub(c.sent))
			free = append(free, c)
			ended++
		}
	}
	took := time.Since(began).Seconds()
	print(map[string][]time.Duration{"ttft_ms": ttft, "itl_ms": itl, "e2e_ms": e2e, "delayed_ms": delayed},
		map[string]any{"requests_per_s": float64(requests) / took, "chunks": len(ttft) + len(itl)})
}

// ask sends the request of a number.
func (c *client) ask(port, number, tokens, words int) {
	prompt := fmt.Sprintf("%07d ", number) + strings.Repeat("word ", words)
	body := fmt.Sprintf(`{"model":"m","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"%s"}]}`, tokens,
		prompt)
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", port, len(body), body)
	c.chunks, c.done, c.rest = 0, false, c.buffer[:0]
	c.sent = time.Now()
	c.last = c.sent
	n, err := syscall.Write(c.fd, request)
	check(err)
	if n < len(request) {
		fail("a request was not sent whole")
	}
}

// read reads what there is, and reports whether the answer is whole.
func (c *client) read(ttft, itl *[]time.Duration) bool {
	from := len(c.rest)
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(c.fd), uintptr(unsafe.Pointer(&c.buffer[from])),
		uintptr(len(c.buffer)-from))
	if e == syscall.EAGAIN {
		return false
	}
	if e != 0 || n == 0 {
		fail(fmt.Sprintf("a connection ended: %d bytes, %v: %q", n, e, c.rest))
	}
	now := time.Now()
	b := c.buffer[:from+int(n)]
	for {
		i := bytes.Index(b, text)
		if i < 0 {
			break
		}
		b = b[i+len(text):]
		if c.chunks == 0 {
			*ttft = append(*ttft, now.Sub(c.last))
		} else {
			*itl = append(*itl, now.Sub(c.last))
		}
		c.chunks++
		c.last = now
	}
	c.done = c.done || bytes.Contains(b, end)
	if c.done && bytes.HasSuffix(b, last) {
		if c.chunks == 0 {
			fail("an answer without text")
		}
		return true
	}
	if !c.done && len(b) >= len(end) {
		b = b[len(b)-len(end)+1:]
	}
	c.rest = c.buffer[:copy(c.buffer[:], b)]
	return false
}

// dial returns a connection to a port of this machine.
func dial(port int) int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	check(syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.SetNonblock(fd, true))
	check(syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
	return fd
}

// setTimer has a timer ready after a while.
func setTimer(fd int, d time.Duration) {
	spec := [4]int64{0, 0, int64(d / time.Second), int64(d % time.Second)}
	_, _, e := syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if e != 0 {
		fail(e)
	}
}
