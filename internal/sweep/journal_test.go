package sweep

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
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

// FuzzJournal takes any bytes for what an interrupted sweep has left, and for a shard: they are gone on with or
// refused, and what is no journal stays as it is.
func FuzzJournal(f *testing.F) {
	is := opening{schemaJournal, "print", Shard{}}
	first, err := json.Marshal(is)
	require.NoError(f, err)
	row, err := json.Marshal(Row{Run: 1})
	require.NoError(f, err)
	for _, text := range []string{"", "{", string(first), string(first) + "\n", string(first) + "\n" + string(row) + "\n",
		string(first) + "\n" + string(row)[:5], string(first) + "\n{}\n", "mine\n"} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	path := filepath.Join(dir, journalName)
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		j, err := openJournal(dir, is, 4)
		if err == nil {
			for place := range 4 {
				if _, err := j.row(place); j.has(place) != (err == nil) {
					t.Fatalf("run %d: %v", place, err)
				}
			}
			require.NoError(t, j.add(3, Row{Run: 3}))
			j.close()
			j, err = openJournal(dir, is, 4)
			require.NoError(t, err)
			require.True(t, j.has(3))
			j.close()
		} else if errors.Is(err, errOther) {
			stays, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, text, stays)
		}
		for _, name := range []string{shardName, rowsName} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		if p, err := openPart(dir); err == nil {
			_ = p.file.Close()
		}
	})
}
