package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

func names(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestFilesAreWholeOrAbsent(t *testing.T) {
	path := t.TempDir()
	d, err := Open(path)
	require.NoError(t, err)
	assert.Empty(t, names(t, path), "the probe is gone")
	require.NoError(t, d.WriteFile("summary.json", writes("{}")))
	err = d.WriteFile("requests.csv", func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return errors.New("disk full")
	})
	require.ErrorContains(t, err, "disk full")
	assert.Panics(t, func() { _ = d.WriteFile("itl_cdf.svg", func(io.Writer) error { panic("bug") }) })
	require.ErrorContains(t, d.WriteFile("../x", writes("")), "plain file name")
	assert.Equal(t, []string{"summary.json"}, names(t, path))
}

func TestADirectoryWithARunIsRefused(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "notes.txt"), nil, 0o644))
	_, err := Open(path)
	require.NoError(t, err, "other files do no harm")
	require.NoError(t, os.WriteFile(filepath.Join(path, "scenario.yaml"), nil, 0o644))
	_, err = Open(path)
	require.ErrorContains(t, err, "already holds a run (scenario.yaml)")
	require.NoError(t, os.Rename(filepath.Join(path, "scenario.yaml"), filepath.Join(path, "explain.json")))
	_, err = Open(path)
	require.ErrorContains(t, err, "already holds a run (explain.json)")
	_, err = Open(filepath.Join(path, "notes.txt"))
	require.ErrorContains(t, err, "is a file, want a directory")
	_, err = Open(filepath.Join(path, "notes.txt", "below"))
	require.Error(t, err)
}

func TestAnAbandonedDirectoryLeavesNothing(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b")
	d, err := Open(path)
	require.NoError(t, err)
	assert.DirExists(t, path)
	d.Abandon()
	assert.Empty(t, names(t, root))

	d, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteFile("scenario.yaml", writes("")))
	d.Abandon()
	assert.Empty(t, names(t, root), "half a run is none")

	d, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteFile("summary.json", writes("{}")))
	d.Keep()
	d.Abandon()
	assert.Equal(t, []string{filepath.Join(path, "summary.json")}, d.Files())
	assert.FileExists(t, d.Files()[0])
}
