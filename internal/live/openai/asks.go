package openai

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/decodesim/decodesim/internal/live"
)

// job is what a request asks of the fleet: one or more answers to one or more prompts.
type job struct {
	chat    bool
	model   string
	adapter uint16
	stream  bool
	usage   bool // at the end of a stream
	running bool // with each chunk of it
	prompts []live.Prompt
	answers []*live.Answer // n to each prompt
	asks    []live.Ask
	limit   []int32 // of each answer
	changed func()  // is called when there is more of an answer
	replica int     // that it was sent to; negative: to the fleet
}

// defaultMaxTokens is that of completions (vLLM 0.33.0, vllm/entrypoints/openai/completion/protocol.py, line 64). A
// chat goes on to the end of the context.
const defaultMaxTokens = 16

// jobOf returns what a request asks for.
func (s *Server) jobOf(b *body, chat bool, session int32, replica int) (*job, *failure) {
	adapter, ok := s.adapterOf(b.Model)
	if !ok {
		return nil, &failure{http.StatusNotFound, "NotFoundError", "The model `" + b.Model + "` does not exist.", "model"}
	}
	j := &job{chat: chat, model: cmp.Or(b.Model, s.model), adapter: adapter, stream: b.Stream, replica: replica}
	if o := b.StreamOptions; o != nil {
		if !b.Stream {
			return nil, bad("stream_options", "Stream options can only be defined when `stream=True`.")
		}
		j.usage, j.running = o.IncludeUsage, o.IncludeUsage && o.ContinuousUsageStats
	}
	var f *failure
	if chat {
		var all []string
		all, f = pieces(b.Messages, b.Tools)
		j.prompts = []live.Prompt{s.reader.Text(all...)}
	} else {
		j.prompts, f = s.promptsOf(b.Prompt)
	}
	if f != nil {
		return nil, f
	}
	return j, s.fill(j, b, session, replica)
}

// fill adds the answers that a job asks for.
func (s *Server) fill(j *job, b *body, session int32, replica int) *failure {
	n, f := between("n", b.N, 1, 1, 128)
	if f != nil {
		return f
	}
	if total := int(n) * len(j.prompts); total > s.limits.ChoicesTotal {
		return bad("n", "n is %d for each of %d prompts; expected at most %d answers", n, len(j.prompts),
			s.limits.ChoicesTotal)
	}
	for i := range j.prompts {
		limit, f := s.limitOf(b, j.chat, j.prompts[i].Tokens)
		if f != nil {
			return f
		}
		if b.MinTokens < 0 || b.MinTokens > int64(limit) {
			return bad("min_tokens", "min_tokens is %d; expected 0 to max_tokens, %d", b.MinTokens, limit)
		}
		samples := &live.Samples{N: int(n)}
		for range n {
			a := live.NewAnswer(func() { j.changed() })
			a.Final = !j.stream
			j.answers, j.limit = append(j.answers, a), append(j.limit, limit)
			j.asks = append(j.asks, live.Ask{Prompt: j.prompts[i], Limit: limit, Least: int32(b.MinTokens),
				Exact: b.IgnoreEOS, Session: session, Adapter: j.adapter, Replica: replica, Samples: samples, Answer: a})
		}
	}
	return nil
}

// limitOf returns the most tokens of an answer.
func (s *Server) limitOf(b *body, chat bool, prompt int32) (int32, *failure) {
	param, asked := "max_tokens", b.MaxTokens
	if chat && b.MaxCompletion != nil {
		param, asked = "max_completion_tokens", b.MaxCompletion
	}
	room := int64(s.longest) - int64(prompt)
	without := min(room, defaultMaxTokens)
	if chat {
		without = room
	}
	limit, f := between(param, asked, without, 1, 1<<30)
	if f != nil {
		return 0, f
	}
	if limit > room || room < 1 {
		return 0, bad(param, "This model's maximum context length is %d tokens. However, you requested %d output tokens "+
			"and your prompt contains %d input tokens, for a total of %d tokens. Please reduce the length of the input "+
			"prompt or the number of requested output tokens.", s.longest, max(1, limit), prompt,
			int64(prompt)+max(1, limit))
	}
	return int32(limit), nil
}

// promptsOf reads a prompt of the completions API: a text, a list of texts, a list of token ids, or a list of such
// lists.
func (s *Server) promptsOf(raw json.RawMessage) ([]live.Prompt, *failure) {
	var prompts []live.Prompt
	var text string
	var texts []string
	var ids []int64
	var lists [][]int64
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, bad("prompt", "prompt is missing; expected a text, a list of texts or token ids")
	case json.Unmarshal(raw, &text) == nil:
		prompts = append(prompts, s.reader.Text(text))
	case json.Unmarshal(raw, &texts) == nil:
		for _, t := range texts {
			prompts = append(prompts, s.reader.Text(t))
		}
	case json.Unmarshal(raw, &ids) == nil:
		prompts = append(prompts, s.reader.IDs(ids))
	case json.Unmarshal(raw, &lists) == nil:
		for _, l := range lists {
			prompts = append(prompts, s.reader.IDs(l))
		}
	default:
		return nil, bad("prompt", "prompt is neither a text, a list of texts, a list of token ids nor a list of such")
	}
	for _, p := range prompts {
		if p.Tokens == 0 {
			return nil, bad("prompt", "prompt is empty; expected at least one token")
		}
	}
	if len(prompts) == 0 || len(prompts) > s.limits.ChoicesTotal {
		return nil, bad("prompt", "prompt has %d prompts; expected 1 to %d", len(prompts), s.limits.ChoicesTotal)
	}
	return prompts, nil
}
