package openai

import (
	"encoding/json"
	"fmt"
)

// message is one of a chat.
type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// part is a piece of the content of a message.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// pieces returns the prompt of a chat: the tools, then role and content of each message, then the role that answers.
// What was said before stays what later prompts begin with.
func pieces(messages []message, tools json.RawMessage) ([]string, *failure) {
	if len(messages) == 0 {
		return nil, bad("messages", "messages is empty; expected at least one")
	}
	var all []string
	if len(tools) > 0 && string(tools) != "null" {
		all = append(all, string(tools))
	}
	for i := range messages {
		m := &messages[i]
		if m.Role == "" {
			return nil, bad("messages", "messages[%d] has no role", i)
		}
		text, err := m.text()
		if err != nil {
			return nil, bad("messages", "messages[%d]: %s", i, err)
		}
		all = append(all, "<|"+m.Role+"|>"+m.Name, text)
		if len(m.ToolCalls) > 0 && string(m.ToolCalls) != "null" {
			all = append(all, string(m.ToolCalls))
		}
	}
	return append(all, "<|assistant|>"), nil
}

// text returns the content of m, which is a string or a list of parts.
func (m *message) text() (string, error) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", fmt.Errorf("content is neither a string nor a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("a part of type %q is not simulated; expected text", p.Type)
		}
		text += p.Text
	}
	return text, nil
}
