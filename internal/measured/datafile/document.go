package datafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/memory"
)

// ReadDocuments parses one or several JSON values, on lines of their own or in a list, of which each is a mapping. It
// takes the NaN and Infinity that Python writes: no number, and the text "inf". A nil report hears nothing.
func ReadDocuments(file string, data []byte, report Reading) ([]Object, error) {
	if err := fits(data, '{', memory.Available()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	plain := withoutNaN(data)
	if err := inputs.DuplicateKey(plain); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []Object
	line, read := 1, 0
	p := parser{known: map[string]string{}, length: len(plain), report: report}
	for {
		begin := read + len(plain[read:]) - len(bytes.TrimLeft(plain[read:], " \t\r\n"))
		line += bytes.Count(plain[read:begin], []byte("\n"))
		if begin == len(plain) {
			return all, nil
		}
		p.before = begin
		read = begin + valueEnd(plain[begin:])
		if !json.Valid(plain[begin:read]) {
			at, err := syntaxError(plain[begin:])
			if err != nil {
				line += bytes.Count(plain[begin:begin+at], []byte("\n"))
				return nil, fmt.Errorf("%s:%d: not JSON: %w", file, line, err)
			}
			read = begin + at
		}
		value := p.documentOf(plain[begin:read])
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

// What a file of JSON takes at its most, garbage and what is made of it included, by measurement: a byte of a long
// list, and an object or a row, which may be a run of its own.
const (
	perByte   = 4
	perObject = 4000
)

// fits refuses a file that takes more memory than there is: the system would end the program, or everything else.
func fits(data []byte, begins byte, available int64) error {
	need := int64(len(data))*perByte + int64(bytes.Count(data, []byte{begins}))*perObject
	if need <= available || available == 0 {
		return nil
	}
	return fmt.Errorf("its %.0f MB would take about %.1f GB of memory, and %.1f GB are available; "+
		"expected a shorter file", float64(len(data))/1e6, float64(need)/1e9, float64(available)/1e9)
}

// syntaxError returns what is wrong with the JSON that begins data, and where; nil: nothing is, and it ends there.
func syntaxError(data []byte) (at int, err error) {
	var value json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	err = d.Decode(&value)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return max(0, int(syntax.Offset)-1), err
	}
	return int(d.InputOffset()), err
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
