package sweep

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAFileThatIsNoJournalStaysAsItIs: one without an end of a line was emptied, and removed in the end.
func TestAFileThatIsNoJournalStaysAsItIs(t *testing.T) {
	inDir(t)
	s, _, err := New(t.Context(), grid())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("out", 0o700))
	for _, text := range []string{"mine\n", "mine", "{", `{"schema":"mine"}`, strings.Repeat("x", 1<<20)} {
		require.NoError(t, os.WriteFile("out/"+journalName, []byte(text), 0o600))
		w, err := Open(t.Context(), "out", s, Shard{})
		if text == "{" { // which a command that was killed leaves too
			require.NoError(t, err)
			w.Close()
			require.NoError(t, os.MkdirAll("out", 0o700))
			continue
		}
		require.ErrorIs(t, err, errOther, text)
		stays, err := os.ReadFile("out/" + journalName)
		require.NoError(t, err)
		assert.Equal(t, text, string(stays))
	}
}

// TestAJournalIsNotWaitedFor: it may be a pipe, or lead to what has no end.
func TestAJournalIsNotWaitedFor(t *testing.T) {
	inDir(t)
	s, _, err := New(t.Context(), grid())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("out", 0o700))
	for _, make := range []func() error{
		func() error { return syscall.Mkfifo("out/"+journalName, 0o600) },
		func() error { return os.Symlink("/dev/zero", "out/"+journalName) },
	} {
		require.NoError(t, make())
		_, err = Open(t.Context(), "out", s, Shard{})
		require.ErrorIs(t, err, errOther)
		require.NoError(t, os.Remove("out/"+journalName))
	}
}

// TestALineOfAJournalIsBounded: what has no end of a line was read as long as there was memory.
func TestALineOfAJournalIsBounded(t *testing.T) {
	for text, want := range map[string]string{"12345678": "", "123456789": "has more than", "1234567": ""} {
		line, err := readLine(bufio.NewReaderSize(strings.NewReader(text+"\nrest\n"), 16), 9)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, text+"\n", string(line))
	}
	_, err := readLine(bufio.NewReaderSize(strings.NewReader("less than a line"), 16), 99)
	require.ErrorIs(t, err, io.EOF)
	long := io.LimitReader(endless{}, 1<<40)
	_, err = readLine(bufio.NewReader(long), 1<<20)
	require.ErrorContains(t, err, "a line has more than 1 MiB")
}

// endless reads zeros.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
