package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMistakes has one of each kind, and none in what a function says, in what it returns beside an error or beside
// nothing, in how far a sign is from zero or in how far below zero what stands for none is.
func TestMistakes(t *testing.T) {
	const source = `package p

func f(x, y int, s *state) bool {
	if x < y && !s.on {
		s.sum += min(x, y)
	}
	s.last = x
	s.count++
	g(x)
	panic(fmt.Sprint(x + 1))
	return true
}

func g(x int) (int, error) { return 1, errors.New("no") }

func h(x float64) (int, error) {
	if _, err := g(1); err != nil {
		return 2, err
	}
	return 3, nil && math.IsInf(x, 4) && math.IsInf(5, 0)
}

func k(all []int) (*int, int) {
	best := -1
	if best > -1 {
		return &all[best], 5
	}
	return nil, 6
}

func before(a, b int) bool {
	if a != b {
		return a < b
	}
	switch {
	case a != b:
		return b >= a
	}
	return a < b
}

func inf() float64 { return math.Inf(7) }

func (r *rows) read(n int) (bool, error) {
	if n > 8 {
		return false, r.lines.fail("this is row %d", n+1)
	}
	return true, r.refuse(n - 1)
}
`
	found, err := mistakesIn("p.go", []byte(source))
	require.NoError(t, err)
	var got []string
	for _, m := range found {
		got = append(got, strings.TrimSpace(m.new))
		assert.Contains(t, source, m.old)
	}
	assert.Equal(t, []string{
		"if !(x < y && !s.on) {", "if x < y || !s.on {", "if x <= y && !s.on {",
		"s.sum -= min(x, y)", "s.sum += max(x, y)", "_ = x", "s.count--", "_ = 0", "return false",
		"if _, err := g(1); !(err != nil) {", "if _, err := g(2); err != nil {", "if _, err := g(1); err == nil {",
		"return 4, nil && math.IsInf(x, 4) && math.IsInf(5, 0)",
		"return 3, nil && math.IsInf(x, 4) || math.IsInf(5, 0)", "return 3, nil || math.IsInf(x, 4) && math.IsInf(5, 0)",
		"return 3, nil && math.IsInf(x, 4) && math.IsInf(6, 0)", "return 3, nil && math.IsInf(x, 4) && math.IsInf(5, 1)",
		"if !(best > -1) {", "if best >= -1 {", "if best > -2 {", "return &all[best], 6",
		"if !(a != b) {", "if a == b {", "case a == b:", "return a <= b",
		"if !(n > 8) {", "if n >= 8 {", "if n > 9 {",
	}, got)
}

// TestMistakesAreMadeAside: a program has all of them and makes the one that it is asked for, or none. The file stays
// as it is.
func TestMistakesAreMadeAside(t *testing.T) {
	const right = `package main

import "fmt"

type number[T any] struct{ n int }

func (number[T]) more(_ int, by ...int) (sum int) {
	for _, x := range by {
		sum += x
	}
	return sum
}

func largest[T ~int](all []T) (most T) {
	most = all[0]
	for _, x := range all[1:] {
		if x > most {
			most = x
		}
	}
	return most
}

func main() { fmt.Println(number[string]{}.more(9, 2, 3), largest([]int{1, 4, 2})) }
`
	dir := t.TempDir()
	path := filepath.Join(dir, "p.go")
	require.NoError(t, os.WriteFile(path, []byte(right), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module p\n\ngo 1.26\n"), 0o600))
	found, err := mistakesIn(path, []byte(right))
	require.NoError(t, err)
	mistakes := map[int]*mistake{}
	for i := range found {
		mistakes[i+1] = &found[i]
	}
	overlay, err := overlay(t.TempDir(), mistakes)
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "p")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir = dir
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	says := func(id int) string {
		run := exec.Command(program)
		run.Env = append(os.Environ(), fmt.Sprintf("%s=%d", madeVariable, id))
		said, err := run.Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(said))
	}
	assert.Equal(t, "5 4", says(0))
	for id, m := range mistakes {
		want := map[string]string{
			"sum -= x": "-5 4", "most = all[1]": "5 4", "for _, x := range all[2:] {": "5 2", "if !(x > most) {": "5 1",
			"if x >= most {": "5 4", "_ = 0": "",
		}
		for line, printed := range want {
			if strings.TrimSpace(m.new) == line {
				assert.Equal(t, printed, says(id), line)
			}
		}
	}
	still, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, right, string(still))
}

// TestWhatChangesNothingIsLeftOut: a mistake that is known to be none is not tried; one that cannot be made any more
// is reported, as its reason is about other code.
func TestWhatChangesNothingIsLeftOut(t *testing.T) {
	known, err := equivalents()
	require.NoError(t, err)
	for _, e := range known {
		assert.NotEmpty(t, e.Reason, e.Mistake)
	}
	all := [][]mistake{{
		{file: "p.go", old: "\ta < b", new: "\ta <= b"},
		{file: "p.go", old: "\ta < b", new: "\ta > b"},
	}}
	one := equivalentMistakes{{File: "p.go", Line: "a < b", Mistake: "a <= b", Reason: "a is never b"}}
	require.NoError(t, one.apply(all))
	require.Len(t, all[0], 1)
	assert.Equal(t, "\ta > b", all[0][0].new)
	assert.ErrorContains(t, one.apply(all), "p.go has no mistake")
}

// TestPlacesAreChosenByWhatTheyBeginWith: any of several, and all by nothing.
func TestPlacesAreChosenByWhatTheyBeginWith(t *testing.T) {
	m := mistake{file: "sim/heap/heap.go", line: 41}
	for places, in := range map[string]bool{"": true, "sim": true, "sim/heap/heap.go:41:": true, "hardware,sim/heap": true,
		"hardware": false, "sim/heap/heap.go:4:": false, "hardware,policies": false} {
		assert.Equal(t, in, m.within(strings.Split(places, ",")), places)
	}
}

// TestThePackagesElsewhereAreThere, since a name that is wrong would be noticed only when a mistake survives its room.
func TestThePackagesElsewhereAreThere(t *testing.T) {
	others := elsewhere()
	for _, r := range rooms() {
		others = append(others, "./"+r.path)
		others = append(others, r.other...)
	}
	for _, of := range distinct(others) {
		assert.DirExists(t, filepath.Join("../..", of))
	}
	assert.Equal(t, []string{"a", "b", "c"}, distinct([]string{"a", "b", "a", "c", "b"}))
}

// TestSlowTestsAreAskedLast: the fewest without which the others last a tenth of the time, or a second.
func TestSlowTestsAreAskedLast(t *testing.T) {
	said := "=== RUN   TestA\n--- PASS: TestA (0.60s)\n--- PASS: TestB (30.00s)\n    --- PASS: TestB/of (9.00s)\n" +
		"--- FAIL: TestC (7.00s)\n--- PASS: TestD (4.50s)\n--- PASS: TestE (1.90s)\nFAIL\n"
	lasted := durations([]byte(said))
	assert.Equal(t, map[string]float64{"TestC": 7}, lasted["FAIL"])
	assert.Equal(t, map[string]float64{"TestA": .6, "TestB": 30, "TestD": 4.5, "TestE": 1.9}, lasted["PASS"])
	assert.Equal(t, []string{"TestD", "TestB"}, slowest(lasted["PASS"]), "0.6 + 1.9 of 37 s, without 4.5")
	assert.Equal(t, []string{"TestB"}, slowest(map[string]float64{"TestA": .4, "TestB": .7}))
	assert.Empty(t, slowest(map[string]float64{"TestA": .4, "TestB": .6}))
	assert.Equal(t, []string{"-test.skip", "^(TestB|TestD)$"}, skipping([]string{"TestB", "TestD"}))
	assert.Empty(t, skipping(nil))
}

// TestWhatChangesNothingCanBeMade: each mistake that is named as one that changes nothing is one that the sources have.
func TestWhatChangesNothingCanBeMade(t *testing.T) {
	t.Chdir("../..")
	all, err := mistakesOf(rooms())
	require.NoError(t, err)
	known, err := equivalents()
	require.NoError(t, err)
	require.NoError(t, known.apply(all))
}
