package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// TestAWorkerSaysThatItsQueueDoesNotAnswer: it goes on trying, and a mistake in the address or the token shows in
// nothing else.
func TestAWorkerSaysThatItsQueueDoesNotAnswer(t *testing.T) {
	s, _ := serving(t, Listen{Dir: place(t)})
	for _, c := range []struct{ url, token, want string }{
		{"nats://127.0.0.1:1", "", "queue nats://127.0.0.1:1 does not answer yet (nats: no servers available"},
		{s.URL(), "another", "does not answer yet (nats: authorization violation)"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		said := make(chan string, 9)
		w := &Worker{Address: Address{URL: c.url, Token: c.token},
			Say: func(f string, v ...any) { said <- fmt.Sprintf(f, v...); cancel() }}
		require.ErrorIs(t, w.Work(ctx), context.Canceled)
		cancel()
		assert.Contains(t, <-said, c.want)
	}
}
