package openai

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// streaming is a load that goes on and on: half of the answers are streamed, every twentieth client leaves in the
// middle of one, and somebody scrapes the metrics.
type streaming struct {
	*service
	client  *http.Client
	streams int
	tokens  int
	open    atomic.Int64 // connections
}

// counted is a connection that says when it is closed.
type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}

// dial connects to the service, and counts the connections that are open.
func (s *streaming) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &counted{c, sync.OnceFunc(func() { s.open.Add(-1) })}, nil
}

// TestManyStreamsLeaveNothing: while they go on, goroutines and memory stay what they were, and afterwards nothing is
// left. DECODESIM_SOAK_S makes it one of so many seconds with 1,000 streams at once, DECODESIM_SOAK_SPEED says how fast
// its clock is.
func TestManyStreamsLeaveNothing(t *testing.T) {
	soak.TakesLong(t)
	s := streaming{streams: 64, tokens: 40}
	speed := 20.0
	lasts, every, samples := 400*time.Millisecond, 10*time.Millisecond, 40
	if seconds, err := strconv.Atoi(os.Getenv("DECODESIM_SOAK_S")); err == nil {
		s.streams, speed = 1000, 0.05
		lasts, every, samples = time.Duration(seconds)*time.Second, time.Minute, 4
	}
	if x, err := strconv.ParseFloat(os.Getenv("DECODESIM_SOAK_SPEED"), 64); err == nil {
		speed = x
	}
	s.service = serveAt(t, speed, func(c *Config) {
		c.Limits.Header = 10 * time.Minute // a client in the same process may not get to use a connection for long
	}, "pools.serve.replicas=4")
	// A connection is given up before the server does: one that a request is sent on while it is closed answers nothing.
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: s.streams, IdleConnTimeout: time.Minute,
		DialContext: s.dial}}
	before := runtime.NumGoroutine()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range s.streams {
		wg.Go(func() {
			for k := i; ctx.Err() == nil; k += s.streams {
				s.ask(k)
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			s.get("/metrics")
			s.get("/summary")
			time.Sleep(every / 4)
		}
	})
	require.Eventually(t, func() bool { return s.server.number.Load() > 3*uint64(s.streams) }, 5*time.Minute, every/4,
		"every client has its connections before they are counted")
	goroutines, bytes := s.watch(lasts, every, samples)
	stop()
	wg.Wait()
	half := len(bytes) / 2
	require.LessOrEqual(t, mean(goroutines[half:]), mean(goroutines[:half])+float64(s.streams)/2)
	require.LessOrEqual(t, mean(bytes[half:]), mean(bytes[:half])+4e6, "%.0f", bytes)
	s.client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 && s.loop.Open() == 0 }, 20*time.Second,
		20*time.Millisecond)
}

// ask has one answer of the load.
func (s *streaming) ask(k int) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	body := fmt.Sprintf(`{"prompt":"question %d %s","max_tokens":%d,"ignore_eos":true,"stream":%t}`, k%500,
		strings.Repeat("word ", k%50), s.tokens, k%2 == 0)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return
	}
	a, err := s.client.Do(r)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer a.Body.Close()
	if k%20 == 0 {
		_, _ = io.CopyN(io.Discard, a.Body, 2000) // some chunks
		return
	}
	text, err := io.ReadAll(a.Body)
	ends := k%2 == 1 || strings.HasSuffix(string(text), "data: [DONE]\n\n")
	if err != nil || a.StatusCode != 200 || !ends {
		s.t.Errorf("status %d, %v: %s", a.StatusCode, err, text)
	}
}

// watch measures goroutines and memory for a while, after a tenth of it has passed, and at least so many times. The
// goroutines of a connection, two of the client and one of the service, are left out: clients that leave come back on
// new ones, so that their number goes up and down by more than what is looked for.
func (s *streaming) watch(lasts, every time.Duration, samples int) (goroutines, bytes []float64) {
	began := time.Now()
	for time.Since(began) < lasts || len(bytes) < samples {
		time.Sleep(every)
		if time.Since(began) < lasts/10 {
			continue
		}
		open := s.open.Load()
		require.LessOrEqual(s.t, open, int64(2*s.streams), "connections")
		goroutines, bytes = append(goroutines, float64(runtime.NumGoroutine())-float64(3*open)), append(bytes, heap())
		s.t.Logf("%4.0f s, %d requests: %.0f goroutines besides %d connections, %.1f MB", time.Since(began).Seconds(),
			s.server.number.Load(), goroutines[len(goroutines)-1], open, bytes[len(bytes)-1]/1e6)
	}
	return goroutines, bytes
}

// heap returns how many bytes are in use. What is allocated while it is found out counts, too: the least of a few times
// says best what stays.
func heap() float64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return float64(least)
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}
