package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFilesOfAJobTakeNoMemory: a trace goes through the queue in parts, and arrives as it is.
func TestFilesOfAJobTakeNoMemory(t *testing.T) {
	const size = 64 << 20
	home := t.TempDir()
	t.Chdir(home)
	require.NoError(t, os.WriteFile("long.txt", []byte("begin"), 0o600))
	require.NoError(t, os.Truncate("long.txt", size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	job(t, "long.txt", "long.txt")
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "its checksum is that of a stream")
	require.NoError(t, os.WriteFile("short.txt", bytes.Repeat([]byte("0123456789"), 200_000), 0o600))
	j := job(t, "short.txt", "short.txt")
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	_, err := NewJob(t.Context(), "abc123", "test", "doubles", "v", nil, []string{"pipe"})
	require.ErrorContains(t, err, "is a pipe; expected a regular file")
	s, q := serving(t, Listen{Dir: filepath.Join(home, "queue")})
	working(t, Address{URL: s.URL(), Token: s.Token}, func(context.Context, int) (json.RawMessage, error) {
		text, err := os.ReadFile("short.txt")
		if err != nil {
			return nil, err
		}
		return json.Marshal(sum(text))
	})
	to := collecting(1)
	require.NoError(t, q.Collect(t.Context(), j, to))
	assert.Equal(t, `"`+j.Files[0].SHA256+`"`, string(to.all[0]))
}
