package openai

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLimitsOnRateAndStreams(t *testing.T) {
	x := serve(t, func(c *Config) { c.Limits.RatePerS = 2 })
	var seen []int
	for range 4 {
		status, _ := x.post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
		seen = append(seen, status)
	}
	require.Contains(t, seen, 429)
	require.Equal(t, 200, seen[0])
	y := serve(t, func(c *Config) { c.Limits.Streams = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	under(t, ctx, y, 1)
	status, _ := y.post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
	require.Equal(t, 503, status)
	cancel()
	require.Eventually(t, func() bool { return y.server.guard.streams.Load() == 0 && y.loop.Open() == 0 }, 5*time.Second,
		10*time.Millisecond, "a client that has gone frees its place, and its request is cancelled")
}

// TestWhatIsNotAdmittedIsRefusedBeforeItsStream with a status by which clients try again, whether they wait for a
// stream or for one piece, and is counted by its reason.
func TestWhatIsNotAdmittedIsRefusedBeforeItsStream(t *testing.T) {
	for _, c := range []struct {
		admission, reason string
		status            int
	}{
		{"{queue_limit: 1}", "max_num_queued_reqs", 503},
		{"{rate_per_s: 0.00001, burst: 2}", "rate_per_s", 429},
		{"{tokens_per_s: 0.01, token_burst: 4010}", "tokens_per_s", 429},
	} {
		x := serveAt(t, 1, nil, "pools.serve.replicas=1", "pools.serve.max_num_seqs=1", "admission="+c.admission)
		ctx, cancel := context.WithCancel(t.Context())
		under(t, ctx, x, 1)
		require.Eventually(t, func() bool {
			_, text := x.get("/metrics")
			return strings.Contains(text, "\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1\n")
		}, 5*time.Second, 5*time.Millisecond)
		under(t, ctx, x, 1) // waits
		for _, stream := range []string{"true", "false"} {
			status, text := x.post("/v1/completions", `{"prompt":"a","max_tokens":9,"n":3,"stream":`+stream+`}`)
			require.Equal(t, c.status, status, text)
			require.Equal(t, c.status, parse(t, text).Error.Code)
		}
		_, text := x.get("/metrics")
		require.Contains(t, text, fmt.Sprintf("\nvllm:admission_rejections_total{model_name=\"m\",reason=%q} 2\n", c.reason))
		cancel()
	}
}

// under begins n streams that last longer than a test and reads nothing of them.
func under(t testing.TB, ctx context.Context, x *service, n int) {
	for range n {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url+"/v1/completions",
			strings.NewReader(`{"prompt":"a","max_tokens":2000,"ignore_eos":true,"stream":true}`))
		require.NoError(t, err)
		a, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, 200, a.StatusCode)
		t.Cleanup(func() { a.Body.Close() })
	}
}

// TestClientsThatDoNotReadKeepNobodyWaiting: connections that send half a request, or read nothing of an answer, change
// nothing for others.
func TestClientsThatDoNotReadKeepNobodyWaiting(t *testing.T) {
	x := serve(t, nil)
	address := strings.TrimPrefix(x.url, "http://")
	for i := range 20 {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		body := `{"prompt":"a","max_tokens":2000,"ignore_eos":true,"stream":true}`
		head := fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(body))
		switch i % 3 {
		case 0:
			_, err = io.WriteString(c, head[:20])
		case 1:
			_, err = io.WriteString(c, head+body[:10])
		case 2:
			_, err = io.WriteString(c, head+body)
		}
		require.NoError(t, err)
	}
	began := time.Now()
	status, _ := x.post("/v1/completions", `{"prompt":"a","max_tokens":20,"ignore_eos":true}`)
	require.Equal(t, 200, status)
	require.Less(t, time.Since(began), 3*time.Second)
}

// TestWhoSendsItsRequestSlowlyIsCutOff: its head or its body, however it trickles.
func TestWhoSendsItsRequestSlowlyIsCutOff(t *testing.T) {
	const limit = 300 * time.Millisecond
	x := serve(t, func(c *Config) { c.Limits.Header, c.Limits.Body = limit, limit })
	for _, begins := range []string{
		"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
	} {
		began := time.Now()
		c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(c, begins)
		require.NoError(t, err)
		go func() {
			for time.Since(began) < 20*time.Second {
				time.Sleep(limit / 20)
				if _, err := io.WriteString(c, " "); err != nil {
					return
				}
			}
		}()
		require.NoError(t, c.SetReadDeadline(began.Add(10*time.Second)))
		_, err = io.Copy(io.Discard, c)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is answered or cut off: %q", begins)
		require.GreaterOrEqual(t, time.Since(began), limit)
		c.Close()
	}
}

// TestWhoReadsNothingIsCutOff, and its request cancelled, when it has had the time to take what is written.
func TestWhoReadsNothingIsCutOff(t *testing.T) {
	x := serve(t, func(c *Config) { c.Limits.Write, c.Longest = 300*time.Millisecond, 131072 },
		"pools.serve.replicas=1", "pools.serve.max_model_len=131072")
	c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
	body := `{"prompt":"a","n":64,"max_tokens":100000,"ignore_eos":true,"stream":true}`
	_, err = fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return x.loop.Open() == 64 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return x.loop.Open() == 0 }, 20*time.Second, 10*time.Millisecond)
}
