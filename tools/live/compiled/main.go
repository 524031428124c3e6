// Command compiled is a client of Go, go-openai, under load: compiled URL STREAMS REQUESTS TOKENS WORDS RATE.
//
// RATE requests begin in a second, but never more than STREAMS are under way. It prints what streams.py does: one JSON
// object with latencies in milliseconds as this client sees them, TTFT from the call to the first token and ITL between
// chunks with text. Beside the clients of Python and JavaScript, which read the chunks of a step one after the other on
// one core, it says how much of a difference is theirs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sashabaranov/go-openai"
)

// seen are the latencies of one worker.
type seen struct{ ttft, itl, e2e []time.Duration }

func main() {
	if len(os.Args) != 7 {
		fail("usage: compiled URL STREAMS REQUESTS TOKENS WORDS RATE")
	}
	var n [4]int
	for i := range n {
		x, err := strconv.Atoi(os.Args[i+2])
		if err != nil {
			fail(err)
		}
		n[i] = x
	}
	streams, requests := n[0], n[1]
	rate, err := strconv.ParseFloat(os.Args[6], 64)
	if err != nil {
		fail(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: streams}
	config := openai.DefaultConfig("none")
	config.BaseURL, config.HTTPClient = os.Args[1], &http.Client{Transport: transport}
	client := openai.NewClientWithConfig(config)
	all, next := make([]seen, streams), atomic.Int64{}
	var wg sync.WaitGroup
	began := time.Now()
	for i := range all {
		wg.Go(func() {
			for k := next.Add(1); k <= int64(requests); k = next.Add(1) {
				time.Sleep(time.Until(began.Add(time.Duration(float64(k-1) / rate * 1e9))))
				prompt := fmt.Sprintf("%07d ", k) + strings.Repeat("word ", n[3])
				if err := all[i].ask(client, prompt, n[2]); err != nil {
					fail(err)
				}
			}
		})
	}
	wg.Wait()
	report(all, requests, time.Since(began))
}

// ask has one answer streamed.
func (s *seen) ask(c *openai.Client, prompt string, tokens int) error {
	began := time.Now()
	last, first := began, true
	stream, err := c.CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{
		Model: "m", Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt}},
		MaxTokens: tokens,
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		now := time.Now()
		if errors.Is(err, io.EOF) {
			s.e2e = append(s.e2e, now.Sub(began))
			return nil
		}
		if err != nil {
			return err
		}
		if len(chunk.Choices) == 0 || chunk.Choices[0].Delta.Content == "" {
			continue
		}
		if first {
			s.ttft = append(s.ttft, now.Sub(last))
		} else {
			s.itl = append(s.itl, now.Sub(last))
		}
		first, last = false, now
	}
}

func report(all []seen, requests int, took time.Duration) {
	var sum seen
	for i := range all {
		sum.ttft, sum.itl = append(sum.ttft, all[i].ttft...), append(sum.itl, all[i].itl...)
		sum.e2e = append(sum.e2e, all[i].e2e...)
	}
	err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ttft_ms": quantiles(sum.ttft), "itl_ms": quantiles(sum.itl), "e2e_ms": quantiles(sum.e2e),
		"requests_per_s": float64(requests) / took.Seconds(),
	})
	if err != nil {
		fail(err)
	}
}

func quantiles(d []time.Duration) map[string]float64 {
	slices.Sort(d)
	of := func(q float64) float64 { return float64(d[int(q*float64(len(d)-1)+.5)]) / 1e6 }
	return map[string]float64{"p50": of(.5), "p99": of(.99)}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(1)
}
