package tidy

import (
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mutants break one rule each, as little as they can; near is almost the same and breaks none.
var mutants = []struct{ rule, path, code, near string }{
	{"imports follow the star", "sim/a.go",
		`import _ "github.com/decodesim/decodesim/hardware"`, `import _ "github.com/decodesim/decodesimulator/hardware"`},
	{"imports follow the star", "hardware/a.go",
		`import _ "github.com/decodesim/decodesim/configs/huggingface"`, `import _ "github.com/decodesim/decodesim/sim"`},
	{"the model imports nothing that hides cost or state", "policies/a.go", `import _ "net/http"`, `import _ "math/rand/v2"`},
	{"the model imports nothing that hides cost or state", "workloads/laws.go", `import _ "os"`, `import _ "io"`},
	{"the model imports nothing that hides cost or state", "sim/a.go", `import _ "gonum.org/v1/gonum/mat"`, `import _ "math"`},
	{"files and functions are short", "sim/a.go", "func f() {" + strings.Repeat("\n", 70) + "}", "func f() {" + strings.Repeat("\n", 69) + "}"},
	{"files and functions are short", "sim/a.go", strings.Repeat("\n", 400), strings.Repeat("\n", 398)},
	{"no init", "cmd/decodesim/a.go", `func init() {}`, `type T int; func (T) init() {}`},
	{"exported names are documented", "sim/a.go", `type T int`, "// T is an int.\ntype T int"},
	{"exported names are documented", "sim/a.go", `func (t *T[K]) F() {}`, `func (t *u[K]) F() {}`},
	{"the model has no clock of its own", "sim/a.go", "import \"time\"\nvar t = time.Now", "import \"time\"\nvar t time.Duration"},
	{"the model does not print", "policies/a.go", "import \"fmt\"\nfunc f() { fmt.Println() }", "import \"fmt\"\nfunc f() { fmt.Sprint() }"},
	{"the model does not print", "sim/a.go", "func f() { println() }", "func f() {}"},
	{"the model starts no goroutine", "sim/a.go", `func f() { go f() }`, `func f() { f() }`},
	{"the model does not range over maps", "hardware/a.go",
		`type m map[int]int; func f(x m) { for range x {} }`, `type m []int; func f(x m) { for range x {} }`},
	{"sim has no map with string keys", "sim/a.go", `type s string; var m map[s]int`, `var m map[int]string`},
	{"randomness comes from rng.Stream", "workloads/a.go",
		"import \"math/rand/v2\"\nvar x = rand.IntN(2)", "import \"math/rand/v2\"\nvar x *rand.Rand"},
	{"gaps between tokens are counted in one file", "sim/metrics/a.go", `func f(r *R) { r.ITL.Add(1, 1) }`, `func f(r *R) { r.TTFT.Add(1, 1) }`},
	{"package variables are constants", "configs/a.go", `var x struct{ y []int }; func f() { x.y[0]++ }`, `var x int; func f() { x := 0; x++ }`},
	{"package variables are constants", "sim/a.go", `var x, y int; func f() { y, x = 1, 2 }`, `var x int; func f(x *int) { *x = 2 }`},
}

func TestEveryRuleCatchesItsMutant(t *testing.T) {
	tried := map[string]bool{}
	for _, m := range mutants {
		require.Contains(t, rules, m.rule)
		tried[m.rule] = true
		assert.Len(t, rules[m.rule](parse(t, m.path, m.code)), 1, "%s: %s", m.rule, m.code)
		assert.Empty(t, rules[m.rule](parse(t, m.path, m.near)), "%s: %s", m.rule, m.near)
	}
	for rule := range rules {
		assert.True(t, tried[rule], "no mutant of %q", rule)
	}
}

// parse returns code as the only file of its package.
func parse(t *testing.T, name, code string) *source {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, "package p\n"+code, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	s := &source{path: name, pkg: path.Dir(name), set: set, file: file}
	resolve([]*source{s})
	return s
}
