package datafile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// valueEnd is where the JSON value ends that begins at the start of data: behind its last brace, bracket or quote, or
// before what cannot be part of a number or a word. It does not say whether the value is valid.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			i = textEnd(data, i) - 1
		default:
			if depth > 0 || i+1 < len(data) && bytes.IndexByte([]byte(" \t\r\n{}[]\","), data[i+1]) < 0 {
				continue
			}
		}
		if depth <= 0 {
			return i + 1
		}
	}
	return len(data)
}

// textEnd is where the text ends that begins at i, behind its quote.
func textEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// parser makes values of JSON that is known to be valid. Files of benchmark tools are millions of gaps between tokens:
// a list in which all are numbers becomes a []float64, which takes a seventh of what a list of anything would. Files of
// one line a request say the same keys and names on each: these are one text.
type parser struct {
	data    []byte
	at      int
	numbers []float64
	known   map[string]string

	length, before int // of the file, and of what is before data
	values         int // parsed
	report         Reading
}

// Reading hears how far a file is read, of so much in all; it is nil where nobody wants to know.
type Reading func(done, of int64)

// reportEvery is after how many values or rows that is reported.
const reportEvery = 4096

// parsed counts a value. A value is looked through before it is parsed, and the whole file before that.
func (p *parser) parsed() {
	p.values++
	if p.report != nil && p.values%reportEvery == 0 {
		p.report(int64(p.length+p.before+len(p.data)+p.before+p.at), 3*int64(p.length))
	}
}

// documentOf returns a parser's value of a document.
func (p *parser) documentOf(data []byte) any {
	p.data, p.at = data, 0
	return p.value()
}

// value parses the value that comes next.
func (p *parser) value() any {
	p.parsed()
	p.skipSpace()
	switch p.data[p.at] {
	case '{':
		return p.object()
	case '[':
		return p.list()
	case '"':
		return p.text()
	}
	begin := p.at
	for p.at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), p.data[p.at]) < 0 {
		p.at++
	}
	switch word := string(p.data[begin:p.at]); word {
	case "null":
		return nil
	case "true", "false":
		return word == "true"
	default:
		if x, err := strconv.ParseFloat(word, 64); err == nil {
			return x
		}
		return json.Number(word) // beyond what a float64 can be
	}
}

func (p *parser) skipSpace() {
	for p.at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n"), p.data[p.at]) >= 0 {
		p.at++
	}
}

// ended skips the comma, or reports that the closing brace or bracket was there, which it skips too.
func (p *parser) ended(closing byte) bool {
	p.skipSpace()
	is := p.data[p.at] == closing
	if is || p.data[p.at] == ',' {
		p.at++
	}
	return is
}

func (p *parser) object() map[string]any {
	fields := map[string]any{}
	for p.at++; !p.ended('}'); {
		p.skipSpace()
		key := p.text()
		p.skipSpace()
		p.at++ // the colon
		fields[key] = p.value()
	}
	return fields
}

func (p *parser) text() string {
	begin := p.at
	p.at = textEnd(p.data, begin)
	quoted := p.data[begin:p.at]
	if plain, ok := p.known[string(quoted)]; ok {
		return plain
	}
	var plain string
	_ = json.Unmarshal(quoted, &plain) // it is valid
	if len(quoted) <= knownMax && len(p.known) < knownMax {
		p.known[string(quoted)] = plain
	}
	return plain
}

// knownMax bounds how many texts a parser knows again, and how long they are.
const knownMax = 256

// list parses a list: of numbers as such, as long as all of it is that.
func (p *parser) list() any {
	p.at++
	begin := p.at
	p.numbers = p.numbers[:0]
	for !p.ended(']') {
		x, ok := p.number()
		if !ok {
			p.at = begin
			return p.anything()
		}
		p.numbers = append(p.numbers, x)
	}
	if len(p.numbers) == 0 {
		return []any{}
	}
	return slices.Clone(p.numbers)
}

// number parses a number; false: what comes next is none, or none that a float64 can be.
func (p *parser) number() (float64, bool) {
	p.skipSpace()
	begin := p.at
	p.parsed()
	for p.at < len(p.data) && bytes.IndexByte([]byte("+-.0123456789eE"), p.data[p.at]) >= 0 {
		p.at++
	}
	x, err := strconv.ParseFloat(string(p.data[begin:p.at]), 64)
	return x, err == nil
}

func (p *parser) anything() []any {
	var all []any
	for !p.ended(']') {
		all = append(all, p.value())
	}
	return all
}
