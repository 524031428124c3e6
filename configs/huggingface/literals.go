package huggingface

import "bytes"

// quoted returns JSON as Python writes it with Infinity, -Infinity and NaN as strings. Fields that nobody reads may
// hold them; where a number is read, the message shows the word.
func quoted(data []byte) []byte {
	out := make([]byte, 0, len(data))
	inside := false
	for i := 0; i < len(data); i++ {
		switch {
		case inside && data[i] == '\\' && i+1 < len(data):
			out = append(out, data[i])
			i++
		case data[i] == '"':
			inside = !inside
		case !inside:
			if word := literalAt(data[i:]); word != "" {
				out = append(append(append(out, '"'), word...), '"')
				i += len(word) - 1
				continue
			}
		}
		out = append(out, data[i])
	}
	return out
}

// literalAt returns the number that only Python writes with which data begins.
func literalAt(data []byte) string {
	for _, word := range []string{"Infinity", "-Infinity", "NaN"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return word
		}
	}
	return ""
}
