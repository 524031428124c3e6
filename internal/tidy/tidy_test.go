// Package tidy holds the house rules that a program can check: a rule that is a test needs no reviewer.
//
//	tidy_test.go     the tree, and each rule over it
//	star_test.go     which package may import what
//	code_test.go     rules that read one Go file, or one package with its types
//	form_test.go     rules for the shape of lines and statements
//	prose_test.go    what people read of a file
//	words_test.go    rules for words: the glossary, and pronouns
//	text_test.go     rules for every text file, and for NOTICE
//	architecture_test.go
//	                 what docs/architecture.md says of the tree
//	rooms_test.go    which rooms do not keep which rule yet
//	mutants_test.go  for each rule, the least code that breaks it
package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/decodesim/decodesim"

// root is the repository, from the directory of this package.
const root = "../.."

// skipped are directories that commands and failing tests write and git ignores.
var skipped = []string{".git", ".venv", ".ipynb_checkpoints", "__pycache__", "bin", "demo-out", "rapid"}

// source is one parsed Go file.
type source struct {
	path string // from the root, with slashes
	pkg  string // its directory
	test bool
	set  *token.FileSet
	file *ast.File
	info *types.Info // of a package's non-test files; imports are not resolved
}

// line returns the line of p in s.
func (s *source) line(p token.Pos) int { return s.set.Position(p).Line }

// at returns a finding at p.
func (s *source) at(p token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.line(p), fmt.Sprintf(format, args...))
}

// model reports whether s is a part of what simulates, without its tests.
func (s *source) model() bool {
	return !s.test && slices.Contains([]string{"sim", "hardware", "policies", "workloads"}, top(s.pkg))
}

// file is a text of the tree.
type file struct {
	name   string // from the root, with slashes
	text   string
	source *source // of a Go file
}

// rule returns its findings in one file.
type rule func(*file) []string

// rules returns the checks by name.
func rules(t *testing.T) map[string]rule {
	v := glossary(t)
	return map[string]rule{
		"imports follow the star":                            code(star),
		"the model imports nothing that hides cost or state": code(bans),
		"files of every system call none of them":            code(portable),
		"files and functions are short":                      code(short),
		"no init":                                            code(noInit),
		"exported names are documented":                      code(documented),
		"comments name what they are on":                     code(named),
		"the model has no clock of its own":                  code(noClock),
		"the model does not print":                           code(noPrint),
		"the model starts no goroutine":                      code(noGoroutine),
		"the model does not range over maps":                 code(noMapRange),
		"sim has no map with string keys":                    code(noStringMap),
		"randomness comes from rng.Stream":                   code(randomness),
		"package variables are constants":                    code(noMutation),
		"gaps between tokens are counted in one file":        code(oneITL),
		"lines have at most 120 columns":                     narrow,
		"headers declare":                                    code(declare),
		"assignments have at most three targets":             code(fewTargets),
		"names are words of the glossary":                    code(v.names),
		"prose has the words of the glossary":                prose(v.inText),
		"things are it":                                      prose(noPersons),
	}
}

// code is a rule for Go files.
func code(check func(*source) []string) rule {
	return func(f *file) []string {
		if f.source == nil {
			return nil
		}
		return check(f.source)
	}
}

// prose is a rule for what people read.
func prose(check func(passage) []string) rule {
	return func(f *file) []string {
		var findings []string
		if slices.Contains(quoting, f.name) {
			return nil
		}
		for _, p := range f.prose() {
			findings = append(findings, check(p)...)
		}
		return findings
	}
}

func TestTheTreeKeepsTheHouseRules(t *testing.T) {
	for name, rule := range rules(t) {
		t.Run(name, func(t *testing.T) {
			for _, f := range tree() {
				for _, finding := range rule(f) {
					if counts(name, f.name) {
						t.Error(finding)
					}
				}
			}
		})
	}
}

// tree returns the text files that git would keep, in lexical order, read and parsed once.
var tree = sync.OnceValue(func() []*file {
	var files []*file
	var sources []*source
	set := token.NewFileSet()
	err := walk(func(name string) error {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		f := &file{name: name, text: string(text)}
		files = append(files, f)
		if path.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		f.source = &source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set, file: parsed}
		sources = append(sources, f.source)
		return err
	})
	if err != nil {
		panic(err)
	}
	resolve(sources)
	return files
})

// walk visits every file that git would keep, in lexical order.
func walk(visit func(name string) error) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case d.Name() == ".git": // a file, in a linked worktree
			return nil
		case d.Type().IsRegular():
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			return visit(filepath.ToSlash(rel))
		}
		return nil
	})
}

// resolve type-checks each package by itself. What it imports stays unknown: the rules need only the types that a
// package declares and the names in its own scope, and reading the imports would cost seconds.
func resolve(sources []*source) {
	packages := map[string][]*source{}
	for _, s := range sources {
		if !s.test {
			packages[s.pkg] = append(packages[s.pkg], s)
		}
	}
	for pkg, members := range packages {
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		var files []*ast.File
		for _, s := range members {
			s.info = info
			files = append(files, s.file)
		}
		conf := types.Config{Importer: noImports{}, Error: func(error) {}}
		_, _ = conf.Check(pkg, members[0].set, files, info) // its errors are those of the missing imports
	}
}

// noImports resolves no import.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not read") }

// top returns the first element of a path.
func top(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}
