package datafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/decodesim/decodesim/configs/inputs"
)

// ReadDocuments parses one or several JSON values, on lines of their own or in a list, of which each is a mapping. It
// takes the NaN and Infinity that Python writes: no number, and the text "inf".
func ReadDocuments(file string, data []byte) ([]Object, error) {
	plain := withoutNaN(data)
	if err := inputs.DuplicateKey(plain); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var all []Object
	line, read := 1, 0
	for {
		var value any
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		begin := read + len(plain[read:]) - len(bytes.TrimLeft(plain[read:], " \t\r\n"))
		line += bytes.Count(plain[read:begin], []byte("\n"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: not JSON: %w", file, line+bytes.Count(plain[begin:errorOffset(err, begin)],
				[]byte("\n")), err)
		}
		list, several := value.([]any)
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
		read = int(d.InputOffset())
		line += bytes.Count(plain[begin:read], []byte("\n"))
	}
}

// errorOffset returns where in the file the decoder failed, if that is beyond the start of the value.
func errorOffset(err error, begin int) int {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return max(begin, int(syntax.Offset)-1)
	}
	return begin
}

// withoutNaN writes NaN as null and Infinity as "inf" outside strings.
func withoutNaN(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	var out bytes.Buffer
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
