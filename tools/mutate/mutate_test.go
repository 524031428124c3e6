package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMistakes has one of each kind, and none in what a function says.
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
	}, got)
}

// TestAMistakeIsMadeAside: the file stays as it is, and the go command is shown the other.
func TestAMistakeIsMadeAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.go")
	const right = "package p\n\nfunc f() bool { return true }\n"
	require.NoError(t, os.WriteFile(path, []byte(right), 0o600))
	found, err := mistakesIn(path, []byte(right))
	require.NoError(t, err)
	require.Len(t, found, 1)
	dir := t.TempDir()
	_, err = found[0].overlay(dir)
	require.NoError(t, err)
	wrong, err := os.ReadFile(filepath.Join(dir, "p.go"))
	require.NoError(t, err)
	assert.Equal(t, "package p\n\nfunc f() bool { return false }\n", string(wrong))
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
	require.NoError(t, one.apply(all, ""))
	require.Len(t, all[0], 1)
	assert.Equal(t, "\ta > b", all[0][0].new)
	assert.ErrorContains(t, one.apply(all, ""), "p.go has no mistake")
}
