//go:build unix

package traces

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe is refused without being opened: nobody writes to this one, so opening it would never return.
func TestWhatIsReadOnceIsNoTrace(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := Open(pipe, Options{})
	require.EqualError(t, err,
		"workloads: "+pipe+" is a pipe or device that can be read only once, and a trace is read twice; accepted: a file")
	_, err = Open("/dev/zero", Options{})
	require.ErrorContains(t, err, "/dev/zero is a pipe or device")
	if log, err := os.Open("/proc/kmsg"); err == nil { // only root opens it, and each read waits
		require.NoError(t, log.Close())
		_, err = Open("/proc/kmsg", Options{})
		require.ErrorContains(t, err, "/proc/kmsg is a pipe or device")
	}
	link := filepath.Join(t.TempDir(), "link.csv")
	file := filepath.Join(t.TempDir(), "file.csv")
	require.NoError(t, os.WriteFile(file, []byte("arrival_s,input_tokens,output_tokens\n0,1,1\n"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	tr, err := Open(link, Options{})
	require.NoError(t, err)
	require.NoError(t, tr.Close())
}

// TestARefusedTraceIsClosed: a program that asks for many would have no file descriptors left.
func TestARefusedTraceIsClosed(t *testing.T) {
	const descriptors = "/proc/self/fd"
	if _, err := os.Stat(descriptors); err != nil {
		t.Skip("this system does not say which files are open")
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	open := func() (n int) {
		all, err := os.ReadDir(descriptors)
		require.NoError(t, err)
		for _, d := range all {
			if of, err := os.Readlink(filepath.Join(descriptors, d.Name())); err == nil && of == path {
				n++
			}
		}
		return n
	}
	require.NoError(t, os.WriteFile(path, []byte("arrival_s,input_tokens,output_tokens\n0,1,1\n"), 0o600))
	tr, err := Open(path, Options{})
	require.NoError(t, err)
	require.Equal(t, 1, open())
	require.NoError(t, tr.Close())
	require.NoError(t, os.WriteFile(path, []byte("arrival_s,input_tokens,output_tokens\n0,1,x\n"), 0o600))
	_, err = Open(path, Options{})
	require.Error(t, err)
	require.Zero(t, open())
}
