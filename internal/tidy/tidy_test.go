// Package tidy holds the house rules that a program can check: a rule that is a test needs no reviewer.
//
//	tidy_test.go     the tree, and each rule over it
//	star_test.go     which package may import what
//	code_test.go     rules that read one Go file, or one package with its types
//	text_test.go     rules for every text file, and for NOTICE
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
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// rules are the checks of one source; each returns its findings.
var rules = map[string]func(*source) []string{
	"imports follow the star":                            star,
	"the model imports nothing that hides cost or state": bans,
	"files and functions are short":                      short,
	"no init":                                            noInit,
	"exported names are documented":                      documented,
	"the model has no clock of its own":                  noClock,
	"the model does not print":                           noPrint,
	"the model starts no goroutine":                      noGoroutine,
	"the model does not range over maps":                 noMapRange,
	"sim has no map with string keys":                    noStringMap,
	"randomness comes from rng.Stream":                   randomness,
	"package variables are constants":                    noMutation,
	"gaps between tokens are counted in one file":        oneITL,
}

func TestTheTreeKeepsTheHouseRules(t *testing.T) {
	sources := load(t)
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, s := range sources {
				for _, finding := range rule(s) {
					t.Error(finding)
				}
			}
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	for _, s := range load(t) {
		said[s.pkg] = said[s.pkg] || s.file.Doc != nil
	}
	for pkg, ok := range said {
		assert.True(t, ok, "%s: no file has a package comment", pkg)
	}
}

// load parses every Go file of the tree.
func load(t *testing.T) []*source {
	var sources []*source
	set := token.NewFileSet()
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		file, err := parser.ParseFile(set, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		sources = append(sources, &source{
			path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set, file: file,
		})
	})
	require.NotEmpty(t, sources, "no Go files under %s", root)
	resolve(sources)
	return sources
}

// walk visits every file that git would keep, in lexical order.
func walk(t *testing.T, visit func(name string)) {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
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
			visit(filepath.ToSlash(rel))
		}
		return nil
	})
	require.NoError(t, err)
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
