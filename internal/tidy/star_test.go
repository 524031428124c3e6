package tidy

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// imports is the architecture: what each room may import of the others. Packages of one room may import each other.
var imports = map[string][]string{
	"sim/rng":     {},
	"sim":         {},
	"sim/metrics": {"sim", "sim/rng"},
	"hardware":    {"sim", "sim/rng"},
	"policies":    {"sim", "sim/rng"},
	"workloads":   {"sim", "sim/rng"},
	"configs":     {"sim", "sim/rng", "sim/metrics", "hardware", "policies", "workloads"},
	"internal":    {"sim", "sim/rng", "sim/metrics", "hardware", "policies", "workloads", "configs"},
	".":           {"sim", "sim/metrics", "configs", "internal"},
	"cmd":         {"sim", "sim/rng", "sim/metrics", "hardware", "policies", "workloads", "configs", "internal"},
	"tools":       {"sim", "sim/rng", "sim/metrics", "hardware", "policies", "workloads", "configs", "internal"},
}

// place returns the room that pkg belongs to: its top-level directory, or the part of sim that has an entry of its own.
func place(pkg string) string {
	for dir := pkg; dir != "."; dir = path.Dir(dir) {
		if _, known := imports[dir]; known {
			return dir
		}
	}
	return pkg
}

// queue is the one package that may depend on NATS, and that nothing but commands may depend on.
const queue = "internal/workers"

func star(s *source) []string {
	allowed, known := imports[place(s.pkg)]
	if !known {
		return []string{s.at(s.file.Package, "package %s has no place in the star of imports", s.pkg)}
	}
	if s.test {
		return nil
	}
	var found []string
	for _, im := range s.file.Imports {
		rest, ours := strings.CutPrefix(target(im), module+"/")
		if ours && place(rest) != place(s.pkg) && !slices.Contains(allowed, place(rest)) {
			found = append(found, s.at(im.Pos(), "%s may not import %s", s.pkg, rest))
		}
		if ours && rest == queue && place(s.pkg) != "cmd" ||
			strings.HasPrefix(target(im), "github.com/nats-io/") && s.pkg != queue {
			found = append(found, s.at(im.Pos(), "%s may not import %s: only commands use a queue, by %s", s.pkg, target(im),
				queue))
		}
	}
	return found
}

// banned are imports that break determinism, hide cost, or tie the model to an operating system. The model also
// compiles for a web page, where there are no files, sockets or flags.
var banned = map[string]string{
	"math/rand":                   "math/rand/v2 through sim/rng",
	"container/heap":              "a typed heap: container/heap boxes every element",
	"log":                         "an error, a metric, or a panic for a broken invariant",
	"unsafe":                      "safe code",
	"os":                          "a reader or a value that the caller passes",
	"net":                         "a value that the caller passes",
	"github.com/spf13/viper":      "a struct that configs fills",
	"github.com/spf13/cobra":      "a struct that configs fills",
	"github.com/stretchr/testify": "an error, or a panic for a broken invariant",
}

func bans(s *source) []string {
	if !s.model() {
		return nil
	}
	var found []string
	for _, im := range s.file.Imports {
		p := target(im)
		instead, bad := barred(p)
		// A trace is a file, and one file of workloads opens it.
		if bad && !(s.path == "workloads/traces/input.go" && p == "os") {
			found = append(found, s.at(im.Pos(), "import %s: use %s", p, instead))
		}
		if foreign := strings.Contains(top(p), ".") && !strings.HasPrefix(p, module); foreign && top(s.pkg) == "sim" {
			found = append(found, s.at(im.Pos(), "import %s: sim uses the standard library alone", p))
		}
	}
	return found
}

// barred returns what to use instead of p, if p or a directory above it is banned.
func barred(p string) (instead string, bad bool) {
	if p == "math/rand/v2" {
		return "", false
	}
	for ; !bad && p != "."; p = path.Dir(p) {
		instead, bad = banned[p]
	}
	return instead, bad
}

// target returns the path that im imports.
func target(im *ast.ImportSpec) string {
	p, err := strconv.Unquote(im.Path.Value)
	if err != nil {
		panic(err) // the parser has accepted it
	}
	return p
}

// named returns the name by which s refers to the package at p, or "" if it does not import it.
func (s *source) named(p string) string {
	for _, im := range s.file.Imports {
		switch {
		case target(im) != p:
		case im.Name != nil:
			return im.Name.Name
		case path.Base(p) == "v2":
			return path.Base(path.Dir(p))
		default:
			return path.Base(p)
		}
	}
	return ""
}

// everywhere matches what syscall has on all systems, web pages included: signals, errors and interfaces.
var everywhere = regexp.MustCompile(`^(SIG[A-Z0-9]+|E[A-Z0-9]+|Signal|Errno|Conn|RawConn)$`)

// portable asks that a file which is built for every system calls none of them. The explorer is built for a web page,
// which otherwise nothing but make wasm shows.
func portable(s *source) []string {
	name := s.named("syscall")
	constrained := strings.HasSuffix(s.path, "_linux.go") || slices.ContainsFunc(s.file.Comments,
		func(g *ast.CommentGroup) bool { return strings.HasPrefix(g.List[0].Text, "//go:build ") })
	if name == "" || s.test || constrained {
		return nil
	}
	return s.find(func(n ast.Node) string {
		x, ok := n.(*ast.SelectorExpr)
		if !ok || everywhere.MatchString(x.Sel.Name) {
			return ""
		}
		if of, ok := x.X.(*ast.Ident); !ok || of.Name != name {
			return ""
		}
		return s.at(n.Pos(), "not every system has syscall.%s: put it into a file with a build constraint", x.Sel.Name)
	})
}
