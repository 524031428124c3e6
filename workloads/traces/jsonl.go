package traces

import (
	"bytes"
	"encoding/json"
)

// object walks the members of a JSON object on one line. Values are returned as they are written and those that nobody
// asks for are skipped, not decoded. A key is what its escapes stand for.
type object struct {
	rest  []byte
	inner bool // a member has been read
}

// openObject starts to walk a line.
func openObject(line []byte) (object, bool) {
	line = blanks(line)
	if len(line) == 0 || line[0] != '{' {
		return object{}, false
	}
	return object{rest: blanks(line[1:])}, true
}

// next returns the next member; no key: the object has ended. It reports whether the text is sound so far.
func (o *object) next() (key, value []byte, ok bool) {
	b := o.rest
	if len(b) > 0 && b[0] == '}' {
		return nil, nil, len(blanks(b[1:])) == 0
	}
	if o.inner {
		if len(b) == 0 || b[0] != ',' {
			return nil, nil, false
		}
		b = blanks(b[1:])
	}
	n := stringEnd(b)
	if n == 0 {
		return nil, nil, false
	}
	key, ok = keyOf(b[:n])
	b = blanks(b[n:])
	if !ok || len(b) == 0 || b[0] != ':' {
		return nil, nil, false
	}
	b = blanks(b[1:])
	n = valueEnd(b)
	if n == 0 {
		return nil, nil, false
	}
	o.rest, o.inner = blanks(b[n:]), true
	return key, b[:n:n], true
}

// keyOf returns what a JSON string has between its quotes.
func keyOf(quoted []byte) (key []byte, ok bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], true
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err == nil
}

// members puts the values of a JSON line into their roles. It reports whether the line is one object and, if a key is
// there twice, which; else it is nil.
func (l *layout) members(line []byte, out *fields) (ok bool, twice []byte) {
	f := &l.format
	l.others.forget()
	o, ok := openObject(line)
	for ok {
		var key, value []byte
		key, value, ok = o.next()
		if key == nil {
			break
		}
		read := false
		for role := range f.column {
			if f.column[role] == string(key) && f.column[role] != "" {
				if out[role] != nil {
					return true, key
				}
				out[role] = value
				read = true
			}
		}
		if read {
			continue
		}
		if l.others.repeats(key) {
			return true, key
		}
		if !l.known(key) {
			l.leaveOut(string(key))
		}
	}
	return ok, nil
}

// keySet is keys of one line that nothing is read from. There are few, as a rule, and then no map of them is made.
type keySet struct {
	few  [][]byte
	many map[string]bool
}

const keysFew = 16

func (s *keySet) forget() { s.few, s.many = s.few[:0], nil }

// repeats adds a key, and reports whether it was there.
func (s *keySet) repeats(key []byte) bool {
	if s.many != nil {
		n := len(s.many)
		s.many[string(key)] = true
		return len(s.many) == n
	}
	for _, before := range s.few {
		if bytes.Equal(before, key) {
			return true
		}
	}
	s.few = append(s.few, key)
	if len(s.few) == keysFew {
		s.many = make(map[string]bool, 2*keysFew)
		for _, before := range s.few {
			s.many[string(before)] = true
		}
	}
	return false
}

// known reports whether nothing is to be noted of a key that is not read.
func (l *layout) known(key []byte) bool {
	for _, name := range l.unread {
		if name == string(beginning(key)) {
			return true
		}
	}
	return string(key) == l.ids || l.more
}

// keys returns the keys of a JSON line.
func keys(line []byte) (names []string, ok bool) {
	o, ok := openObject(line)
	for ok {
		var key []byte
		key, _, ok = o.next()
		if key == nil {
			break
		}
		names = append(names, string(key))
	}
	return names, ok
}

func blanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// stringEnd returns the length of the JSON string at the start of b, quotes included; 0: there is none.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// valueEnd returns the length of the JSON value at the start of b; 0: there is none. Numbers and literals are whatever
// runs up to the next delimiter.
func valueEnd(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '[', '{':
		return nestedEnd(b)
	}
	for i, c := range b {
		switch c {
		case ',', '}', ']', ':', '"', '[', '{', ' ', '\t', '\r':
			return i
		}
	}
	return len(b)
}

// nestedEnd returns the length of the array or object at the start of b. A flat array of numbers, by far the longest
// value of a trace, is found by its bracket alone.
func nestedEnd(b []byte) int {
	if n := bytes.IndexByte(b, ']'); b[0] == '[' && n > 0 && bytes.IndexByte(b[1:n], '[') < 0 &&
		bytes.IndexByte(b[1:n], '{') < 0 && bytes.IndexByte(b[1:n], '"') < 0 {
		return n + 1
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := stringEnd(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
