package strict

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Long lists of numbers, such as the lengths of many requests, never become nodes of the YAML library, which take a
// hundred times their text: the lists are blanked before the library reads the file, and read from the file itself
// where it has come to an empty list at their place. A list at whose place is something else, as in a text that quotes
// one, stands for itself.

// numbersMin is the numbers of a list that is long.
const numbersMin = 256

// numbers is the text of a long list of numbers, without its brackets; dashed: with a dash before each.
type numbers struct {
	text   []byte
	dashed bool
	used   bool
}

// blankNumbers returns data with blanks in the place of long lists of numbers, line by line as long as it was, and the
// lists by where they begin.
func blankNumbers(data []byte) ([]byte, map[Position]*numbers) {
	lists := map[Position]*numbers{}
	blanked := data
	line, begin := 1, 0 // of the line
	note := func(from, to, column int, dashed bool) {
		if len(lists) == 0 {
			blanked = bytes.Clone(data)
		}
		lists[Position{line, column}] = &numbers{text: data[from:to], dashed: dashed}
		for i := from; i < to; i++ {
			if data[i] != '\n' && data[i] != '\r' {
				blanked[i] = ' '
			}
		}
	}
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\n':
			line, begin = line+1, i+1
		case '[':
			if end, ok := flowNumbers(data[i+1:]); ok {
				note(i+1, i+1+end, utf8.RuneCount(data[begin:i])+1, false)
				line += bytes.Count(data[i+1:i+1+end], []byte("\n"))
				if last := bytes.LastIndexByte(data[:i+1+end], '\n'); last >= begin {
					begin = last + 1
				}
				i += end
			}
		case '-':
			if blank := bytes.TrimLeft(data[begin:i], " "); len(blank) > 0 {
				continue
			}
			if end, ok := dashedNumbers(data[begin:], i-begin); ok {
				note(i, begin+end, i-begin+2, true)
				blanked[i+1], blanked[i+2] = '[', ']'
				line += bytes.Count(data[i:begin+end], []byte("\n"))
				begin += end
				i = begin - 1
			}
		}
	}
	return blanked, lists
}

// flowNumbers reports whether data goes on with many numbers between commas, up to the bracket at end.
func flowNumbers(data []byte) (end int, ok bool) {
	n := 0
	for {
		end += blanks(data[end:], " \t\r\n")
		if end < len(data) && data[end] == ']' {
			return end, n >= numbersMin
		}
		length := numberLength(data[end:])
		if length == 0 {
			return 0, false
		}
		end += length
		end += blanks(data[end:], " \t\r\n")
		n++
		switch {
		case end == len(data):
			return 0, false
		case data[end] == ',':
			end++
		case data[end] != ']':
			return 0, false
		}
	}
}

// dashedNumbers reports whether data begins with many lines of a number each, behind a dash at this indent; end is the
// end of the last of them.
func dashedNumbers(data []byte, indent int) (end int, ok bool) {
	n := 0
	for {
		at := end + blanks(data[end:], " ")
		if at-end != indent || !bytes.HasPrefix(data[at:], []byte("- ")) {
			break
		}
		at += 2
		at += blanks(data[at:], " ")
		length := numberLength(data[at:])
		at += length
		if length == 0 || at >= len(data) {
			break
		}
		if data[at] == '\r' {
			at++
		}
		if at >= len(data) || data[at] != '\n' {
			break
		}
		end = at + 1
		n++
	}
	return max(0, end-1), n >= numbersMin
}

// blanks returns how many of these characters data begins with.
func blanks(data []byte, of string) int { return len(data) - len(bytes.TrimLeft(data, of)) }

// numberLength returns the length of the decimal number that data begins with; 0: with none.
func numberLength(data []byte) int {
	n := 0
	for n < len(data) && bytes.IndexByte([]byte("0123456789+-.eE"), data[n]) >= 0 {
		n++
	}
	if !isDecimal(data[:n]) {
		return 0
	}
	return n
}

// isDecimal reports whether text is a number that YAML and this package agree on: a sign, digits that begin with no
// needless 0, a fraction and an exponent.
func isDecimal(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole := digitsOf(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	text = text[whole:]
	if len(text) > 0 && text[0] == '.' {
		fraction := digitsOf(text[1:])
		if fraction == 0 {
			return false
		}
		text = text[1+fraction:]
	}
	if len(text) == 0 {
		return true
	}
	if text[0] != 'e' && text[0] != 'E' || len(text) < 2 {
		return false
	}
	text = text[1:]
	if text[0] == '+' || text[0] == '-' {
		text = text[1:]
	}
	return len(text) > 0 && digitsOf(text) == len(text)
}

func digitsOf(text []byte) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// numbersAt returns the long list that was blanked at the place of n, an empty list; nil: none was.
func (p *Positions) numbersAt(n *yaml.Node) *numbers {
	if n.Kind != yaml.SequenceNode || len(n.Content) > 0 {
		return nil
	}
	l := p.numbers[Position{n.Line, n.Column}]
	if l != nil {
		l.used = true
	}
	return l
}

// unused reports whether a list was blanked at whose place no list stands.
func (p *Positions) unused() bool {
	for _, l := range p.numbers {
		if !l.used {
			return true
		}
	}
	return false
}

// nodes yields the numbers as nodes of the library; it is the same node each time.
func (l *numbers) nodes(yield func(i int, n *yaml.Node) bool) {
	i, n := 0, yaml.Node{Kind: yaml.ScalarNode}
	for text := range bytes.FieldsFuncSeq(l.text, func(r rune) bool { return r <= ' ' || r == ',' }) {
		if l.dashed && len(text) == 1 && text[0] == '-' {
			continue
		}
		n.Value, n.Tag = string(text), "!!int"
		if bytes.ContainsAny(text, ".eE") {
			n.Tag = "!!float"
		}
		if !yield(i, &n) {
			return
		}
		i++
	}
}

// len returns how many numbers there are.
func (l *numbers) len() (n int) {
	for range l.nodes {
		n++
	}
	return n
}

// fill fills the slice v, which stands at path, with the numbers.
func (p *Positions) fill(l *numbers, path string, v reflect.Value) error {
	n := l.len()
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i, n := range l.nodes {
		if err := p.value(n, path, v.Index(i)); err != nil {
			return p.value(n, fmt.Sprintf("%s[%d]", path, i), v.Index(i)) // which names the element
		}
	}
	return nil
}
