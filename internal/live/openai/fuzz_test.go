package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answeredWithin is more than any answer takes, which is at most 2,048 tokens, of a fleet that is a thousand times as
// fast as it would be.
const answeredWithin = 10 * time.Second

// FuzzBodies: whatever is posted gets JSON or a stream with a status of the API, and nothing panics.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"prompt":"one two","max_tokens":3}`, `{"prompt":[1,2,3],"n":2,"stream":true}`, `{"prompt":[[1],[2]]}`, `[]`,
		`{"messages":[{"role":"user","content":"hi"}],"max_tokens":2,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"messages":[{"role":"a","content":[{"type":"text","text":"b"}]}],"max_completion_tokens":1}`, `{"n":-1}`, `"`,
		`{"prompt":"x","max_tokens":1e9}`, `{"prompt":"x","max_tokens":2047,"ignore_eos":true,"min_tokens":5}`, `{"prompt":null}`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	x := serveAt(f, 1000, func(c *Config) { c.Longest, c.Limits.ChoicesTotal = 64, 8 })
	h := x.server.Handler(-1)
	f.Fuzz(func(t *testing.T, body string, chat bool) {
		path := "/v1/completions"
		if chat {
			path = "/v1/chat/completions"
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
		w := httptest.NewRecorder()
		overdue := time.AfterFunc(answeredWithin, func() { panic(fmt.Sprintf("%q is not answered", body)) })
		h.ServeHTTP(w, r)
		overdue.Stop()
		text, _ := io.ReadAll(w.Body)
		switch {
		case w.Code == 200 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
			if !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
				t.Fatalf("%q: the stream does not end: %s", body, text)
			}
		case !json.Valid(text) || w.Code != 200 && !strings.HasPrefix(string(text), `{"error":`):
			t.Fatalf("%q: status %d: %s", body, w.Code, text)
		case w.Code >= 500:
			t.Fatalf("%q: status %d: %s", body, w.Code, text)
		}
	})
}
