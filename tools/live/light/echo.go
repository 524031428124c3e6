//go:build linux

package main

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// echo writes chunks at the times of a steady batch until it has answered so many requests.
func echo(port, requests, tokens, groups int, step time.Duration) {
	l, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	check(syscall.SetsockoptInt(l, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	check(syscall.Bind(l, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.Listen(l, 4096))
	p := newPoller()
	p.add(l)
	event := `data: {"choices":[{"index":0,"delta":{"content":" abc` + strings.Repeat("x", 180) + `"}}]}` + "\n\n"
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
	closing := fmt.Appendf(nil, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	var all []group
	for i := range groups {
		all = append(all, group{at: time.Now().Add(step * time.Duration(i+1) / time.Duration(groups))})
	}
	var due, written []time.Duration
	buffer, came := make([]byte, 16<<10), map[int]time.Time{}
	for n, ended := 0, 0; ended < requests; {
		first := &all[0]
		for i := range all {
			if all[i].at.Before(first.at) {
				first = &all[i]
			}
		}
		for _, e := range p.wait(first.at) {
			switch fd := int(e.Fd); fd {
			case p.timer:
			case l:
				c, _, err := syscall.Accept(l)
				check(err)
				check(syscall.SetsockoptInt(c, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
				p.add(c)
			default:
				if k, _ := syscall.Read(fd, buffer); k > 0 {
					g := &all[n%groups]
					came[fd], g.next = time.Now(), append(g.next, answer{fd, tokens})
					_, _ = syscall.Write(fd, []byte(head))
					n++
				}
			}
		}
		if time.Now().Before(first.at) {
			continue
		}
		for i := len(first.now) - 1; i >= 0; i-- {
			a := &first.now[i]
			if a.left == tokens {
				due = append(due, first.at.Sub(came[a.fd]))
			}
			a.left--
			_, _ = syscall.Write(a.fd, chunk)
			written = append(written, time.Since(first.at))
			if a.left == 0 {
				_, _ = syscall.Write(a.fd, closing)
				ended++
			}
		}
		under := first.now[:0]
		for _, a := range first.now {
			if a.left > 0 {
				under = append(under, a)
			}
		}
		first.now, first.next = append(under, first.next...), first.next[:0]
		first.at = first.at.Add(step)
	}
	print(map[string][]time.Duration{"ttft_ms": due, "written_ms": written}, map[string]any{"itl_ms": float64(step) / 1e6})
}

// answer is one that is under way, with the chunks that are left of it.
type answer struct{ fd, left int }

// group is a batch: its answers, those that begin a step later, and when its next step ends.
type group struct {
	now, next []answer
	at        time.Time
}
