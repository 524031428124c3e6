package output

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryFileThatIsWrittenIsLookedFor: each name that commands give a file is one that Open knows, or that a command
// announces, so that a directory with such a file is refused before the run and not after it.
func TestEveryFileThatIsWrittenIsLookedFor(t *testing.T) {
	known, written := slices.Clone(results), []string(nil)
	for _, name := range figures {
		known = append(known, name+".svg", name+".png")
	}
	for _, root := range []string{"../../internal", "../../cmd"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				written = append(written, writtenIn(n)...)
				known = append(known, announcedIn(n)...)
				return true
			})
			return nil
		}))
	}
	slices.Sort(written)
	written = slices.Compact(written)
	assert.Greater(t, len(written), 50)
	for _, name := range written {
		assert.True(t, slices.Contains(known, name), "%s is written, and not looked for", name)
	}
}

// called is the name of the function or method of a call, and what it is called with.
func called(n ast.Node) (name string, args []ast.Expr) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", nil
	}
	switch of := call.Fun.(type) {
	case *ast.SelectorExpr:
		return of.Sel.Name, call.Args
	case *ast.Ident:
		return of.Name, call.Args
	}
	return "", nil
}

// announcedIn are the names that a command announces to Open.
func announcedIn(n ast.Node) (names []string) {
	if name, args := called(n); slices.Contains([]string{"Open", "open", "openOut"}, name) && len(args) > 1 {
		for _, arg := range args[1:] {
			names = append(names, literal(arg)...)
		}
	}
	list, ok := n.(*ast.FuncDecl)
	if ok && list.Name.Name == "SiteFiles" {
		ast.Inspect(list, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				names = append(names, literal(e)...)
			}
			return true
		})
	}
	return names
}

// writtenIn are the names of files that a node writes under a literal, or lists with the function that draws them.
func writtenIn(n ast.Node) []string {
	switch name, args := called(n); {
	case len(args) < 2:
	case name == "Draw":
		return bothOf(literal(args[0]))
	case strings.HasPrefix(name, "Write"):
		return literal(args[0])
	}
	if pair, ok := n.(*ast.CompositeLit); ok && len(pair.Elts) == 2 && draws(pair.Elts[1]) {
		return bothOf(literal(pair.Elts[0]))
	}
	return nil
}

// draws reports whether an expression is a function that returns a figure.
func draws(e ast.Expr) bool {
	f, ok := e.(*ast.FuncLit)
	if !ok || f.Type.Results == nil || len(f.Type.Results.List) != 2 {
		return false
	}
	of, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Figure"
}

func bothOf(names []string) (files []string) {
	for _, name := range names {
		files = append(files, name+".svg", name+".png")
	}
	return files
}

// literal is the text of a literal, or nothing.
func literal(e ast.Expr) []string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		name, err := strconv.Unquote(l.Value)
		if err == nil {
			return []string{name}
		}
	}
	return nil
}
