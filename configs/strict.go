package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// decodeStrict fills *out, a struct with yaml tags, from a file that may hold nothing the struct does not name. Every
// error reads file:line:col: path: message.
//
// The YAML library's own decoder drops or bends much of what a typing error produces: a second document, 010 as 8, a
// duplicate in another map. This one walks the nodes itself and refuses all that has two readings.
func decodeStrict(file string, data []byte, out any) error {
	_, err := decodePositions(file, data, out)
	return err
}

// position is a place in a file; both count from 1.
type position struct{ line, column int }

// positions says where each path of a file stands: at its key, or where a list element begins.
type positions struct {
	file  string
	at    map[string]position // of "pools[0].gpu", say; "" is the document
	names map[string]string   // path → the name that its key goes by, where that is another
}

func newPositions(file string) *positions {
	return &positions{file, map[string]position{}, map[string]string{}}
}

// errorf reports an error at path, or at the nearest part of it that the file has.
func (p *positions) errorf(path, format string, args ...any) error {
	return &fileError{p.prefix(path), p.shown(path), fmt.Sprintf(format, args...)}
}

// shown returns the path as its reader knows it: each key by the name that it goes by.
func (p *positions) shown(path string) string {
	for near := path; near != ""; near = parent(near) {
		if name, ok := p.names[near]; ok {
			return join(parent(near), name) + path[len(near):]
		}
	}
	return path
}

func (p *positions) prefix(path string) string {
	for near := path; ; near = parent(near) {
		if at, ok := p.at[near]; ok || near == "" {
			return fmt.Sprintf("%s:%d:%d", p.file, max(1, at.line), max(1, at.column))
		}
	}
}

// parent returns the path without its last element: pools[0] for pools[0].gpu, pools for pools[0].
func parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// fileError is an error in a configuration: where it stands, which path it is about, and what is wrong.
type fileError struct{ where, path, message string }

func (e *fileError) Error() string {
	if e.path == "" {
		return e.where + ": " + e.message
	}
	return e.where + ": " + e.path + ": " + e.message
}

// decodePositions is decodeStrict that also returns where everything stands, for errors found later.
func decodePositions(file string, data []byte, out any) (*positions, error) {
	where := newPositions(file)
	root, err := parseOne(where, data)
	if err != nil {
		return nil, err
	}
	d := decoder{where}
	if err := d.structInto(root, out); err != nil {
		return nil, err
	}
	return where, nil
}

// parseOne returns the root of the only document in data.
func parseOne(where *positions, data []byte) (*yaml.Node, error) {
	var document, second yaml.Node
	parser := yaml.NewDecoder(bytes.NewReader(data))
	if err := parser.Decode(&document); errors.Is(err, io.EOF) {
		return nil, where.errorf("", "the file is empty; expected a mapping of keys to values")
	} else if err != nil {
		return nil, syntaxError(where, err)
	}
	root := document.Content[0]
	if isNull(root) {
		return nil, where.errorf("", "the file is empty; expected a mapping of keys to values")
	}
	switch err := parser.Decode(&second); {
	case err == nil:
		where.at[""] = position{second.Line, second.Column}
		return nil, where.errorf("", "a second document starts here; expected one per file")
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(where, err)
	}
	return root, nil
}

// syntaxError turns the library's "yaml: line 3: …" into file:line:col.
func syntaxError(where *positions, err error) error {
	message := err.Error()
	if m := regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`).FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1])
		where.at[""] = position{line, 1}
		message = m[2]
	}
	return where.errorf("", "not YAML: %s", message)
}
