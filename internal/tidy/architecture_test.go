package tidy

import (
	"flag"
	"fmt"
	"go/doc"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const architecturePage = "docs/architecture.md"

var update = flag.Bool("update", false, "write the packages of "+architecturePage)

// synopses returns what each package of the tree says of itself in its first sentence.
func synopses() map[string]string {
	of := map[string]string{}
	for _, f := range tree() {
		if s := f.source; s != nil {
			if _, known := of[s.pkg]; !known {
				of[s.pkg] = ""
			}
			if s.file.Doc != nil {
				of[s.pkg] = new(doc.Package).Synopsis(s.file.Doc.Text())
			}
		}
	}
	return of
}

// TestThePageOnArchitectureNamesEveryPackage in the words of its own comment.
func TestThePageOnArchitectureNamesEveryPackage(t *testing.T) {
	of := synopses()
	var paths []string
	for path := range of {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	rows := []string{"| package | what it is |", "|---|---|"}
	article := regexp.MustCompile(`^(Package|Command) \S+ `)
	for _, path := range paths {
		require.NotEmpty(t, of[path], "%s has no package comment", path)
		depth := strings.Count(path, "/")
		what := strings.TrimSuffix(article.ReplaceAllString(of[path], ""), ":")
		rows = append(rows, fmt.Sprintf("| %s`%s` | %s |", strings.Repeat("&nbsp;&nbsp;", depth), path, what))
	}
	page, err := os.ReadFile(filepath.Join(root, architecturePage))
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(page), "<!-- packages -->\n")
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	want := head + "<!-- packages -->\n" + strings.Join(rows, "\n") + "\n<!-- end -->" + tail
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, architecturePage), []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(page), "go test ./internal/tidy -run Architecture -update writes it")
}

// TestAPackageListsItsFiles in the comment that opens it, and none that it does not have: what a reader begins with.
func TestAPackageListsItsFiles(t *testing.T) {
	own, below, comments := map[string][]string{}, map[string][]string{}, map[string]string{}
	for _, f := range tree() {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			below[dir] = append(below[dir], path.Base(f.name))
		}
		if s := f.source; s != nil && !s.test {
			own[s.pkg] = append(own[s.pkg], path.Base(f.name))
			comments[s.pkg] += s.file.Doc.Text()
		}
	}
	for pkg, files := range own {
		if len(files) > 2 { // of two it is plain what each is
			assert.Empty(t, lacking(files, namesOfFiles(comments[pkg])), "%s does not list", pkg)
		}
		assert.Empty(t, lacking(namesOfFiles(comments[pkg]), below[pkg]), "%s lists what is not there", pkg)
	}
	listed := namesOfFiles("a.go b.go   two; c_*.go: by system")
	assert.Equal(t, []string{"d.go"}, lacking([]string{"a.go", "doc.go", "c_linux.go", "d.go"}, listed))
	assert.Equal(t, []string{"b.go", "c_*.go"}, lacking(listed, []string{"a.go", "b_other.go"}))
}

// namesOfFiles returns the names of Go files in a comment; a * stands for some of a name.
func namesOfFiles(comment string) []string {
	return regexp.MustCompile(`[\w*]+\.go\b`).FindAllString(comment, -1)
}

// lacking returns the names that others do not have, but for those of which every package knows what they are.
func lacking(names, others []string) (left []string) {
	matches := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	for _, name := range names {
		known := name == "doc.go" || name == "main.go"
		if !known && !slices.ContainsFunc(others, func(o string) bool { return matches(o, name) || matches(name, o) }) {
			left = append(left, name)
		}
	}
	return left
}

// TestTheWalksOfTheArchitectureLeadSomewhere: each file is there, and has the name that a reader is to look for.
func TestTheWalksOfTheArchitectureLeadSomewhere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, architecturePage))
	require.NoError(t, err)
	_, walks, ok := strings.Cut(string(page), "## Three walks")
	require.True(t, ok)
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(walks, -1)
	require.Greater(t, len(rows), 20)
	for _, row := range rows {
		text, err := os.ReadFile(filepath.Join(root, row[1]))
		require.NoError(t, err)
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimLeft(row[2], "-")) + `\b`)
		assert.True(t, name.Match(text), "%s has no %s", row[1], row[2])
	}
}
