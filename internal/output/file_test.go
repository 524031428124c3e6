package output

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ours recognises files that begin with the word.
func ours(r io.Reader) bool {
	begins, err := io.ReadAll(io.LimitReader(r, 4))
	return err == nil && string(begins) == "ours"
}

func write(t *testing.T, path, text string) {
	f, err := OpenFile(context.Background(), path, ours)
	require.NoError(t, err)
	defer f.Abandon()
	_, err = io.WriteString(f, text)
	require.NoError(t, err)
	require.NoError(t, f.Keep())
}

func TestAFileReplacesOnlyItsOwnKind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace.json")
	write(t, path, "ours: first")
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Symlink("trace.json", filepath.Join(dir, "link.json")))
	write(t, filepath.Join(dir, "link.json"), "ours: second")
	assert.Equal(t, "ours: second", content(t, path), "a link stays one")
	at, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), at.Mode())

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o644))
	_, err = OpenFile(context.Background(), path, ours)
	require.ErrorContains(t, err, "it exists, and is not a file that this command wrote")
	_, err = OpenFile(context.Background(), dir, ours)
	require.ErrorContains(t, err, "it is a directory")
	_, err = OpenFile(context.Background(), filepath.Join(dir, "nowhere", "x"), ours)
	require.ErrorContains(t, err, "cannot be written in")
	assert.NotContains(t, err.Error(), unfinished, "the temporary name is nobody's business")
	assert.Equal(t, "mine", content(t, path))
	assert.Equal(t, []string{"link.json", "trace.json"}, names(t, dir))
}

func TestAFileThatAppearsIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	f, err := OpenFile(context.Background(), path, ours)
	require.NoError(t, err)
	_, err = OpenFile(context.Background(), path, ours)
	require.ErrorIs(t, err, errBusy)
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o644))
	require.ErrorContains(t, f.Keep(), "appeared during the run")
	f.Abandon()
	assert.Equal(t, "mine", content(t, path))
	assert.Len(t, names(t, filepath.Dir(path)), 1)
}

func TestAKilledFileIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	f, err := OpenFile(context.Background(), path, nil)
	require.NoError(t, err)
	_, err = io.WriteString(f, strings.Repeat("half", 100))
	require.NoError(t, err)
	require.NoError(t, f.file.Close())
	write(t, path, "ours")
	assert.Equal(t, "ours", content(t, path))
	assert.Equal(t, []string{"trace.json"}, names(t, filepath.Dir(path)))
}

func TestASocketIsRefusedWithoutWaiting(t *testing.T) {
	t.Chdir(t.TempDir()) // the name of a socket is short
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, err = OpenFile(t.Context(), "socket", ours)
	require.EqualError(t, err, "it is a socket; expected a file")
}

// TestADiskIsRefused: a trace in its first blocks would be the end of its files.
func TestADiskIsRefused(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "disk")
	if err := syscall.Mknod(disk, syscall.S_IFBLK|0o600, 259<<8|255); err != nil {
		t.Skipf("no disk can be made here: %v", err)
	}
	_, err := OpenFile(t.Context(), disk, ours)
	require.EqualError(t, err, "it is a disk, whose files would be lost; expected a file")
}

func TestDevicesAndPipesAreWrittenTo(t *testing.T) {
	write(t, os.DevNull, "ours")
	at, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.NotZero(t, at.Mode()&os.ModeDevice, "it is still a device")

	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	read := make(chan string)
	go func() {
		b, _ := os.ReadFile(pipe)
		read <- string(b)
	}()
	write(t, pipe, "ours")
	assert.Equal(t, "ours", <-read)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = OpenFile(ctx, pipe, ours)
	require.ErrorIs(t, err, context.Canceled, "nobody reads")
}

// TestALinkToNothingIsRefused: at once, rather than after the run whose result would go there.
func TestALinkToNothingIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, os.Symlink("nowhere.json", path))
	_, err := OpenFile(t.Context(), path, nil)
	assert.ErrorContains(t, err, "it is a link to nothing")
}
