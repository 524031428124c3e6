//go:build unix

package openai

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkTokens is what a streamed token costs this process, apart from its client, which is another one, and how
// long after it was due it was written: at real time, with streams that are always under way.
func BenchmarkTokens(b *testing.B) {
	for _, streams := range []int{1, 200, 1000} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			x := serveAt(b, 1, nil, fmt.Sprint("pools.serve.replicas=", (streams+249)/250))
			each := max(1, b.N/streams)
			client := exec.Command(os.Args[0], "-test.run", "^TestClientOfBenchmark$")
			client.Env = append(os.Environ(), fmt.Sprintf("DECODESIM_BENCHMARK=%s %d %d", x.url, streams, each))
			client.Stderr = os.Stderr
			b.ResetTimer()
			began, before := time.Now(), used(b)
			require.NoError(b, client.Run())
			tokens := float64(streams * each)
			d := x.server.Delays()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric((used(b)-before).Seconds()*1e6/tokens, "cpu-µs/token")
			b.ReportMetric(tokens/time.Since(began).Seconds(), "tokens/s")
			b.ReportMetric(d.Released.P50*1e3, "released-p50-ms")
			b.ReportMetric(d.Written.P50*1e3, "written-p50-ms")
			b.ReportMetric(d.Written.P99*1e3, "written-p99-ms")
		})
	}
}

// used returns the processor time that this process has used.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestClientOfBenchmark is not a test but the process of the clients of BenchmarkTokens.
func TestClientOfBenchmark(t *testing.T) {
	var url string
	var streams, tokens int
	if _, err := fmt.Sscan(os.Getenv("DECODESIM_BENCHMARK"), &url, &streams, &tokens); err != nil {
		t.Skip("it is run by BenchmarkTokens")
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			for left := tokens; left > 0; left -= 64 {
				a, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(
					`{"messages":[{"role":"user","content":"a"}],"max_tokens":%d,"ignore_eos":true,"stream":true}`, min(left, 64))))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, a.Body)
				a.Body.Close()
			}
		})
	}
	wg.Wait()
}
