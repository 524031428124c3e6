package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

const (
	columnsMax = 120
	filesMax   = 30 // of a package, tests aside
	targetsMax = 3
)

// narrow finds long lines of Go and Markdown. Output in raw strings and code blocks is as wide as it is; tables and the
// addresses of links cannot be broken, and pages of notebooks are as wide as what they render.
func narrow(f *file) []string {
	text := f.text
	if strings.HasPrefix(f.name, "notebooks/pages/") {
		return nil
	}
	switch path.Ext(f.name) {
	case ".go":
		text = f.source.withoutRawStrings(text)
	case ".md":
		text = linked.ReplaceAllString(fenced.ReplaceAllStringFunc(text, blankLine), "")
	default:
		return nil
	}
	var findings []string
	for i, line := range strings.Split(text, "\n") {
		n := utf8.RuneCountInString(line)
		if n > columnsMax && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "//go:") {
			findings = append(findings, fmt.Sprintf("%s:%d: the line has %d columns, at most %d", f.name, i+1, n, columnsMax))
		}
	}
	return findings
}

// withoutRawStrings empties the raw strings of text, which is that of s, and keeps its lines.
func (s *source) withoutRawStrings(text string) string {
	var out strings.Builder
	done := 0
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value[0] == '`' {
			from, to := s.set.Position(lit.Pos()).Offset, s.set.Position(lit.End()).Offset
			out.WriteString(text[done:from] + blankLine(text[from:to]))
			done = to
		}
		return true
	})
	return out.String() + text[done:]
}

// declare finds headers that change what exists already, where a reader looks for a condition.
func declare(s *source) []string {
	return s.find(func(n ast.Node) string {
		var header ast.Stmt
		switch n := n.(type) {
		case *ast.IfStmt:
			header = n.Init
		case *ast.SwitchStmt:
			header = n.Init
		case *ast.TypeSwitchStmt:
			header = n.Init
		}
		if assign, ok := header.(*ast.AssignStmt); header == nil || ok && assign.Tok == token.DEFINE {
			return ""
		}
		return s.at(n.Pos(), "the header changes state: put the statement on a line of its own")
	})
}

func fewTargets(s *source) []string {
	return s.find(func(n ast.Node) string {
		targets := 0
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets = len(n.Lhs)
		case *ast.ValueSpec:
			if len(n.Values) > 0 {
				targets = len(n.Names)
			}
		}
		if targets <= targetsMax {
			return ""
		}
		return s.at(n.Pos(), "an assignment to %d targets, at most %d", targets, targetsMax)
	})
}

func TestPackagesHaveFewFiles(t *testing.T) {
	var names []string
	for _, f := range tree() {
		names = append(names, f.name)
	}
	for pkg, n := range crowded(names) {
		if counts("packages have few files", pkg) {
			t.Errorf("%s: %d files besides tests, at most %d", pkg, n, filesMax)
		}
	}
}

// crowded returns the packages with too many of the named files, and how many.
func crowded(names []string) map[string]int {
	files := map[string]int{}
	for _, name := range names {
		if path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			files[path.Dir(name)]++
		}
	}
	for pkg, n := range files {
		if n <= filesMax {
			delete(files, pkg)
		}
	}
	return files
}

func TestCrowdedPackagesAreReported(t *testing.T) {
	var names []string
	for i := range filesMax {
		names = append(names, fmt.Sprintf("sim/%d.go", i), fmt.Sprintf("sim/%d_test.go", i), fmt.Sprintf("sim/%d.md", i))
	}
	assert.Empty(t, crowded(names))
	assert.Equal(t, map[string]int{"sim": filesMax + 1}, crowded(append(names, "sim/doc.go")))
}
