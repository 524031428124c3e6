package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// madeVariable is the environment variable that chooses the mistake which a program makes: none by default. Variables
// whose names begin as the program's own do would be refused by it.
const madeVariable = "MISTAKE_MADE"

// madeFile is added to each package with mistakes.
const madeFile = `package %s

import (
	"os"
	"strconv"
)

var mistakeMade, _ = strconv.Atoi(os.Getenv("` + madeVariable + `"))
`

// function is where mistakes are made: each in a copy of it, which is called in its place if that mistake is chosen.
type function struct {
	pack              string // its package's name
	start, end        int    // in bytes, from "func" to the last brace
	name, nameEnd     int
	body              int      // behind its first brace
	receiver, generic string   // "r." and "[T]", or nothing
	arguments         []string // as it would pass them on
	results           bool
	unnamed           []edit // gives names to parameters that have none
}

// edit puts text in place of bytes of a file.
type edit struct {
	start, end int
	text       string
}

func (f *finder) function(d *ast.FuncDecl) *function {
	at := f.file.Offset
	in := &function{
		pack: f.pack, start: at(d.Type.Func), end: at(d.End()), name: at(d.Name.Pos()), nameEnd: at(d.Name.End()),
		body: at(d.Body.Lbrace) + 1, results: d.Type.Results != nil,
	}
	if d.Recv != nil {
		in.receiver = in.names(at, d.Recv)[0] + "."
	}
	if d.Type.TypeParams != nil {
		in.generic = "[" + strings.Join(in.names(at, d.Type.TypeParams), ", ") + "]"
	}
	in.arguments = in.names(at, d.Type.Params)
	return in
}

// names returns those of parameters, and gives one to each that has none.
func (in *function) names(at func(token.Pos) int, of *ast.FieldList) []string {
	var names []string
	invent := func(start, end int, space string) {
		name := fmt.Sprintf("unnamed%d", start)
		in.unnamed = append(in.unnamed, edit{start, end, name + space})
		names = append(names, name)
	}
	for _, field := range of.List {
		if len(field.Names) == 0 {
			invent(at(field.Type.Pos()), at(field.Type.Pos()), " ")
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				invent(at(name.Pos()), at(name.End()), "")
				continue
			}
			names = append(names, name.Name)
		}
		if _, many := field.Type.(*ast.Ellipsis); many {
			names[len(names)-1] += "..."
		}
	}
	return names
}

// calls is the statement by which the copy for any of some mistakes is called. A switch costs a function with a hundred
// mistakes little more than one with few.
func (in *function) calls(name string, ids []int) string {
	var cases strings.Builder
	for _, id := range ids {
		call := fmt.Sprintf("%s%s_%d%s(%s)", in.receiver, name, id, in.generic, strings.Join(in.arguments, ", "))
		if in.results {
			call = "return " + call
		} else {
			call += "; return"
		}
		_, _ = fmt.Fprintf(&cases, "case %d: %s; ", id, call)
	}
	return "switch mistakeMade { " + cases.String() + "}; "
}

// variants is a file in which any of some mistakes can be made, each under its number. What the compiler says of a
// copy names the copy.
func variants(text []byte, mistakes map[int]*mistake) []byte {
	var edits []edit
	var copies bytes.Buffer
	made := map[*function][]int{}
	for _, id := range sortedKeys(mistakes) {
		m := mistakes[id]
		in := m.in
		made[in] = append(made[in], id)
		wrong := slices.Concat(text[:m.start], []byte(m.new), text[m.end:])
		end := in.end + len(wrong) - len(text)
		_, _ = fmt.Fprintf(&copies, "\n//line mistake%d.go:1\n%s_%d%s\n", id, wrong[in.start:in.nameEnd], id,
			wrong[in.nameEnd:end])
	}
	for in, ids := range made {
		edits = append(append(edits, in.unnamed...), edit{in.body, in.body, in.calls(string(text[in.name:in.nameEnd]), ids)})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(append(out, text[last:e.start]...), e.text...)
		last = e.end
	}
	return slices.Concat(out, text[last:], copies.Bytes())
}

func sortedKeys[V any](of map[int]V) []int {
	keys := make([]int, 0, len(of))
	for k := range of {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// overlay writes the files of some mistakes with all of them, and what has the go command read those in place of the
// right ones. Mistakes have numbers from 1.
func overlay(dir string, mistakes map[int]*mistake) (string, error) {
	files := map[string]map[int]*mistake{}
	for id, m := range mistakes {
		if files[m.file] == nil {
			files[m.file] = map[int]*mistake{}
		}
		files[m.file][id] = m
	}
	replace := map[string]string{}
	write := func(path string, text []byte) error {
		aside := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		whole, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		replace[whole] = aside
		return os.WriteFile(aside, text, 0o600)
	}
	for path, of := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if err := write(path, variants(text, of)); err != nil {
			return "", err
		}
		made := fmt.Sprintf(madeFile, of[sortedKeys(of)[0]].in.pack)
		if err := write(filepath.Join(filepath.Dir(path), "mistake_made.go"), []byte(made)); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
