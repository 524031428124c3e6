package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fileBytesMax keeps data, pictures and executed notebooks out of the tree.
const fileBytesMax = 1 << 20

// machinePath matches the home of a user and the place of a checkout.
var machinePath = regexp.MustCompile(`(?m)/work[/]|(^|[\s"'=(:\x60])/(home|root|Users)/`)

func TestTextNamesNoMachine(t *testing.T) {
	for _, f := range tree() {
		assert.LessOrEqual(t, len(f.text), fileBytesMax, "%s: bytes", f.name)
		if strings.IndexByte(f.text, 0) >= 0 {
			continue // not text
		}
		for _, at := range machinePath.FindAllStringIndex(f.text, -1) {
			line := 1 + strings.Count(f.text[:at[1]], "\n")
			path := strings.TrimSpace(f.text[at[0]:at[1]])
			t.Errorf("%s:%d: %q is a path of one machine: use a relative path or an environment variable", f.name, line, path)
		}
	}
}

func TestNoticeNamesEveryModule(t *testing.T) {
	notice, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	require.NoError(t, err)
	words := strings.Fields(string(notice))
	for _, m := range modules(t, "go.mod") {
		assert.True(t, slices.Contains(words, m), "NOTICE: does not name %s of go.mod", m)
	}
}

// modules returns the paths that a module file requires.
func modules(t *testing.T, name string) []string {
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	var paths []string
	required := regexp.MustCompile(`(?m)^(?:require|\t)\s*(\S+\.\S+/\S+) v\d`)
	for _, m := range required.FindAllStringSubmatch(string(text), -1) {
		paths = append(paths, m[1])
	}
	require.NotEmpty(t, paths, "%s requires no module", name)
	return paths
}

func TestMachinePathsAreReported(t *testing.T) {
	for _, path := range []string{"see /" + "work/main", "dir=/" + "home/ann/x", "`/" + "Users/bob/`"} {
		assert.True(t, machinePath.MatchString(path), path)
	}
	fine := []string{"workloads/home/a", "https://example.org/home/a", "sim/workers/", "../shared", "/workspace/"}
	for _, path := range fine {
		assert.False(t, machinePath.MatchString(path), path)
	}
}
