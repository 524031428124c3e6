package workers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAFolderOfOthersIsNoQueue: it was taken for one that an interrupted command had left, and removed with its files.
func TestAFolderOfOthersIsNoQueue(t *testing.T) {
	token := strings.Repeat("A", 26)
	for name, make := range map[string]func(dir string) error{
		"a file of others": func(dir string) error { return os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600) },
		"beside a token": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "thesis"), []byte("mine"), 0o600)
		},
		"a token of others": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, tokenName), []byte("correct horse"), 0o600)
		},
		"what others have begun": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, tokenName+unfinished), []byte("correct horse"), 0o600)
		},
		"streams without a token": func(dir string) error { return os.Mkdir(filepath.Join(dir, streamsName), 0o700) },
		"a token that is a pipe":  func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, tokenName), 0o600) },
		"a file where streams are": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, streamsName), []byte("mine"), 0o600)
		},
		"a folder where the token is": func(dir string) error { return os.Mkdir(filepath.Join(dir, tokenName), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "queue")
			require.NoError(t, os.Mkdir(dir, 0o700))
			if name == "beside a token" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, tokenName), []byte(token), 0o600))
			}
			require.NoError(t, make(dir))
			_, err := Serve(Listen{Address: "127.0.0.1:0", Dir: dir})
			require.ErrorContains(t, err, "is not a queue that an interrupted command has left")
		})
	}
	home := t.TempDir()
	link := filepath.Join(home, "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	require.ErrorContains(t, claimFolder(link), "is not a queue")
}

// TestAQueueIsTakenOverAndRemoved by its form; what others have put there meanwhile stays.
func TestAQueueIsTakenOverAndRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "queue")
	require.NoError(t, claimFolder(dir))
	require.NoError(t, claimFolder(dir), "a command was killed before it wrote the token")
	begun := filepath.Join(dir, tokenName+unfinished)
	require.NoError(t, os.WriteFile(begun, []byte("AB2"), 0o600))
	require.NoError(t, claimFolder(dir), "or while it did")
	token, path, err := ownToken(dir)
	require.NoError(t, err)
	assert.NoFileExists(t, begun)
	again, _, err := ownToken(dir)
	require.NoError(t, err)
	assert.Equal(t, token, again)
	assert.Equal(t, filepath.Join(dir, tokenName), path)
	require.NoError(t, makeCertificate(filepath.Join(dir, certificateName), "localhost"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, streamsName, "jetstream"), 0o700))
	require.NoError(t, claimFolder(dir))

	mine := filepath.Join(dir, "mine")
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	RemoveFolder(dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, os.Remove(mine))
	RemoveFolder(dir)
	assert.NoDirExists(t, dir)
}

// TestATokenIsThereWholeOrNotAtAll: a worker that looks for the file while it is written has read an empty one.
func TestATokenIsThereWholeOrNotAtAll(t *testing.T) {
	for range 100 {
		dir := t.TempDir()
		read := make(chan string)
		go func() {
			for {
				text, err := os.ReadFile(filepath.Join(dir, tokenName))
				if err == nil {
					read <- string(text)
					return
				}
			}
		}()
		token, _, err := ownToken(dir)
		require.NoError(t, err)
		require.Equal(t, token, <-read)
	}
	full := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(full, tokenName+unfinished), 0o700))
	_, _, err := ownToken(full)
	require.Error(t, err, "it cannot be written")
	assert.NoFileExists(t, filepath.Join(full, tokenName))
}

// TestAQueueNoticesThatThereIsNoRoom: a server itself stores nothing more then, and says nothing.
func TestAQueueNoticesThatThereIsNoRoom(t *testing.T) {
	s, err := Serve(Listen{Address: "127.0.0.1:0", Dir: filepath.Join(t.TempDir(), "queue")})
	require.NoError(t, err)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.NoError(t, s.Full(ctx))
	entries, err := os.ReadDir(filepath.Join(s.dir, streamsName))
	require.NoError(t, err)
	require.Len(t, entries, 1, "the streams, and nothing else")
	s.dir = filepath.Join(t.TempDir(), "lost")
	require.ErrorContains(t, s.Full(t.Context()), "the queue cannot be written any more: open ")
}
