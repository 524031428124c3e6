package output

import (
	"context"
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

func content(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// killed lets the lock of a directory go as a kill of its process does: nothing is removed.
func killed(t *testing.T, d *Dir) { require.NoError(t, d.staging.lock.Close()) }

func TestFilesAreWholeOrAbsent(t *testing.T) {
	path := t.TempDir()
	d, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteFile("summary.json", writes("{}")))
	err = d.WriteFile("requests.csv", func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return errors.New("disk full")
	})
	require.ErrorContains(t, err, "disk full")
	assert.Panics(t, func() { _ = d.WriteFile("itl_cdf.svg", func(io.Writer) error { panic("bug") }) })
	require.ErrorContains(t, d.WriteFile("../x", writes("")), "plain file name")
	assert.Equal(t, []string{unfinished}, names(t, path), "all of it is built aside")
	require.NoError(t, d.Keep())
	d.Abandon()
	assert.Equal(t, []string{"summary.json"}, names(t, path))
}

func TestANewDirectoryAppearsWhole(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b")
	d, err := Open(path)
	require.NoError(t, err)
	inner, err := d.Folder("variant")
	require.NoError(t, err)
	require.NoError(t, inner.WriteBytes("summary.json", []byte("{}")))
	require.NoError(t, d.WriteBytes("compare.json", []byte("{}")))
	assert.NoDirExists(t, path)
	assert.Equal(t, filepath.Join(path, "variant"), inner.Path())
	require.NoError(t, d.Keep())
	assert.Equal(t, []string{filepath.Join(path, "variant", "summary.json"), filepath.Join(path, "compare.json")},
		d.Files())
	for _, file := range d.Files() {
		assert.FileExists(t, file)
	}
	assert.Equal(t, []string{"b"}, names(t, filepath.Join(root, "a")))
}

func TestADirectoryWithResultsIsRefused(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "notes.txt"), nil, 0o644))
	d, err := Open(path)
	require.NoError(t, err, "other files do no harm")
	_, err = d.Folder("notes.txt")
	require.ErrorContains(t, err, "is a file, want a directory")
	d.Abandon()
	for _, name := range append(results[:len(results):len(results)], "timeline.svg", "tornado.png") {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), []byte("mine"), 0o644))
		_, err = Open(path)
		require.ErrorContains(t, err, "already holds a run ("+name+")")
		assert.Equal(t, "mine", content(t, filepath.Join(path, name)))
		require.NoError(t, os.Remove(filepath.Join(path, name)))
	}
	_, err = Open(path, "study.yaml", "notes.txt")
	require.ErrorContains(t, err, "already holds a run (notes.txt)", "the command writes a file of that name")
	_, err = Open(filepath.Join(path, "notes.txt"))
	require.ErrorContains(t, err, "is a file, want a directory")
	_, err = Open(filepath.Join(path, "notes.txt", "below"))
	require.Error(t, err)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(path, "link")))
	_, err = Open(filepath.Join(path, "link"))
	require.ErrorContains(t, err, "is a link to nothing")
	assert.Equal(t, []string{"link", "notes.txt"}, names(t, path))
}

// TestAPathThroughADirectoryThatIsNotThere comes to what it names without that; one through a link goes where that
// does.
func TestAPathThroughADirectoryThatIsNotThere(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "far", "below"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join("far", "below"), filepath.Join(root, "link")))
	for path, want := range map[string]string{
		root + "/new/../out": root + "/out", root + "/new/./../other/": root + "/other",
		root + "/link/../here": root + "/far/here",
	} {
		d, err := Open(path)
		require.NoError(t, err, path)
		require.NoError(t, d.WriteBytes("summary.json", []byte("{}")))
		require.NoError(t, d.Keep(), path)
		assert.FileExists(t, filepath.Join(want, "summary.json"))
	}
	assert.Equal(t, []string{"far", "link", "other", "out"}, names(t, root))
	_, err := Open(root + "/new/..")
	require.NoError(t, err, "the directory itself, which holds no results")
}

// TestADirectoryReservesTheNamesOfItsFiles: another file of the command may not have one of them.
func TestADirectoryReservesTheNamesOfItsFiles(t *testing.T) {
	path := t.TempDir()
	d, err := Open(path, "study.yaml")
	require.NoError(t, err)
	defer d.Abandon()
	require.NoError(t, os.Symlink(path, filepath.Join(path, "self")))
	for _, name := range []string{"summary.json", "itl_cdf.svg", "study.yaml", "self/summary.json"} {
		assert.True(t, d.Reserves(filepath.Join(path, name)), name)
	}
	for _, other := range []string{filepath.Join(path, "trace.json"), "summary.json",
		filepath.Join(path, "no", "summary.json")} {
		assert.False(t, d.Reserves(other), other)
	}
	d = nil
	assert.False(t, d.Reserves("summary.json"))
}

func TestAFileThatAppearsDuringTheRunStays(t *testing.T) {
	path := t.TempDir()
	d, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteBytes("requests.csv", []byte("ours")))
	require.NoError(t, d.WriteBytes("summary.json", []byte("ours")))
	require.NoError(t, os.WriteFile(filepath.Join(path, "summary.json"), []byte("mine"), 0o644))
	require.ErrorContains(t, d.Keep(), "summary.json is there already; nothing was written over it")
	d.Abandon()
	assert.Equal(t, []string{"summary.json"}, names(t, path), "nothing of ours stays")
	assert.Equal(t, "mine", content(t, filepath.Join(path, "summary.json")))

	path = filepath.Join(path, "new")
	d, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteBytes("summary.json", []byte("ours")))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "mine"), 0o755))
	require.ErrorContains(t, d.Keep(), "appeared during the run")
	d.Abandon()
	assert.Equal(t, []string{"mine"}, names(t, path))
}

func TestOneCommandADirectory(t *testing.T) {
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "new")} {
		first, err := Open(path)
		require.NoError(t, err)
		_, err = Open(path)
		require.ErrorIs(t, err, errBusy)
		require.NoError(t, first.WriteBytes("summary.json", []byte("{}")), "the second took nothing away")
		first.Abandon()
		second, err := Open(path)
		require.NoError(t, err)
		second.Abandon()
	}
}

func TestWhatAKilledCommandLeftIsSwept(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "new")
	d, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteBytes("summary.json", []byte("half")))
	killed(t, d)
	assert.Equal(t, []string{".new" + unfinished}, names(t, root), "and its name says what it is")

	d, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, d.WriteBytes("explain.json", []byte("{}")))
	require.NoError(t, d.Keep())
	assert.Equal(t, []string{"new"}, names(t, root))
	assert.Equal(t, []string{"explain.json"}, names(t, path))
}

func TestWhatAKilledCommandHadPlacedIsTakenBack(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "notes.txt"), []byte("mine"), 0o644))
	d, err := Open(path)
	require.NoError(t, err)
	inner, err := d.Folder("variant")
	require.NoError(t, err)
	require.NoError(t, inner.WriteBytes("summary.json", []byte("half")))
	require.NoError(t, d.WriteBytes("notes.txt", []byte("of another file of the same name")))
	require.NoError(t, os.Mkdir(filepath.Join(path, "variant"), 0o755))
	require.NoError(t, putNew(filepath.Join(d.staging.path, "variant", "summary.json"),
		filepath.Join(path, "variant", "summary.json")))
	killed(t, d)

	d, err = Open(path)
	require.NoError(t, err)
	d.Abandon()
	assert.Equal(t, []string{"notes.txt"}, names(t, path))
	assert.Equal(t, "mine", content(t, filepath.Join(path, "notes.txt")))
}

func TestAnAbandonedDirectoryLeavesNothing(t *testing.T) {
	root := t.TempDir()
	d, err := Open(filepath.Join(root, "a", "b"))
	require.NoError(t, err)
	require.NoError(t, d.WriteBytes("scenario.yaml", nil))
	d.Abandon()
	assert.Empty(t, names(t, root))
	require.NoError(t, InOrder(context.Background(), nil))
}

// Where no directory is asked for there is none, and nothing to remove or to name.
func TestNoDirectoryHasNoFiles(t *testing.T) {
	var none *Dir
	none.Abandon()
	require.Empty(t, none.Files())
}
