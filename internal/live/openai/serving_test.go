package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestACompletionIsAsLongAsTheLawOrTheClientSays(t *testing.T) {
	x := serve(t, nil)
	for _, c := range []struct {
		asks, reason string
		tokens       int
	}{
		{`"max_tokens":50`, "stop", 20},
		{`"max_tokens":7`, "length", 7},
		{`"max_tokens":50,"ignore_eos":true`, "length", 50},
		{`"max_tokens":50,"min_tokens":33`, "stop", 33},
		{`"n":1`, "length", 16},
	} {
		status, text := x.post("/v1/completions", `{"model":"m","prompt":"one two three four",`+c.asks+`}`)
		require.Equal(t, 200, status, text)
		a := parse(t, text)
		require.Equal(t, "text_completion", a.Object)
		require.Equal(t, c.reason, *a.Choices[0].FinishReason, c.asks)
		require.Equal(t, []int{5, c.tokens, 5 + c.tokens}, []int{a.Usage.Prompt, a.Usage.Completion, a.Usage.Total}, c.asks)
		require.Len(t, a.Choices[0].Text, 4*c.tokens)
	}
}

func TestAStreamHasTheTextOfTheWholeAnswer(t *testing.T) {
	x := serve(t, nil)
	_, text := x.post("/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],
		"max_completion_tokens":9,"ignore_eos":true,"n":3,"stream":true,"stream_options":{"include_usage":true}}`)
	all := events(t, text)
	said, ended, roles := [3]string{}, [3]string{}, 0
	for _, e := range all[:len(all)-1] {
		require.Equal(t, "chat.completion.chunk", e.Object)
		c := e.Choices[0]
		said[c.Index] += c.Delta.Content
		if c.Delta.Role != "" {
			roles++
		}
		if c.FinishReason != nil {
			ended[c.Index] = *c.FinishReason
		}
	}
	require.Equal(t, [3]string{"length", "length", "length"}, ended)
	require.Equal(t, 3, roles)
	for _, s := range said {
		require.Len(t, s, 9*4)
	}
	require.NotEqual(t, said[0], said[1])
	last := all[len(all)-1]
	require.Empty(t, last.Choices)
	require.Equal(t, 27, last.Usage.Completion)
}

// TestPromptsThatBeginAlikeAreCached: by their text, whole blocks of it, and in a chat as far as the messages are the
// same.
func TestPromptsThatBeginAlikeAreCached(t *testing.T) {
	x := serve(t, nil, "pools.serve.replicas=1")
	system := strings.Repeat("You answer at once. ", 20) // 100 tokens, 6 full blocks
	for i, want := range []int{0, 96} {
		_, text := x.post("/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, system+fmt.Sprint("question ", i)))
		require.Equal(t, want, parse(t, text).Usage.Details.Cached)
	}
	chat := func(messages string) answer {
		_, text := x.post("/v1/chat/completions", `{"max_tokens":1,"messages":[`+messages+`]}`)
		return parse(t, text)
	}
	first := fmt.Sprintf(`{"role":"system","content":%q},{"role":"user","content":"one"}`, system)
	a := chat(first)
	require.Zero(t, a.Usage.Details.Cached)
	b := chat(first + `,{"role":"assistant","content":"yes"},{"role":"user","content":"two"}`)
	require.Equal(t, a.Usage.Prompt/16*16, b.Usage.Details.Cached)
}

func TestBadRequestsGetTheErrorsOfTheAPI(t *testing.T) {
	x := serve(t, func(c *Config) { c.Limits.BodyBytes = 4096 })
	for _, c := range []struct {
		path, body, param, says string
		status                  int
	}{
		{"/v1/completions", `{`, "", "no JSON object", 400},
		{"/v1/completions", `{} {}`, "", "goes on", 400},
		{"/v1/completions", `{"prompt":"a","max_tokens":1,"Max_tokens":9}`, "", `"Max_tokens" stands twice`, 400},
		{"/fleet", `{"do":"scale","replicas":2,"do":"fail"}`, "", `"do" stands twice`, 400},
		{"/v1/completions", `{}`, "prompt", "missing", 400},
		{"/v1/completions", `{"prompt":{}}`, "prompt", "neither", 400},
		{"/v1/completions", `{"prompt":""}`, "prompt", "empty", 400},
		{"/v1/completions", `{"prompt":[]}`, "prompt", "0 prompts", 400},
		{"/v1/completions", `{"prompt":"a","max_tokens":"b"}`, "max_tokens", "expected int64", 400},
		{"/v1/completions", `{"prompt":"a","max_tokens":0}`, "max_tokens", "expected 1 to", 400},
		{"/v1/completions", `{"prompt":"a","max_tokens":2048}`, "max_tokens", "maximum context length is 2048", 400},
		{"/v1/completions", `{"prompt":"a","n":0}`, "n", "expected 1 to 128", 400},
		{"/v1/completions", `{"prompt":["a","b","c","d","e","f","g","h","i"],"n":128}`, "n", "at most 1024", 400},
		{"/v1/completions", `{"prompt":"a","min_tokens":99}`, "min_tokens", "expected 0 to", 400},
		{"/v1/completions", `{"prompt":"a","echo":true}`, "echo", "not simulated", 400},
		{"/v1/completions", `{"prompt":"a","logprobs":3}`, "logprobs", "not simulated", 400},
		{"/v1/completions", `{"prompt":"a","stream_options":{}}`, "stream_options", "stream=True", 400},
		{"/v1/completions", `{"prompt":"a","model":"gpt"}`, "model", "does not exist", 404},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("a", 5000) + `"}`, "", "more than 4096 bytes", 413},
		{"/v1/chat/completions", `{}`, "messages", "empty", 400},
		{"/v1/chat/completions", `{"messages":[{}]}`, "messages", "no role", 400},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":7}]}`, "messages", "neither", 400},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages",
			"image_url", 400},
		{"/v1/embeddings", `{}`, "", "not served", 404},
		{"/v1/models", `{}`, "", "not for POST", 405},
	} {
		status, text := x.post(c.path, c.body)
		require.Equal(t, c.status, status, "%s: %s", c.body, text)
		e := parse(t, text).Error
		require.NotNil(t, e, text)
		require.Contains(t, e.Message, c.says)
		require.Equal(t, c.status, e.Code)
		require.Equal(t, c.param != "", e.Param != nil, text)
		if c.param != "" {
			require.Equal(t, c.param, *e.Param)
		}
	}
}

func TestATokenIsDemanded(t *testing.T) {
	x := serve(t, func(c *Config) { c.Key = "secret" })
	const ask = `{"prompt":"a","max_tokens":1}`
	for _, headers := range [][]string{nil, {"Authorization", "Bearer wrong"}, {"Authorization", "secret"}} {
		status, text := x.post("/v1/completions", ask, headers...)
		require.Equal(t, 401, status, text)
	}
	status, _ := x.post("/v1/completions", ask, "Authorization", "Bearer secret")
	require.Equal(t, 200, status)
	status, _ = x.get("/health")
	require.Equal(t, 200, status)
	status, _ = x.get("/metrics")
	require.Equal(t, 401, status)
}

// A page that a browser was lured to can neither name this machine by another name nor ask across origins.
func TestPagesFromElsewhereAreRefused(t *testing.T) {
	x := serve(t, nil)
	status, _ := x.post("/fleet", `{"do":"fail"}`, "Host", "evil.example")
	require.Equal(t, 403, status)
	status, _ = x.post("/fleet", `{"do":"fail"}`, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 403, status)
}

func TestTheFleetIsChangedByCommand(t *testing.T) {
	x := serve(t, nil, "pools.serve.replicas_max=3")
	state := func() (lives []string) {
		_, text := x.get("/fleet")
		var s struct{ Replicas []struct{ State string } }
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		for _, r := range s.Replicas {
			lives = append(lives, r.State)
		}
		return lives
	}
	require.Equal(t, []string{"live", "live", "down"}, state())
	_, _ = x.post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
	status, text := x.post("/fleet", `{"do":"scale","replicas":3}`)
	require.Equal(t, 200, status, text)
	status, text = x.post("/fleet", `{"do":"fail","replica":0}`)
	require.Equal(t, 200, status, text)
	require.Eventually(t, func() bool { return fmt.Sprint(state()) == "[down live live]" }, 5*time.Second,
		5*time.Millisecond)
	for body, says := range map[string]string{
		`{"do":"burn"}`: "expected fail, drain or scale", `{"do":"scale","replicas":9}`: "expected 1 to 3",
		`{"do":"fail","replica":7}`: "replica is 7", `{"do":"fail","pool":"x"}`: "valid names: serve",
		`{"do":"fail","down_s":-1}`: "down_s is -1", `{"fail":1}`: "unknown field",
	} {
		status, text := x.post("/fleet", body)
		require.Equal(t, 400, status, text)
		require.Contains(t, text, says)
	}
}

// TestAReplicaHasAnEndpointOfItsOwn: it serves what is sent there, counts it alone, and says when it is down.
func TestAReplicaHasAnEndpointOfItsOwn(t *testing.T) {
	x := serve(t, nil)
	second := httptest.NewServer(x.server.Handler(1))
	t.Cleanup(second.Close)
	y := *x
	y.url = second.URL
	for range 3 {
		status, _ := y.post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
		require.Equal(t, 200, status)
	}
	_, own := y.get("/metrics")
	require.Contains(t, own, `vllm:generation_tokens_total{engine="0",model_name="m"} 3`)
	_, all := x.get("/metrics")
	require.Contains(t, all, `vllm:generation_tokens_total{engine="0",model_name="m"} 0`)
	require.Contains(t, all, `vllm:generation_tokens_total{engine="1",model_name="m"} 3`)
	status, _ := x.post("/fleet", `{"do":"fail","replica":1}`)
	require.Equal(t, 200, status)
	require.Eventually(t, func() bool { s, _ := y.get("/health"); return s == 503 }, 5*time.Second, 5*time.Millisecond)
	status, text := y.post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
	require.Equal(t, 503, status, text)
	status, _ = x.post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
	require.Equal(t, 200, status, "the other replica serves it")
}

func TestADrainEndsWhatIsUnderWay(t *testing.T) {
	x := serveAt(t, 1, nil)
	done := make(chan string)
	go func() {
		_, text := x.post("/v1/completions", `{"prompt":"a","max_tokens":100,"ignore_eos":true,"stream":true}`)
		done <- text
	}()
	require.Eventually(t, func() bool { return x.loop.Open() == 1 }, 5*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go x.server.Drain(ctx)
	require.NotEmpty(t, events(t, <-done))
	status, _ := x.post("/v1/completions", `{"prompt":"a"}`)
	require.Equal(t, 503, status)
	status, _ = x.get("/health")
	require.Equal(t, 503, status)
}

// TestAnAdapterIsAModel: clients ask for adapters by the names that the list of models has, and no other finds what one
// has cached.
func TestAnAdapterIsAModel(t *testing.T) {
	x := serve(t, func(c *Config) { c.Adapters = 2 }, "pools.0.enable_lora=true", "pools.0.max_loras=2",
		"pools.0.max_cpu_loras=2", "pools.0.replicas=1", "workload.adapters.count=2")
	_, text := x.get("/v1/models")
	for _, want := range []string{`"id":"m"`, `"id":"adapter-1"`, `"id":"adapter-2"`, `"parent":"m"`} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "adapter-3")
	prompt := strings.Repeat("the same words ", 40)
	ask := func(model string) (int, string) {
		return x.post("/v1/completions", `{"model": "`+model+`", "max_tokens": 2, "ignore_eos": true, "prompt": "`+prompt+`"}`)
	}
	cached := func(model string) bool {
		status, text := ask(model)
		require.Equal(t, 200, status, text)
		require.Contains(t, text, `"model":"`+model+`"`)
		return !strings.Contains(text, `"cached_tokens":0`) && strings.Contains(text, `"cached_tokens"`)
	}
	first := cached("adapter-1")
	require.False(t, first)
	again := cached("adapter-1")
	require.False(t, cached("adapter-2"), "of another adapter")
	require.False(t, cached("m"), "of the model itself")
	require.True(t, again)
	for _, model := range []string{"adapter-3", "adapter-0", "adapter-01", "adapter-", "adapter", "adapter-99999", "n"} {
		status, text := ask(model)
		require.Equal(t, 404, status)
		require.Contains(t, text, "The model `"+model+"` does not exist.")
	}
}
