package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

const fileMax, functionMax = 400, 70

// find walks s and gathers what check says of its nodes; "" is nothing.
func (s *source) find(check func(n ast.Node) string) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n != nil {
			if f := check(n); f != "" {
				found = append(found, f)
			}
		}
		return true
	})
	return found
}

func short(s *source) []string {
	found := s.find(func(n ast.Node) string {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			return ""
		}
		if l := s.line(f.End()) - s.line(f.Pos()) + 1; l > functionMax {
			return s.at(f.Pos(), "%s has %d lines, at most %d", f.Name, l, functionMax)
		}
		return ""
	})
	if l := s.line(s.file.FileEnd - 1); l > fileMax {
		found = append(found, s.at(s.file.Package, "the file has %d lines, at most %d", l, fileMax))
	}
	return found
}

func noInit(s *source) []string {
	return s.find(func(n ast.Node) string {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			return s.at(f.Pos(), "init: use a constructor that is called")
		}
		return ""
	})
}

// named asks of a comment that begins with an identifier that it be the one that the comment is on: any other is what
// it was called once. A sentence that begins with a word is none of this rule's business.
func named(s *source) []string {
	return s.find(func(n ast.Node) string {
		var doc *ast.CommentGroup
		var name string
		switch d := n.(type) {
		case *ast.FuncDecl:
			doc, name = d.Doc, d.Name.Name
		case *ast.GenDecl:
			if d.Tok == token.TYPE && len(d.Specs) == 1 {
				doc, name = d.Doc, d.Specs[0].(*ast.TypeSpec).Name.Name
			}
		}
		first, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
		if !identifier.MatchString(first) || first == name || slices.Contains(properNames, first) {
			return ""
		}
		return s.at(n.Pos(), "the comment on %s begins with %s", name, first)
	})
}

// identifier matches what no sentence begins with: a lower-case letter, or a capital one within the word.
var identifier = regexp.MustCompile(`^([a-z]\w*|[A-Z]+[a-z]+[A-Z]\w*)$`)

// properNames are names that look like identifiers.
var properNames = []string{"vLLM", "vllm", "GuideLLM"}

// documented asks for a comment on every exported name: on itself, on its group, or after it on its line. String and
// Error say what they are by name.
func documented(s *source) []string {
	if s.test || s.file.Name.Name == "main" {
		return nil
	}
	var found []string
	missing := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil }) {
			found = append(found, s.at(name.Pos(), "%s has no comment", name.Name))
		}
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if public(d.Recv) && d.Name.Name != "String" && d.Name.Name != "Error" {
				missing(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					missing(spec.Name, d.Doc, spec.Doc)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						missing(name, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return found
}

// public reports whether a function with this receiver shows in the package's documentation.
func public(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	t := receiver.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.IndexListExpr:
			t = u.X
		case *ast.Ident:
			return u.IsExported()
		default:
			return true
		}
	}
}

// uses returns a finding for each use of the given names of the package at p; with none given, of every name not in
// except.
func (s *source) uses(p string, names, except []string, instead string) []string {
	local := s.named(p)
	if local == "" {
		return nil
	}
	return s.find(func(n ast.Node) string {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Name != local || slices.Contains(except, sel.Sel.Name) {
			return ""
		}
		if names != nil && !slices.Contains(names, sel.Sel.Name) {
			return ""
		}
		return s.at(sel.Pos(), "%s.%s: use %s", local, sel.Sel.Name, instead)
	})
}

func noClock(s *source) []string {
	if !s.model() {
		return nil
	}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	return s.uses("time", clock, nil, "sim.Time")
}

func noPrint(s *source) []string {
	if !s.model() {
		return nil
	}
	found := s.uses("fmt", []string{"Print", "Println", "Printf"}, nil, "an error, a metric or a warning of the summary")
	return append(found, s.find(func(n ast.Node) string {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return ""
		}
		if f, ok := call.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
			return s.at(call.Pos(), "%s: a leftover of debugging", f.Name)
		}
		return ""
	})...)
}

func noGoroutine(s *source) []string {
	if !s.model() {
		return nil
	}
	return s.find(func(n ast.Node) string {
		if g, ok := n.(*ast.GoStmt); ok {
			return s.at(g.Pos(), "go: runs are parallel, a run is not")
		}
		return ""
	})
}

func noMapRange(s *source) []string {
	if !s.model() {
		return nil
	}
	return s.find(func(n ast.Node) string {
		r, ok := n.(*ast.RangeStmt)
		if !ok {
			return ""
		}
		if t := s.info.TypeOf(r.X); t != nil {
			if _, isMap := t.Underlying().(*types.Map); isMap {
				return s.at(r.Pos(), "range over a map has no order: use a slice, or slices.Sorted(maps.Keys(m))")
			}
		}
		return ""
	})
}

func noStringMap(s *source) []string {
	if s.test || s.pkg != "sim" {
		return nil
	}
	return s.find(func(n ast.Node) string {
		m, ok := n.(*ast.MapType)
		if !ok {
			return ""
		}
		if k := s.info.TypeOf(m.Key); k != nil && types.Identical(k.Underlying(), types.Typ[types.String]) {
			return s.at(m.Pos(), "a map with string keys: use a slice indexed by id")
		}
		return ""
	})
}

// randomness allows the model the types of math/rand/v2 but not its generators: two streams with the same seed would
// move together, and the shared one differs from run to run.
func randomness(s *source) []string {
	if !s.model() || s.pkg == "sim/rng" {
		return nil
	}
	return s.uses("math/rand/v2", nil, []string{"Rand", "Source"}, "rng.Stream(seed, purpose)")
}

// noMutation finds assignments to package variables, to their elements and to their fields.
func noMutation(s *source) []string {
	if s.test {
		return nil
	}
	check := func(target ast.Expr) string {
		name := base(target)
		if name == nil {
			return ""
		}
		if v, ok := s.info.Uses[name].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			return s.at(target.Pos(), "%s: a package variable does not change", name.Name)
		}
		return ""
	}
	return s.find(func(n ast.Node) string {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			return check(n.X)
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				if f := check(target); f != "" && n.Tok != token.DEFINE {
					return f
				}
			}
		}
		return ""
	})
}

// base returns the variable at the root of x, or nil.
func base(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.IndexExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return nil
		}
	}
}

// oneITL keeps the definition of the inter-token latency in the file where a reader looks for it: nothing else adds to
// the histogram of that name.
func oneITL(s *source) []string {
	if s.test || s.path == "sim/metrics/itl.go" {
		return nil
	}
	return s.find(func(n ast.Node) string {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return ""
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(method.Sel.Name, "Add") {
			return ""
		}
		if hist, ok := method.X.(*ast.SelectorExpr); ok && hist.Sel.Name == "ITL" {
			return s.at(call.Pos(), "ITL.%s: the inter-token latency is recorded in sim/metrics/itl.go", method.Sel.Name)
		}
		return ""
	})
}
