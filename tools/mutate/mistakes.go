package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mistake is a change to the text of a file.
type mistake struct {
	room       *room
	file       string
	line       int
	in         *function
	start, end int // of the lines that change, in bytes
	old, new   string
}

// mistakesOf returns those that can be made in each room.
func mistakesOf(rooms []room) ([][]mistake, error) {
	all := make([][]mistake, len(rooms))
	for i := range rooms {
		err := filepath.WalkDir(rooms[i].path, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && strings.Contains(e.Name(), "test") {
				return filepath.SkipDir // what tests are made of
			}
			if err != nil || e.IsDir() || !isSource(path) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := mistakesIn(path, text)
			for j := range found {
				found[j].room = &rooms[i]
			}
			all[i] = append(all[i], found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func isSource(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && filepath.Base(path) != "doc.go"
}

// finder collects the mistakes of one file.
type finder struct {
	path    string
	pack    string
	text    []byte
	file    *token.File
	in      *function
	fails   map[ast.Stmt]bool // returns an error that has been found
	terms   map[ast.Expr]bool // operands of binary expressions
	decided map[ast.Expr]bool // comparisons of what has been found to differ
	found   []mistake
}

// mistakesIn returns the mistakes that can be made in the functions of a file, in order. Some do not compile.
func mistakesIn(path string, text []byte) ([]mistake, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{path: path, pack: tree.Name.Name, text: text, file: set.File(tree.Pos()), fails: map[ast.Stmt]bool{},
		terms: map[ast.Expr]bool{}, decided: map[ast.Expr]bool{}}
	for _, d := range tree.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok || function.Body == nil || function.Name.Name == "String" || function.Name.Name == "Error" {
			continue
		}
		f.in = f.function(function)
		ast.Inspect(function.Body, f.visit)
	}
	return f.found, nil
}

// swapped are operators, and those that a mistake has in their place.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return f.call(n)
	case *ast.ReturnStmt:
		last := len(n.Results) - 1
		if last > 0 && (isError(n.Results[last]) || f.fails[n]) {
			return false // what stands beside an error is no result
		}
		if last > 0 && is(n.Results[0], "nil") && numbers(n.Results[1:]) {
			return false // and neither is a number beside nothing
		}
	case *ast.UnaryExpr:
		// −1 stands for none where it is no term: such values are compared with 0, and −2 is as good.
		if one, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB && one.Value == "1" && !f.terms[n] {
			return false
		}
	case *ast.BinaryExpr:
		f.terms[n.X], f.terms[n.Y] = true, true
		if !f.decided[n] {
			f.swap(n.Op, n.OpPos)
		}
	case *ast.CaseClause:
		if len(n.List) == 1 {
			f.differ(n.List[0], n.Body)
		}
	case *ast.IncDecStmt:
		f.swap(n.Tok, n.TokPos)
	case *ast.AssignStmt:
		f.swap(n.Tok, n.TokPos)
		if _, local := n.Lhs[0].(*ast.Ident); n.Tok == token.ASSIGN && len(n.Lhs) == 1 && !local {
			f.replace(n.Lhs[0].Pos(), n.Lhs[0].End(), "_") // what was to be kept is forgotten
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !named(call, "panic") {
			f.replace(n.Pos(), n.End(), "_ = 0") // what was to be done is not
		}
	case *ast.IfStmt:
		f.failing(n)
		f.differ(n.Cond, n.Body.List)
		f.replace(n.Cond.Pos(), n.Cond.End(), "!("+f.at(n.Cond.Pos(), n.Cond.End())+")")
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.replace(n.Pos(), n.End(), other)
		}
	case *ast.BasicLit:
		if value, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
			f.replace(n.Pos(), n.End(), strconv.Itoa(value+1))
		}
	}
	return true
}

// numbers says whether all expressions are numbers.
func numbers(all []ast.Expr) bool {
	return !slices.ContainsFunc(all, func(n ast.Expr) bool {
		_, ok := n.(*ast.BasicLit)
		return !ok
	})
}

// failing finds the statements that return an error which an if statement has found: "if err != nil { return 0, err }".
func (f *finder) failing(n *ast.IfStmt) {
	found, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || found.Op != token.NEQ || !is(found.Y, "nil") {
		return
	}
	err, ok := found.X.(*ast.Ident)
	for _, s := range n.Body.List {
		if r, returns := s.(*ast.ReturnStmt); ok && returns && len(r.Results) > 0 {
			f.fails[r] = is(r.Results[len(r.Results)-1], err.Name)
		}
	}
}

// differ finds comparisons of what a condition has found to differ, in a return that is all there is behind it: there
// "<" is what "<=" is.
func (f *finder) differ(cond ast.Expr, body []ast.Stmt) {
	found, ok := cond.(*ast.BinaryExpr)
	if !ok || found.Op != token.NEQ || len(body) != 1 {
		return
	}
	if _, ok := body[0].(*ast.ReturnStmt); !ok {
		return
	}
	same := func(a, b ast.Expr) bool { return f.at(a.Pos(), a.End()) == f.at(b.Pos(), b.End()) }
	ast.Inspect(body[0], func(n ast.Node) bool {
		if c, ok := n.(*ast.BinaryExpr); ok && orders(c.Op) {
			f.decided[c] = same(c.X, found.X) && same(c.Y, found.Y) || same(c.X, found.Y) && same(c.Y, found.X)
		}
		return true
	})
}

// orders says whether a comparison is of which of two is the greater.
func orders(op token.Token) bool {
	return op == token.LSS || op == token.LEQ || op == token.GTR || op == token.GEQ
}

// call swaps the smaller for the larger. What a panic or an error says is no behaviour, and how much a slice has room
// for at first is none either; nor is by how much the sign of an infinity is above or below zero.
func (f *finder) call(n *ast.CallExpr) (inside bool) {
	switch {
	case named(n, "min"):
		f.replace(n.Fun.Pos(), n.Fun.End(), "max")
	case named(n, "max"):
		f.replace(n.Fun.Pos(), n.Fun.End(), "min")
	case named(n, "make"), named(n, "panic"):
		return false
	case f.at(n.Fun.Pos(), n.Fun.End()) == "math.IsInf" && !isZero(n.Args[1]):
		ast.Inspect(n.Args[0], f.visit)
		return false
	case f.at(n.Fun.Pos(), n.Fun.End()) == "math.Inf" && !isZero(n.Args[0]):
		return false
	}
	return !isError(n)
}

// isError says whether an expression makes an error: by a package of errors, or by what names the place of one, as the
// readers of traces do.
func isError(n ast.Expr) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if s.Sel.Name == "fail" || s.Sel.Name == "refuse" {
		return true
	}
	of, ok := s.X.(*ast.Ident)
	return ok && (of.Name == "fmt" || of.Name == "errors" || of.Name == "check")
}

func named(n *ast.CallExpr, name string) bool { return is(n.Fun, name) }

func is(n ast.Expr, name string) bool {
	of, ok := n.(*ast.Ident)
	return ok && of.Name == name
}

func isZero(n ast.Expr) bool {
	number, ok := n.(*ast.BasicLit)
	return ok && number.Value == "0"
}

func (f *finder) swap(from token.Token, at token.Pos) {
	if to, ok := swapped[from]; ok {
		f.replace(at, at+token.Pos(len(from.String())), to.String())
	}
}

func (f *finder) at(from, to token.Pos) string {
	return string(f.text[f.file.Offset(from):f.file.Offset(to)])
}

// replace adds a mistake. It changes whole lines, which are what is shown of it.
func (f *finder) replace(from, to token.Pos, by string) {
	start, end := f.file.Offset(from), f.file.Offset(to)
	first, last := start, end
	for first > 0 && f.text[first-1] != '\n' {
		first--
	}
	for last < len(f.text) && f.text[last] != '\n' {
		last++
	}
	f.found = append(f.found, mistake{
		file: f.path, line: f.file.Line(from), in: f.in, start: first, end: last,
		old: string(f.text[first:last]), new: string(f.text[first:start]) + by + string(f.text[end:last]),
	})
}
