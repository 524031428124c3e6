package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/decodesim/decodesim/configs/inputs"
	"go.yaml.in/yaml/v3"
)

// Position is a place in a file; both count from 1.
type Position struct{ line, column int }

// Positions says where each path of a file stands: at its key, or where a list element begins.
type Positions struct {
	file     string
	lineless bool
	At       map[string]Position // of "pools[0].gpu", say; "" is the document
	Names    map[string]string   // path → the name that its key goes by, where that is another
	short    map[string]bool     // paths of values that stand in the place of their section

	numbers map[Position]*numbers // long lists that the library is not to read, see numbers.go
}

// NewPositions returns the positions of a file before anything of it is read.
func NewPositions(file string) *Positions {
	return &Positions{file: file, At: map[string]Position{}, Names: map[string]string{}, short: map[string]bool{}}
}

// Lineless leaves lines out of errors: what was read is in no file of the user's.
func (p *Positions) Lineless() { p.lineless = true }

// Errorf reports an error at path, or at the nearest part of it that the file has.
func (p *Positions) Errorf(path, format string, args ...any) error {
	return &Error{p.prefix(path), p.Written(path), fmt.Sprintf(format, args...)}
}

// Note notes where a value stands that nothing has read yet.
func (p *Positions) Note(path string, n *yaml.Node) { p.At[path] = Position{n.Line, n.Column} }

// Written returns the path as its reader knows it: each key by the name that it goes by.
func (p *Positions) Written(path string) string {
	for near := path; near != ""; near = Parent(near) {
		if p.short[near] {
			return p.Written(Parent(near)) + path[len(near):]
		}
		if name, ok := p.Names[near]; ok {
			return Join(Parent(near), name) + path[len(near):]
		}
	}
	return path
}

func (p *Positions) prefix(path string) string {
	for near := path; ; near = Parent(near) {
		if at, ok := p.At[near]; ok || near == "" {
			if p.lineless {
				return p.file
			}
			return fmt.Sprintf("%s:%d:%d", p.file, max(1, at.line), max(1, at.column))
		}
	}
}

// Parent returns the path without its last element: pools[0] for pools[0].gpu, pools for pools[0].
func Parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// Error is an error in a configuration: where it stands, which path it is about, and what is wrong.
type Error struct{ Where, Path, Message string }

// Errorf reports an error in a configuration that no path leads to, such as in a flag.
func Errorf(where, format string, args ...any) error {
	return &Error{Where: where, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	where := inputs.OneLine(e.Where)
	if e.Path == "" {
		return where + ": " + e.Message
	}
	return where + ": " + e.Path + ": " + e.Message
}

// Decode fills *out, a struct with yaml tags, from a file that may hold nothing the struct does not name, and says
// where everything stands, for errors found later. Every error reads file:line:col: path: message.
//
// The YAML library's own decoder drops or bends much of what a typing error produces: a second document, 010 as 8, a
// duplicate in another map. This one walks the nodes itself and refuses all that has two readings.
func Decode(file string, data []byte, out any) (*Positions, error) {
	return DecodeChanged(file, data, out, nil)
}

// DecodeChanged is Decode of a file that change completes, once it is parsed; nil: nothing does.
func DecodeChanged(file string, data []byte, out any, change func(*Positions, *yaml.Node) error) (*Positions, error) {
	if change == nil {
		change = func(*Positions, *yaml.Node) error { return nil }
	}
	blanked, lists := blankNumbers(data)
	where := NewPositions(file)
	where.numbers = lists
	root, err := Parse(where, blanked)
	if err == nil {
		if err := change(where, root); err != nil {
			return nil, err
		}
		if err := where.Fill(root, out); err != nil {
			return nil, err
		}
	}
	if err != nil && len(lists) > 0 || where.unused() { // what looks like a list is something else
		where = NewPositions(file)
		root, err = Parse(where, data)
		if err == nil {
			err = change(where, root)
		}
		if err == nil {
			err = where.Fill(root, out)
		}
	}
	if err != nil {
		return nil, err
	}
	return where, nil
}

// Parse returns the root of the only document in data.
func Parse(where *Positions, data []byte) (*yaml.Node, error) {
	var document, second yaml.Node
	parser := yaml.NewDecoder(bytes.NewReader(data))
	if err := parser.Decode(&document); errors.Is(err, io.EOF) {
		return nil, where.Errorf("", "the file is empty; expected a mapping of keys to values")
	} else if err != nil {
		return nil, syntaxError(where, err)
	}
	root := document.Content[0]
	if isNull(root) {
		return nil, where.Errorf("", "the file is empty; expected a mapping of keys to values")
	}
	switch err := parser.Decode(&second); {
	case err == nil:
		where.At[""] = Position{second.Line, second.Column}
		return nil, where.Errorf("", "a second document starts here; expected one per file")
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(where, err)
	}
	return root, nil
}

// syntaxError turns the library's "yaml: line 3: …" into file:line:col.
func syntaxError(where *Positions, err error) error {
	message := err.Error()
	if m := regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`).FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1])
		where.At[""] = Position{line, 1}
		message = m[2]
	}
	return where.Errorf("", "not YAML: %s", message)
}
