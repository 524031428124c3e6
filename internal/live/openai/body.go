package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs/inputs"
)

// body is the body of a request, as far as it matters how long the answer is and what it looks like. Sampling
// parameters, penalties and stop strings are taken and change nothing: there is no text that they could be about.
type body struct {
	Model         string          `json:"model"`
	Prompt        json.RawMessage `json:"prompt"`
	Messages      []message       `json:"messages"`
	Tools         json.RawMessage `json:"tools"`
	MaxTokens     *int64          `json:"max_tokens"`
	MaxCompletion *int64          `json:"max_completion_tokens"`
	MinTokens     int64           `json:"min_tokens"`
	IgnoreEOS     bool            `json:"ignore_eos"`
	N             *int64          `json:"n"`
	Stream        bool            `json:"stream"`
	StreamOptions *streamOptions  `json:"stream_options"`
	User          string          `json:"user"`
	absent
}

// streamOptions say what a stream has beside the tokens.
type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats"`
}

// absent are parameters of answers that are not simulated. They are refused unless they ask for nothing.
type absent struct {
	Echo           bool            `json:"echo"`
	Suffix         *string         `json:"suffix"`
	LogProbs       json.RawMessage `json:"logprobs"`
	PromptLogProbs *int64          `json:"prompt_logprobs"`
	BeamSearch     bool            `json:"use_beam_search"`
	BestOf         *int64          `json:"best_of"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	PromptEmbeds   json.RawMessage `json:"prompt_embeds"`
}

// check returns what of the answer cannot be had.
func (a *absent) check() *failure {
	logprobs := strings.TrimSpace(string(a.LogProbs))
	choice := strings.TrimSpace(string(a.ToolChoice))
	for _, x := range []struct {
		param string
		asked bool
	}{
		{"echo", a.Echo}, {"suffix", a.Suffix != nil && *a.Suffix != ""},
		{"logprobs", logprobs != "" && logprobs != "null" && logprobs != "false"},
		{"prompt_logprobs", a.PromptLogProbs != nil}, {"use_beam_search", a.BeamSearch},
		{"best_of", a.BestOf != nil && *a.BestOf > 1},
		{"tool_choice", choice != "" && choice != "null" && choice != `"none"` && choice != `"auto"`},
		{"prompt_embeds", len(a.PromptEmbeds) > 0 && string(a.PromptEmbeds) != "null"},
	} {
		if x.asked {
			return bad(x.param, "%s is not simulated; leave it out", x.param)
		}
	}
	return nil
}

// read reads the body of a request within the limits.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*body, *failure) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.limits.Body)) // a test's recorder has none
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.BodyBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, refused(http.StatusRequestEntityTooLarge, "BadRequestError", "the body has more than %d bytes",
			s.limits.BodyBytes)
	case err != nil:
		// The deadline stays: the server reads what is left of a body before it answers.
		w.Header().Set("Connection", "close")
		return nil, bad("", "the body could not be read: %s", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	x := &body{}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(x); err != nil {
		return nil, badJSON(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad("", "the body goes on after its JSON object")
	}
	if err := inputs.DuplicateField(text); err != nil {
		return nil, bad("", "the body: %s", err)
	}
	return x, x.check()
}

// badJSON says what is wrong with a body.
func badJSON(err error) *failure {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return bad(kind.Field, "%s is a %s; expected %s", kind.Field, kind.Value, kind.Type)
	}
	return bad("", "the body is no JSON object of a request: %s", err)
}

// between returns the value of a parameter, or what it is without one.
func between(param string, x *int64, without, from, to int64) (int64, *failure) {
	if x == nil {
		return without, nil
	}
	if *x < from || *x > to {
		return 0, bad(param, "%s is %d; expected %s", param, *x, fmt.Sprintf("%d to %d", from, to))
	}
	return *x, nil
}
