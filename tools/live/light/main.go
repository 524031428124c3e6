//go:build linux

// Command light is a client that costs as little as one can, and a server that does: what a machine adds by itself.
//
//	light load PORT STREAMS REQUESTS TOKENS WORDS RATE REST_MS
//	light echo PORT REQUESTS TOKENS GROUPS STEP_MS
//
// load begins RATE requests in a second, never more than STREAMS at once, and prints what a benchmark tool would: one
// JSON object with TTFT and ITL in milliseconds. One thread reads all connections and decodes no JSON, so that its own
// delays are little beside those of the kernel. It is woken for each chunk, or looks every REST_MS at what has come,
// which costs the server less. echo is a server of the same pattern that does nothing else: every STEP_MS, at as many
// times as there are GROUPS of streams, it writes a chunk to each connection, the first at the second step after its
// request. What load then says, less the times at which echo was to write, is what the machine adds.
//
//	load.go  the client
//	echo.go  the server
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	var n []float64
	for _, s := range os.Args[min(2, len(os.Args)):] {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			fail(err)
		}
		n = append(n, x)
	}
	switch {
	case len(n) == 7 && os.Args[1] == "load":
		load(int(n[0]), int(n[1]), int(n[2]), int(n[3]), int(n[4]), n[5], time.Duration(n[6]*1e6))
	case len(n) == 5 && os.Args[1] == "echo":
		echo(int(n[0]), int(n[1]), int(n[2]), int(n[3]), time.Duration(n[4]*1e6))
	default:
		fail("usage: light load PORT STREAMS REQUESTS TOKENS WORDS RATE REST_MS\n" +
			"       light echo PORT REQUESTS TOKENS GROUPS STEP_MS")
	}
}

// poller waits for sockets and for an instant.
type poller struct {
	fd, timer int
	events    [2048]syscall.EpollEvent
	rest      time.Duration // it looks again after that; 0: it is woken
}

func (p *poller) timeout() int {
	if p.rest > 0 {
		return 0
	}
	return -1
}

func newPoller() *poller {
	fd, err := syscall.EpollCreate1(0)
	check(err)
	timer, _, e := syscall.RawSyscall(syscall.SYS_TIMERFD_CREATE, 1, syscall.O_NONBLOCK, 0) // CLOCK_MONOTONIC
	if e != 0 {
		fail(e)
	}
	p := &poller{fd: fd, timer: int(timer)}
	p.add(p.timer)
	return p
}

func (p *poller) add(fd int) {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	check(syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &e))
}

// wait returns what can be read, or nothing at an instant.
func (p *poller) wait(until time.Time) []syscall.EpollEvent {
	if p.rest > 0 {
		spec := syscall.NsecToTimespec(min(int64(p.rest), max(1, int64(time.Until(until)))))
		_ = syscall.Nanosleep(&spec, nil)
	} else {
		setTimer(p.timer, max(1, time.Until(until)))
	}
	for {
		n, err := syscall.EpollWait(p.fd, p.events[:], p.timeout())
		if err == syscall.EINTR {
			continue
		}
		check(err)
		return p.events[:n]
	}
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(1)
}

// print prints quantiles by name, in milliseconds, and what else there is.
func print(latencies map[string][]time.Duration, rest map[string]any) {
	for name, d := range latencies {
		slices.Sort(d)
		of := func(q float64) float64 { return float64(d[int(q*float64(len(d)-1)+.5)]) / 1e6 }
		if len(d) > 0 {
			rest[name] = map[string]float64{"p50": of(.5), "p99": of(.99), "max": of(1)}
		}
	}
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	rest["cpu_s"] = float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	check(json.NewEncoder(os.Stdout).Encode(rest))
}
