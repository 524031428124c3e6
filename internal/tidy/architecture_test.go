package tidy

import (
	"flag"
	"fmt"
	"go/doc"
	"os"
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
