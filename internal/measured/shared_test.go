package measured

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
)

// readShared reads a file of the measured data, which lie outside the repository.
func readShared(t *testing.T, name string) *File {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(shared, "groundtruth", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: set DECODESIM_SHARED to the data folder (looked in %s)", name, shared)
	}
	f, err := Read(path, shared)
	require.NoError(t, err)
	return f
}

// readText reads a file of that content, with companions of the given names and contents beside it.
func readText(t *testing.T, content string, companions ...string) (*File, error) {
	dir := t.TempDir()
	for i := 0; i < len(companions); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, companions[i]), []byte(companions[i+1]), 0o600))
	}
	path := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	f, err := Read(path, "")
	if err != nil {
		return nil, trimmed{strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")}
	}
	return f, nil
}

// trimmed is an error without the folder of the test.
type trimmed struct{ text string }

func (e trimmed) Error() string { return e.text }

// one returns the only run of a file.
func one(t *testing.T, f *File, err error) Run {
	require.NoError(t, err)
	require.Len(t, f.Runs, 1)
	return f.Runs[0]
}

// reasons counts why runs are skipped; "" counts those that are not.
func reasons(f *File) map[string]int {
	n := map[string]int{}
	for _, r := range f.Runs {
		n[r.Skip]++
	}
	return n
}

// rowsOf counts the rows, of which each has an id of its own.
func rowsOf(t *testing.T, f *File) int {
	seen := map[string]bool{}
	for _, run := range f.Runs {
		for _, row := range run.Rows {
			assert.False(t, seen[row.ID], "%s is there twice", row.ID)
			seen[row.ID] = true
		}
	}
	return len(seen)
}

// buildAll loads and builds the scenario of every run that is not skipped, one of each pool.
func buildAll(t *testing.T, f *File) {
	tried := map[string]bool{}
	for _, run := range f.Runs {
		pool, _, _ := strings.Cut(run.Scenario, "workload:")
		if run.Skip != "" || tried[pool] {
			continue
		}
		tried[pool] = true
		s, err := configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
		if !assert.NoError(t, err, run.Scenario) {
			continue
		}
		b, err := build.New(s)
		if assert.NoError(t, err, run.Scenario) {
			assert.NoError(t, b.Close())
		}
	}
	require.NotEmpty(t, tried)
}
