package datafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/decodesim/decodesim/configs/inputs"
)

// ReadDocuments parses one or several JSON values, on lines of their own or in a list, of which each is a mapping. It
// takes the NaN and Infinity that Python writes: no number, and the text "inf".
func ReadDocuments(file string, data []byte) ([]Object, error) {
	plain := withoutNaN(data)
	if err := inputs.DuplicateKey(plain); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []Object
	line, read := 1, 0
	for {
		begin := read + len(plain[read:]) - len(bytes.TrimLeft(plain[read:], " \t\r\n"))
		line += bytes.Count(plain[read:begin], []byte("\n"))
		if begin == len(plain) {
			return all, nil
		}
		read = begin + valueEnd(plain[begin:])
		if !json.Valid(plain[begin:read]) {
			at, err := syntaxError(plain[begin:])
			return nil, fmt.Errorf("%s:%d: not JSON: %w", file, line+bytes.Count(plain[begin:begin+at], []byte("\n")), err)
		}
		value := (&parser{data: plain[begin:read]}).value()
		list, several := asList(value)
		if !several {
			list = []any{value}
		}
		for i, value := range list {
			fields, ok := value.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s:%d: value %d is not a mapping; expected JSON objects", file, line, i+1)
			}
			all = append(all, Object{Origin: &Origin{File: file, Line: line}, Fields: fields})
		}
		line += bytes.Count(plain[begin:read], []byte("\n"))
	}
}

// syntaxError returns what is wrong with the JSON that begins data, and where.
func syntaxError(data []byte) (at int, err error) {
	var value json.RawMessage
	err = json.NewDecoder(bytes.NewReader(data)).Decode(&value)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return max(0, int(syntax.Offset)-1), err
	}
	return 0, err
}

// withoutNaN writes NaN as null and Infinity as "inf" outside strings.
func withoutNaN(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	var out bytes.Buffer
	out.Grow(len(data))
	quoted := false
	for i := 0; i < len(data); i++ {
		switch rest := data[i:]; {
		case quoted && data[i] == '\\' && i+1 < len(data):
			out.WriteByte(data[i])
			i++
		case data[i] == '"':
			quoted = !quoted
		case quoted:
		case bytes.HasPrefix(rest, []byte("NaN")):
			out.WriteString("null")
			i += len("NaN") - 1
			continue
		case bytes.HasPrefix(rest, []byte("-Infinity")):
			out.WriteString("null")
			i += len("-Infinity") - 1
			continue
		case bytes.HasPrefix(rest, []byte("Infinity")):
			out.WriteString(`"inf"`)
			i += len("Infinity") - 1
			continue
		}
		out.WriteByte(data[i])
	}
	return out.Bytes()
}
