package tidy

import (
	"bytes"
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
var machinePath = regexp.MustCompile(`/work[/]|(^|[\s"'=(:\x60])/(home|root|Users)/`)

func TestTextNamesNoMachine(t *testing.T) {
	walk(t, func(name string) {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.LessOrEqual(t, len(text), fileBytesMax, "%s: bytes", name)
		if bytes.IndexByte(text, 0) >= 0 {
			return // not text
		}
		for i, line := range strings.Split(string(text), "\n") {
			if path := machinePath.FindString(line); path != "" {
				t.Errorf("%s:%d: %q is a path of one machine: use a relative path or an environment variable", name, i+1, path)
			}
		}
	})
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
	for _, m := range regexp.MustCompile(`(?m)^(?:require|\t)\s*(\S+\.\S+/\S+) v\d`).FindAllStringSubmatch(string(text), -1) {
		paths = append(paths, m[1])
	}
	require.NotEmpty(t, paths, "%s requires no module", name)
	return paths
}

func TestMachinePathsAreTold(t *testing.T) {
	for _, path := range []string{"see /" + "work/main", "dir=/" + "home/ann/x", "`/" + "Users/bob/`"} {
		assert.True(t, machinePath.MatchString(path), path)
	}
	for _, path := range []string{"workloads/home/a", "https://example.org/home/a", "sim/workers/", "../shared", "/workspace/"} {
		assert.False(t, machinePath.MatchString(path), path)
	}
}
