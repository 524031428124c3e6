package scratch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatKilledProcessesLeftIsSwept: copies of traces filled the disk, a folder for each worker that was killed.
func TestWhatKilledProcessesLeftIsSwept(t *testing.T) {
	above := t.TempDir()
	t.Setenv("TMPDIR", above)
	killed, err := New("worker")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(killed.Path(), "trace"), []byte("long"), 0o600))
	living, err := New("worker")
	require.NoError(t, err)
	assert.DirExists(t, killed.Path(), "its process lives")
	require.NoError(t, killed.lock.Close()) // as the system does
	other, err := New("queue")
	require.NoError(t, err)
	assert.DirExists(t, killed.Path(), "it is of another kind")
	for _, name := range []string{"decodesim-worker-mine", "mine" + Suffix, "decodesim-worker-1"} {
		require.NoError(t, os.Mkdir(filepath.Join(above, name), 0o700))
	}
	link := filepath.Join(above, "decodesim-worker-2"+Suffix)
	require.NoError(t, os.Symlink(above, link))

	next, err := New("worker")
	require.NoError(t, err)
	assert.NoDirExists(t, killed.Path())
	assert.DirExists(t, living.Path())
	next.Remove()
	living.Remove()
	other.Remove()
	(*Dir)(nil).Remove()
	require.NoError(t, os.Remove(link), "it is somebody's link")
	entries, err := os.ReadDir(above)
	require.NoError(t, err)
	assert.Len(t, entries, 3, "what others have named stays")
}

func TestADirectoryThatCannotBeMadeIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	_, err := New("worker")
	require.ErrorContains(t, err, "set TMPDIR", "which no flag names")
}
