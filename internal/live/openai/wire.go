package openai

import (
	"encoding/json"
	"strconv"
)

// wire writes the JSON of the answers to a job. What is the same in every chunk is written once: a token costs no
// encoder.
type wire struct {
	job   *job
	id    string
	head  []byte // of a chunk, up to its choices
	words []words
}

func newWire(j *job, id string, number uint64, created int64, bytesPerToken int) *wire {
	kind := "text_completion"
	switch {
	case j.chat && j.stream:
		kind = "chat.completion.chunk"
	case j.chat:
		kind = "chat.completion"
	}
	name, err := json.Marshal(j.model)
	if err != nil {
		panic(err) // it is a string
	}
	x := &wire{job: j, id: id}
	x.head = append(x.head, `{"id":"`+id+`","object":"`+kind+`","created":`...)
	x.head = strconv.AppendInt(x.head, created, 10)
	x.head = append(append(append(x.head, `,"model":`...), name...), `,"choices":[`...)
	for i := range j.answers {
		x.words = append(x.words, words{mix(number<<16 + uint64(i)), bytesPerToken})
	}
	return x
}

// chunk appends the event with the tokens of an answer from a position on; finish: why it ends, empty: it goes on.
func (x *wire) chunk(b []byte, i int, from, tokens int32, finish string) []byte {
	if x.job.chat && from == 0 {
		b = append(append(b, "data: "...), x.head...)
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	}
	b = append(append(b, "data: "...), x.head...)
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, int64(i), 10)
	if x.job.chat {
		b = append(b, `,"delta":{"content":"`...)
		b = append(x.words[i].append(b, from, tokens), `"}`...)
	} else {
		b = append(b, `,"text":"`...)
		b = append(x.words[i].append(b, from, tokens), '"')
	}
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	b = append(appendReason(b, finish), "}]"...)
	if x.job.running {
		b = append(b, `,"usage":`...)
		b = x.appendUsage(b, func(k int) int32 {
			if k == i {
				return from + tokens
			}
			return 0
		})
	}
	return append(b, "}\n\n"...)
}

func appendReason(b []byte, finish string) []byte {
	if finish == "" {
		return append(b, "null"...)
	}
	return append(append(append(b, '"'), finish...), '"')
}

// closing appends the last events of a stream.
func (x *wire) closing(b []byte) []byte {
	if x.job.usage {
		b = append(append(b, "data: "...), x.head...)
		b = append(b, `],"usage":`...)
		b = x.appendUsage(b, x.released)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// whole returns the answers in one piece.
func (x *wire) whole(b []byte) []byte {
	b = append(b, x.head...)
	for i, a := range x.job.answers {
		tokens, _ := a.Released()
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		if x.job.chat {
			b = append(b, `,"message":{"role":"assistant","content":"`...)
			b = append(x.words[i].append(b, 0, tokens), `"}`...)
		} else {
			b = append(b, `,"text":"`...)
			b = append(x.words[i].append(b, 0, tokens), '"')
		}
		b = append(b, `,"logprobs":null,"finish_reason":`...)
		b = append(appendReason(b, x.job.reason(i)), '}')
	}
	b = append(b, `],"usage":`...)
	return append(x.appendUsage(b, x.released), '}')
}

func (x *wire) released(i int) int32 {
	tokens, _ := x.job.answers[i].Released()
	return tokens
}

// appendUsage appends how many tokens prompts and answers have.
func (x *wire) appendUsage(b []byte, tokens func(i int) int32) []byte {
	prompt, cached, output := int64(0), int64(0), int64(0)
	for i := range x.job.prompts {
		prompt += int64(x.job.prompts[i].Tokens)
	}
	for i, a := range x.job.answers {
		output += int64(tokens(i))
		if i%max(1, len(x.job.answers)/len(x.job.prompts)) == 0 {
			cached += int64(a.Cached())
		}
	}
	b = strconv.AppendInt(append(b, `{"prompt_tokens":`...), prompt, 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), prompt+output, 10)
	b = strconv.AppendInt(append(b, `,"completion_tokens":`...), output, 10)
	b = strconv.AppendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), cached, 10)
	return append(b, "}}"...)
}

// reason returns why an answer that is whole ended.
func (j *job) reason(i int) string {
	if tokens, _ := j.answers[i].Released(); tokens >= j.limit[i] {
		return "length"
	}
	return "stop"
}
