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
	{"imports follow the star", "internal/sweep/a.go",
		`import _ "github.com/decodesim/decodesim/internal/workers"`, `import _ "github.com/decodesim/decodesim/internal/run"`},
	{"imports follow the star", "cmd/decodesim/a.go",
		`import _ "github.com/nats-io/nats.go"`, `import _ "github.com/decodesim/decodesim/internal/workers"`},
	{"the model imports nothing that hides cost or state", "policies/a.go",
		`import _ "net/http"`, `import _ "math/rand/v2"`},
	{"the model imports nothing that hides cost or state", "workloads/laws.go", `import _ "os"`, `import _ "io"`},
	{"the model imports nothing that hides cost or state", "sim/a.go",
		`import _ "gonum.org/v1/gonum/mat"`, `import _ "math"`},
	{"files and functions are short", "sim/a.go",
		"func f() {" + strings.Repeat("\n", 70) + "}", "func f() {" + strings.Repeat("\n", 69) + "}"},
	{"files and functions are short", "sim/a.go", strings.Repeat("\n", 400), strings.Repeat("\n", 398)},
	{"files of every system call none of them", "configs/a.go",
		"import \"syscall\"\nconst n = syscall.O_NONBLOCK", "import \"syscall\"\nconst n = syscall.SIGINT"},
	{"no init", "cmd/decodesim/a.go", `func init() {}`, `type T int; func (T) init() {}`},
	{"exported names are documented", "sim/a.go", `type T int`, "// T is an int.\ntype T int"},
	{"exported names are documented", "sim/a.go", `func (t *T[K]) F() {}`, `func (t *u[K]) F() {}`},
	{"comments name what they are on", "sim/a.go", "// g returns.\nfunc f() {}", "// f returns.\nfunc f() {}"},
	{"comments name what they are on", "cmd/a.go",
		"// SizedPool is one.\ntype Pool int", "// Pools are two.\ntype Pool int"},
	{"the model has no clock of its own", "sim/a.go",
		"import \"time\"\nvar t = time.Now", "import \"time\"\nvar t time.Duration"},
	{"the model does not print", "policies/a.go",
		"import \"fmt\"\nfunc f() { fmt.Println() }", "import \"fmt\"\nfunc f() { fmt.Sprint() }"},
	{"the model does not print", "sim/a.go", "func f() { println() }", "func f() {}"},
	{"the model starts no goroutine", "sim/a.go", `func f() { go f() }`, `func f() { f() }`},
	{"the model does not range over maps", "hardware/a.go",
		`type m map[int]int; func f(x m) { for range x {} }`, `type m []int; func f(x m) { for range x {} }`},
	{"sim has no map with string keys", "sim/a.go", `type s string; var m map[s]int`, `var m map[int]string`},
	{"randomness comes from rng.Stream", "workloads/a.go",
		"import \"math/rand/v2\"\nvar x = rand.IntN(2)", "import \"math/rand/v2\"\nvar x *rand.Rand"},
	{"gaps between tokens are counted in one file", "sim/metrics/a.go",
		`func f(r *R) { r.ITL.Add(1, 1) }`, `func f(r *R) { r.TTFT.Add(1, 1) }`},
	{"package variables are constants", "configs/a.go",
		`var x struct{ y []int }; func f() { x.y[0]++ }`, `var x int; func f() { x := 0; x++ }`},
	{"lines have at most 120 columns", "sim/a.go", "// " + strings.Repeat("µ", 118), "// " + strings.Repeat("µ", 117)},
	{"lines have at most 120 columns", "sim/a.go",
		"//" + strings.Repeat(" x", 60), "var s = `" + strings.Repeat(" x", 60) + "`"},
	{"lines have at most 120 columns", "docs/a.md", strings.Repeat(" x", 61), "|" + strings.Repeat(" x", 61) + " |"},
	{"lines have at most 120 columns", "docs/a.md",
		strings.Repeat(" x", 61), "```\n" + strings.Repeat(" x", 61) + "\n```"},
	{"lines have at most 120 columns", "README.md",
		strings.Repeat(" x", 61), "[x](https://example.org/" + strings.Repeat("x", 120) + ")"},
	{"headers declare", "sim/a.go",
		`func f() (x int) { if x = f(); x > 1 { }; return }`, `func f() (x int) { if x := f(); x > 1 { }; return }`},
	{"headers declare", "sim/a_test.go", `func f(x int) { if x++; x > 1 { } }`, `func f(x int) { if x > 1 { x++ } }`},
	{"assignments have at most three targets", "cmd/a.go",
		`func f() { a, b, c, d := g() }`, `func f() { a, b, c := g() }`},
	{"assignments have at most three targets", "cmd/a.go", `var a, b, c, d = 1, 2, 3, 4`, `var a, b, c, d int`},
	{"names are words of the glossary", "sim/a.go", `var handOverS int`, `var overHand = handOver`},
	{"names are words of the glossary", "sim/a.go", `func f(seats int) {}`, `func f(maxNumSeqs int) { _ = f.seats }`},
	{"names are words of the glossary", "sim/a.go", `type T struct { Found int }`, `func f() { i, found := g() }`},
	{"names are words of the glossary", "sim/a_test.go", `func TestAHangUpEnds() {}`, `func TestItHoldsApart() {}`},
	{"prose has the words of the glossary", "sim/a.go", "// a request is handed\n// over", "// a request is handled over"},
	{"prose has the words of the glossary", "cmd/a.go", `var x = "no gpu; have h100"`, `var x struct{ y int "bare" }`},
	{"prose has the words of the glossary", "docs/a.md",
		"many seats", "`seats`, gpu_memory_utilization\n```\nseats\n```\n    seats"},
	{"prose has the words of the glossary", "cmd/a.go", `var x = "its utilization"`, `var x = "pools.utilization"`},
	{"prose has the words of the glossary", "configs/a.yaml", "a: 1 # no seat", "utilization: 1 # busy"},
	{"prose has the words of the glossary", "notebooks/a.ipynb",
		`{"cells": [{"cell_type": "markdown", "source": ["no seats"]}]}`,
		`{"cells": [{"cell_type": "code", "source": ["seats"]}]}`},
	{"things are it", "workloads/a.go", "// it waits for whoever", "// somebody who waits"},
	{"things are it", "sim/a.go", "// the request who waits", "// the request that waits"},
	{"package variables are constants", "sim/a.go",
		`var x, y int; func f() { y, x = 1, 2 }`, `var x int; func f(x *int) { *x = 2 }`},
}

func TestEveryRuleCatchesItsMutant(t *testing.T) {
	tried := map[string]bool{}
	rules := rules(t)
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

// parse returns text as the file of that name; code is the only file of its package.
func parse(t *testing.T, name, text string) *file {
	f := &file{name: name, text: text}
	if path.Ext(name) != ".go" {
		return f
	}
	f.text = "package p\n" + text
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, f.text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	f.source = &source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set, file: parsed}
	resolve([]*source{f.source})
	return f
}
