package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/live"
)

const scenario = `
name: live
model: llama-3.1-8b
pools: [{gpu: h100-sxm, replicas: 2, max_model_len: 2048}]
workload:
  arrivals: {process: poisson, rate: 10}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 20}
  requests: 1000
`

// service is a fleet that is served to a test.
type service struct {
	t      testing.TB
	server *Server
	loop   *live.Loop
	url    string
}

// serve serves the scenario on a clock that is faster than the wall's.
func serve(t testing.TB, change func(*Config), set ...string) *service {
	t.Helper()
	return serveAt(t, 20, change, set...)
}

// serveAt serves the scenario on a clock of a speed, and records what it serves.
func serveAt(t testing.TB, speed float64, change func(*Config), set ...string) *service {
	t.Helper()
	s, err := configs.Read("live.yaml", []byte(scenario), configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.NewLive(s)
	require.NoError(t, err)
	f, err := live.New(b, live.Options{Trace: io.Discard})
	require.NoError(t, err)
	clock := live.NewClock(speed)
	c := Config{Model: "m", Root: "llama-3.1-8b", Longest: 2048, Local: true, Bytes: 4, Limits: DefaultLimits()}
	if change != nil {
		change(&c)
	}
	loop := live.NewLoop(f, clock)
	x := &service{t: t, server: New(loop, clock, c), loop: loop}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { assert.NoError(t, loop.Run(ctx)); close(done) }()
	h := httptest.NewUnstartedServer(nil)
	h.Config = x.server.HTTP(x.server.Handler(-1))
	h.Start()
	x.url = h.URL
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		cancel()
		<-done
	})
	return x
}

// post posts a body, and returns the status and what is answered.
func (x *service) post(path, body string, headers ...string) (int, string) {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, x.url+path, strings.NewReader(body))
	require.NoError(x.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	return x.do(r)
}

func (x *service) get(path string) (int, string) {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, x.url+path, nil)
	require.NoError(x.t, err)
	return x.do(r)
}

func (x *service) do(r *http.Request) (int, string) {
	x.t.Helper()
	a, err := http.DefaultClient.Do(r)
	require.NoError(x.t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(x.t, err)
	return a.StatusCode, string(text)
}

// answer is what the tests read of an answer or of an event.
type answer struct {
	Object  string
	Model   string
	Choices []struct {
		Index        int
		Text         string
		Message      struct{ Role, Content string }
		Delta        struct{ Role, Content string }
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error *struct {
		Message, Type string
		Param         *string
		Code          int
	}
}

func parse(t testing.TB, text string) (a answer) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &a), text)
	return a
}

// events returns the events of a stream, which must end with [DONE].
func events(t testing.TB, text string) (all []answer) {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n")
	require.Equal(t, "data: [DONE]", parts[len(parts)-1], text)
	for _, p := range parts[:len(parts)-1] {
		body, ok := strings.CutPrefix(p, "data: ")
		require.True(t, ok, p)
		all = append(all, parse(t, body))
	}
	return all
}
