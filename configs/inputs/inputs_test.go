package inputs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zipped(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestAFileIsReadUpToItsLimit(t *testing.T) {
	const limit = 1 << 20
	path := filepath.Join(t.TempDir(), "data")
	whole := bytes.Repeat([]byte("x"), limit)
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"plain", whole, ""},
		{"zipped", zipped(t, whole), ""},
		{"long", append(whole, 'x'), "more than 1 MiB"},
		{"bomb", zipped(t, make([]byte, 1<<23)), "more than 1 MiB, unzipped"},
		{"cut", zipped(t, whole)[:40], "its gzip data cannot be unpacked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, c.content, 0o600))
			data, err := Read(path, limit)
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, whole, data)
		})
	}
	_, err := Read("/dev/zero", limit)
	require.ErrorContains(t, err, "is a device; expected a regular file", "it has no end")
	_, err = ReadShort("/dev/zero")
	require.ErrorContains(t, err, "is a device; expected a regular file")
}

// TestASecretMayComeByAPipe that somebody writes to and closes. Of one that nobody writes to nothing is read, and one
// that stays open is not waited for without end.
func TestASecretMayComeByAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	text, err := ReadShort(path)
	require.NoError(t, err)
	assert.Empty(t, text, "nobody writes to it")
	for _, c := range []struct {
		name  string
		ends  bool
		wrote string
		want  string
	}{
		{"ends", true, "secret", ""},
		{"stays open", false, "secret", "is a pipe that nobody has closed within 50ms"},
		{"is long", true, strings.Repeat("x", ShortMax+1), "more than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			defer w.Close()
			go func() {
				_, _ = w.WriteString(c.wrote)
				if c.ends {
					_ = w.Close()
				}
			}()
			within := time.Minute
			if !c.ends {
				within = 50 * time.Millisecond
			}
			text, err := readShort(fmt.Sprint("/dev/fd/", r.Fd()), within)
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.wrote, string(text))
		})
	}
}

// TestWhatCallsItselfAFileIsNotWaitedFor: /proc/kmsg is one that only root opens, and each read of it waits.
func TestWhatCallsItselfAFileIsNotWaitedFor(t *testing.T) {
	const log = "/proc/kmsg"
	f, err := os.Open(log)
	if err != nil {
		t.Skip(err)
	}
	require.NoError(t, f.Close())
	_, err = Read(log, 1<<20)
	require.ErrorContains(t, err, "has no length, and is waited for as a pipe is; expected a regular file")
	_, err = ReadShort(log)
	require.ErrorContains(t, err, "has no length, and is waited for")
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	text, err := Read(empty, 1<<20)
	require.NoError(t, err)
	assert.Empty(t, text)
}

// TestWhatIsTooLongTakesNoMemory: a bomb is unpacked in vain, but kept nowhere.
func TestWhatIsTooLongTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	bomb, plain := filepath.Join(dir, "bomb.gz"), filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(bomb, zipped(t, make([]byte, 1<<26)), 0o600))
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	require.NoError(t, os.Truncate(plain, 1<<26))
	for _, path := range []string{bomb, plain} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(path, 1<<25)
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, "more than 32 MiB, unzipped")
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
}

func TestAFileIsCopiedAsLongAsSomebodyWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	var to bytes.Buffer
	require.NoError(t, CopyTo(t.Context(), &to, path))
	assert.Equal(t, 1<<20, to.Len())
	ctx, cancel := context.WithCancel(t.Context())
	to.Reset()
	require.ErrorIs(t, CopyTo(ctx, &ends{&to, cancel}, path), context.Canceled)
	assert.Positive(t, to.Len())
	assert.Less(t, to.Len(), 1<<20)
}

// ends is a writer at whose first bytes nobody waits any longer.
type ends struct {
	io.Writer
	wait func()
}

func (e *ends) Write(b []byte) (int, error) {
	e.wait()
	return e.Writer.Write(b)
}

func TestAPipeIsRefusedWithoutWaiting(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := Open(pipe)
	require.ErrorContains(t, err, "is a pipe; expected a regular file")
	_, err = Open(filepath.Join(pipe, "nowhere"))
	require.Error(t, err)
}
