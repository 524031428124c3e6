package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// DuplicateKey refuses JSON in which an object has a key twice: readers keep one of the two values in silence, and not
// all the same one. It takes several values in a row, and leaves what is no JSON to whatever reads it.
func DuplicateKey(data []byte) error { return duplicate(data, &keyScanner{}) }

// DuplicateField refuses JSON whose outermost object has the same field of a struct twice: to what decodes it, keys
// that differ only in capitals are one. What is within a field is left to whatever reads that.
func DuplicateField(data []byte) error { return duplicate(data, &keyScanner{fields: true}) }

// depthMax is how deep values may be within each other: encoding/json refuses more.
const depthMax = 10_000

func duplicate(data []byte, s *keyScanner) error {
	for i := 0; i < len(data) && s.depth <= depthMax; i++ {
		switch data[i] {
		case '{':
			s.open(true)
		case '[':
			s.open(false)
		case '}', ']':
			s.close()
		case ',':
			s.atKey = s.inObject()
		case '"':
			end := endOfText(data, i+1)
			if s.atKey && !s.add(data[i:end]) {
				line := 1 + bytes.Count(data[:i], []byte("\n"))
				return fmt.Errorf("line %d: key %s stands twice in one object; expected it once", line,
					strings.ToValidUTF8(string(data[i:end]), "�"))
			}
			s.atKey = false
			i = end - 1
		}
	}
	return nil
}

// endOfText is where the text ends that begins before at, behind its quote.
func endOfText(data []byte, at int) int {
	for ; at < len(data); at++ {
		switch data[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(data)
}

// keyScanner has the keys of the objects around a place. Sets are used again at their depth.
type keyScanner struct {
	levels []level
	depth  int
	atKey  bool // the next text is a key
	fields bool // keys are fields of a struct, and only the outermost matter
}

type level struct {
	object bool
	keys   map[string]bool
}

func (s *keyScanner) inObject() bool { return s.depth > 0 && s.levels[s.depth-1].object }

func (s *keyScanner) open(object bool) {
	if s.depth == len(s.levels) {
		s.levels = append(s.levels, level{})
	}
	l := &s.levels[s.depth]
	l.object = object
	if object {
		clear(l.keys)
	}
	s.depth++
	s.atKey = object
}

func (s *keyScanner) close() {
	s.depth = max(0, s.depth-1)
	s.atKey = false
}

// add notes a key, and reports whether it is new.
func (s *keyScanner) add(quoted []byte) bool {
	if s.fields && s.depth > 1 {
		return true
	}
	l := &s.levels[s.depth-1]
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	key := string(quoted)
	var plain string
	if bytes.IndexByte(quoted, '\\') >= 0 && json.Unmarshal(quoted, &plain) == nil {
		key = `"` + plain + `"`
	}
	if s.fields {
		key = strings.ToLower(strings.ToUpper(key)) // which folds letters that have one case alone, too
	}
	before := len(l.keys)
	l.keys[key] = true
	return len(l.keys) > before
}
